"""The table of studies: each has its results, prints and draws them, and one of the user's own joins in."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from comity.cli import run
from comity.studies import training
from comity.studies.base import RESULTS, Study, Table
from comity.studies.comparison import Comparison
from comity.studies.ipd import IPD
from comity.studies.registry import STUDIES, study_class
from comity.studies.teams import Teams

OWN = '''
"""A study of the user's own."""
from dataclasses import dataclass

from comity.studies.base import Study, Table
from comity.report import html


@dataclass(frozen=True)
class Square(Study):
    """A number and its square."""

    number: int = 3  # which number

    name = "square"
    title = "Squares"
    note = "Known since Babylon."
    needs = "nothing"

    def run(self, out, from_committed=False, progress=None):
        if from_committed:
            return self.committed_results()
        return {**self.about(), "square": self.number**2}

    def summary(self, results):
        return [Table("Squares", ("number", "square"), [[str(results["number"]), str(results["square"])]])]

    def page(self, results, out):
        return self.write_page(results, out, "One square.", [html.paragraph(str(results["square"]))])


class NotAStudy:
    """Something else."""
'''


def test_every_study_says_what_it_is() -> None:
    for name in STUDIES.rows():
        cls = study_class(name)
        assert cls.name == name
        assert all((cls.title, cls.note, cls.needs, cls.__doc__))
        results = cls().committed_results()
        assert results["study"] == name
        assert (cls.committed, results["versions"]["comity"] != "") == (RESULTS / f"{name}.json", True)
    assert {path.stem for path in RESULTS.glob("*")} == set(STUDIES.rows())


def compared() -> list[str]:
    """Studies that give their committed results."""
    return [name for name in STUDIES.rows() if issubclass(study_class(name), Comparison)] + ["scaling"]


@pytest.mark.parametrize("name", compared())
def test_committed_results_are_printed_and_drawn(name: str, tmp_path: Path, capsys: Any) -> None:
    assert run(["reproduce", name, "--from-committed", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    committed = json.loads((RESULTS / f"{name}.json").read_text())
    assert json.loads((tmp_path / "results.json").read_text()) == committed
    page = (tmp_path / "report.html").read_text()
    rows = committed["rows"]
    labels = rows if isinstance(rows, dict) else [f"{row['size']} x {row['size']}" for row in rows]
    for label in labels:
        assert label in printed
        assert label in page
    assert printed.rstrip().endswith("report.html")


def test_a_list_and_a_mistake(capsys: Any) -> None:
    assert run(["reproduce"]) == 0
    printed = capsys.readouterr().out
    assert all(f"  {name} " in printed and row.summary in printed for name, row in STUDIES.rows().items())
    assert run(["reproduce", "coin-leage"]) == 2
    assert "no study named 'coin-leage'. Did you mean coin-league" in capsys.readouterr().err
    assert run(["reproduce", "ipd", "--from-committed", "--episodes", "0"]) == 2
    assert "episodes = 0 is not possible: it must be at least 1" in capsys.readouterr().err


def test_the_command_repeats_the_settings() -> None:
    assert IPD().command() == "comity reproduce ipd"
    assert IPD(seeds=2).command(from_committed=True) == "comity reproduce ipd --seeds 2 --from-committed"


def test_a_small_reproduction_of_the_zoo(tmp_path: Path, capsys: Any) -> None:
    flags = ["--from-committed", "--seeds", "2", "--episodes", "4", "--out", str(tmp_path)]
    assert run(["reproduce", "ipd", *flags]) == 0
    printed = capsys.readouterr().out
    assert "against always-defect" in printed
    assert "-2.062" in printed  # exploited once, whatever the seed
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["players"] == ["zoo:prisoners-dilemma/adalign/0", "zoo:prisoners-dilemma/adalign/1"]
    assert [claim["holds"] for claim in results["claims"][:2]] == [True, True]
    assert results["leagues"]["16"]["players"][0] == "adalign"
    page = (tmp_path / "report.html").read_text()
    for heading in ("Paper and Comity", "Cooperation in each state", "Learning curves", "Replays"):
        assert f"<h2>{heading}</h2>" in page
    # The page is written again from nothing but the results.
    (tmp_path / "report.html").unlink()
    assert IPD(seeds=2, episodes=4).page(results, tmp_path).read_text() == page


@pytest.mark.long
def test_one_frame_trains_measures_and_compares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("comity.studies.teams.RUNS", {("simple-spread", "ippo"): (2, -1000.0)})
    monkeypatch.setattr("comity.studies.teams.BATCH", 2)
    seen: list[int] = []

    class Watched:
        def __enter__(self) -> "Watched":
            return self

        def __exit__(self, *_: object) -> None: ...

        def update(self, number: int, iteration: int, metrics: dict[str, float]) -> None:
            seen.append(iteration)

    study = Teams(seeds=1, episodes=3)
    results = study.run(tmp_path, progress=lambda names, total: Watched())
    row = results["rows"]["simple-spread, ippo"]
    assert seen[-1] == 2
    assert row["holds"] is True
    assert row["seeds"][0] == pytest.approx(sum(row["means"][seat] for seat in row["seat_names"]), abs=1e-3)
    assert row["players"] == ["runs/simple-spread-ippo/seed-0"]
    again = training.player_of(row["players"][0], tmp_path)
    assert again.agent.learns
    table = study.summary(json.loads(json.dumps(results)))[0]
    assert isinstance(table, Table)
    assert table.rows[0][0] == "simple-spread, ippo"
    assert "Learning curves" in study.page(results, tmp_path).read_text()


def say(arguments: list[str], folder: Path) -> tuple[int, str, str]:
    """A command in a process of its own, where the folder is that of the user."""
    done = subprocess.run(
        [sys.executable, "-m", "comity", "reproduce", *arguments], cwd=folder, capture_output=True, text=True
    )
    return done.returncode, done.stdout, done.stderr


def test_a_study_of_ones_own_by_its_import_path(tmp_path: Path) -> None:
    (tmp_path / "own_study.py").write_text(OWN)
    code, out, err = say(["own_study:Square", "--number", "7", "--json"], tmp_path)
    assert code == 0, err
    results = json.loads(out)
    assert (results["square"], results["command"]) == (49, "comity reproduce square --number 7")
    assert "49" in (tmp_path / "reproduce" / "square" / "report.html").read_text()
    code, _, err = say(["own_study:Square", "--from-committed"], tmp_path)
    assert (code, "has no committed results" in err) == (2, True)
    code, _, err = say(["own_study:NotAStudy"], tmp_path)
    assert (code, "is not a study: a subclass of" in err) == (2, True)


def test_a_study_of_an_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_study.py").write_text(OWN)
    about = tmp_path / "squares-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: squares\nVersion: 0.1\n")
    (about / "entry_points.txt").write_text("[comity.studies]\nsquare = own_study:Square\n")
    source = str(Path(training.__file__).parents[2])
    monkeypatch.setenv("PYTHONPATH", f"{source}:{tmp_path}")
    code, out, _ = say([], tmp_path)
    assert code == 0
    assert "from squares 0.1" in out
    code, out, err = say(["square", "--json"], tmp_path)
    assert code == 0, err
    assert json.loads(out)["square"] == 9


def test_studies_are_abstract_until_whole() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Study()  # type: ignore[abstract]
