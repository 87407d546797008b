"""Reports: one page that holds everything and loads nothing."""

import json
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from comity.cli import run as comity
from comity.core import palette
from comity.evaluate.comparison import scores
from comity.evaluate.curves import Curve, learning_curve
from comity.report import html, plots
from comity.report.sorting import SORT
from comity.report.svg import as_file
from comity.report.sweep import sweep_verdict
from comity.report.verdicts import words

TRAIN = shlex.split(
    "prisoners-dilemma a2c --agent.network tabular --iterations 4 --batch 4 --chunk 2 --no-tensorboard "
    "--game.horizon 4"
)


@pytest.fixture(scope="module")
def seeds_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "several"
    for seed in (0, 1):
        assert comity(["train", *TRAIN, "--seed", str(seed), "--out", str(folder / f"seed-{seed}")]) == 0
    return folder


@pytest.fixture(scope="module")
def run_folder(seeds_folder: Path) -> Path:
    return seeds_folder / "seed-0"


@pytest.fixture(scope="module")
def league_file(run_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "league.json"
    players = [str(run_folder), "tit-for-tat", "<b>bold</b>=always-defect"]
    assert comity(["league", "prisoners-dilemma", *players, "--episodes", "4", "--json", str(path)]) == 0
    return path


class Loads(HTMLParser):
    """Collects what a page would load or run, and checks that its tags close."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "br", "img", "input"):
            self.open.append(tag)
        if tag in ("script", "link", "iframe", "object", "embed"):
            self.found.append(tag)
        for name, value in attrs:
            inside = (value or "").startswith(("#", "data:"))
            if name in ("src", "href", "xlink:href", "srcset") and not inside:
                self.found.append(f"{tag} {name}={value}")
            if name.startswith("on"):
                self.found.append(f"{tag} {name}")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def check_page(text: str) -> str:
    loads = Loads()
    assert text.count("<script") == 1
    loads.feed(text.replace(f"<script>{SORT}</script>", ""))  # the one script that pages have
    loads.close()
    assert loads.found == []
    assert loads.open == []
    assert not re.search(r"url\(\s*['\"]?(?!#)|@import", text)
    assert text.startswith("<!doctype html>")
    return text


def report(source: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    capsys.readouterr()
    assert comity(["report", str(source), *more]) == 0
    return check_page(Path(capsys.readouterr().out.strip()).read_text())


def test_a_run(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = report(run_folder, capsys)
    assert (run_folder / "report.html").is_file()
    assert "<title>a2c in prisoners-dilemma</title>" in page
    for heading in ("Learning curves", "Behaviour in each state", "Settings", "How to repeat it"):
        assert f"<h2>{heading}</h2>" in page
    metrics = set(json.loads((run_folder / "metrics.jsonl").read_text().splitlines()[0]))
    for metric in metrics - {"iteration", "steps"}:
        assert f'aria-label="{words(metric)} against iteration of a2c"' in page
        assert f'aria-label="{words(metric)} against environment steps of a2c"' in page
    for state in ("start", "CC", "CD", "DC", "DD"):
        assert re.search(rf'<th scope="col"[^>]*>{state}</th>', page)
    assert "P(C)" in page
    assert "&quot;learning_rate&quot;: 0.001" in page
    assert "comity train prisoners-dilemma a2c" in page
    assert "jaxlib" in page
    assert "One seed." in page
    assert report(run_folder, capsys) == page  # the same run gives the same page


def test_several_seeds(seeds_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = report(seeds_folder, capsys, "--out", str(tmp_path / "deep" / "page.html"))
    assert "Mean over 2 seeds with 95% bootstrap bands." in page
    for seed in (0, 1):
        assert f"final reward per step, seed {seed}" in page
        assert f"<td>seed-{seed} player</td>" in page


def test_a_league(league_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = report(league_file, capsys)
    assert league_file.with_suffix(".html").is_file()
    assert "<title>League: prisoners-dilemma</title>" in page
    assert "<svg" in page
    assert "what the row player earns per step" in page
    data = json.loads(league_file.read_text())
    for row in data["mean"]:
        for value in row:
            assert f"{value:.2f}" in page
    assert "<b>bold</b>" not in page
    assert "&lt;b&gt;bold&lt;/b&gt;" in page
    assert "--episodes 4 --horizon 16 --seed 0" in page
    assert "<th>package</th>" not in page  # a league file does not say which versions played it


def test_a_run_that_has_only_begun(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_bytes((run_folder / "config.json").read_bytes())
    page = report(tmp_path, capsys)
    assert "Behaviour in each state" not in page
    assert "comity.train(...)" in page


def test_bands_hold_the_mean() -> None:
    runs = [[{"iteration": i, "reward": float(i * k)} for i in (1, 2, 3)] for k in range(4)]
    found = learning_curve(runs, "reward")
    assert found is not None
    np.testing.assert_allclose(found.mean, [1.5, 3.0, 4.5])
    assert (found.low < found.mean).all()
    assert (found.mean < found.high).all()
    assert learning_curve(runs, "nothing") is None
    one_shorter = learning_curve([*runs, [{"iteration": 2, "reward": 0.0}]], "reward")
    assert one_shorter is not None
    assert one_shorter.x.tolist() == [2]


def test_a_name_keeps_its_colour() -> None:
    x = np.arange(3.0)
    picture = plots.learning_curves({"first": None, "second": Curve(x, x, x, x)}, "reward")
    assert palette.SERIES[1] in picture
    assert palette.SERIES[0] not in picture


def test_numbers_can_be_read_on_dark_cells() -> None:
    picture = plots.heat_map(["a", "b"], np.asarray([[0.0, -1.0], [-1.0, -100.0]]))
    assert "#ffffff" in picture
    assert "#ffffff" not in plots.heat_map(["a", "b"], np.ones((2, 2)))


def test_text_is_escaped() -> None:
    parts = [html.code("<script>"), html.cards({"<script>": "1"}), html.table(["<script>"], [["<script>"]])]
    assert "<script" not in html.page("<script>", "<script>", parts).replace(f"<script>{SORT}</script>", "")


def test_players_of_compared_runs_meet(
    seeds_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "page.html"
    capsys.readouterr()
    assert (
        comity(
            [
                "compare",
                f"mine={seeds_folder}",
                "--episodes",
                "2",
                "--no-replays",
                "--json",
                "--out",
                str(out),
            ]
        )
        == 0
    )
    league = json.loads(capsys.readouterr().out)["league"]
    assert league["players"] == ["mine", "always-cooperate", "always-defect"]
    page = out.read_text()
    assert "Head to head mine earns" in page
    for heading in ("League", "Behaviour in each state"):
        assert f"<h2>{heading}</h2>" in page


def test_equal_values_of_a_sweep_are_not_told_apart() -> None:
    points = [{"agent.discount": value} for value in (0.5, 0.9, 0.99)]
    both = scores({"a": [1.0, 2.0], "b": [1.0, 2.0]})
    assert sweep_verdict(points[:2], both, "reward", False) == (
        "discount=0.5; discount=0.9 end with the same final reward per step, 1.500 [1.000, 2.000] over 2 "
        "seeds. Nothing sets one of them apart."
    )
    three = scores({"a": [1.0, 2.0], "b": [1.0, 2.0], "c": [0.25, 0.25]})
    assert sweep_verdict(points, three, "reward", False).endswith("over 2 seeds. The next is 0.250.")
    assert sweep_verdict(points[::2], [three[0], three[2]], "reward", False).startswith(
        "discount=0.5 is best"
    )


def test_a_picture_as_a_file_is_light_or_dark_as_its_reader_has_it() -> None:
    svg = plots.heat_map(("a", "b"), np.eye(2))
    text = as_file(svg).decode()
    root = ElementTree.fromstring(text)
    styles = [own.text or "" for own in root.iter() if own.tag.endswith("style")]
    style = next(text for text in styles if "prefers-color-scheme" in text)
    assert f"background:{palette.PAPER}" in style
    assert f"background:{palette.DARK_PAPER};" in style
    used = set(re.findall(r"var\(--(\w+),", svg))
    assert used
    assert all(f"--{name}:{palette.THEME[name][1]};" in style for name in used)
