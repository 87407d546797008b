"""The browser application as people use it, in headless Chromium: `make test-web`.

Each test leaves a screenshot in the folder that the environment variable SCREENSHOTS names, if it does.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.web.folder import NASTY, make_folder

CHROMIUM = (
    os.environ.get("CHROMIUM")
    or shutil.which("chromium")
    or shutil.which("chromium-browser")
    or shutil.which("google-chrome")
)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 60_000  # milliseconds, for what compiles

pytestmark = [
    pytest.mark.web,
    pytest.mark.skipif(
        CHROMIUM is None, reason="there is no chromium: apt-get install chromium, or CHROMIUM=PATH"
    ),
]
sync_api = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: make test-web does it"
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("browser") / "runs")


@pytest.fixture(scope="module")
def address(root: Path) -> Iterator[str]:
    """The address, with the token, of a server of its own."""
    command = [sys.executable, "-m", "comity", "ui", str(root), "--port", "0", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    said = "".join(process.stdout.readline() for _ in range(3))
    found = re.search(r"(http://\S+\?token=\S+)", said)
    assert found, said
    yield found[1]
    process.send_signal(signal.SIGINT)
    assert process.wait(30) in (0, 130)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def page(browser: Any, address: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A page that has the token; a test fails if a script of it does."""
    context = browser.new_context(viewport={"width": 1200, "height": 850}, accept_downloads=True)
    shown = context.new_page()
    shown.set_default_timeout(PATIENCE)
    problems: list[str] = []
    shown.on("pageerror", lambda error: problems.append(str(error)))

    def dismiss(dialog: Any) -> None:
        problems.append("a dialog: " + dialog.message)
        dialog.dismiss()

    shown.on("dialog", dismiss)
    shown.goto(address)
    yield shown
    if folder := os.environ.get("SCREENSHOTS"):
        name = request.node.name.removeprefix("test_")
        shown.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)
    overflow = shown.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    context.close()
    assert problems == []
    assert overflow <= 0


def visit(page: Any, where: str) -> None:
    page.goto(page.url.split("#")[0] + where)
    page.wait_for_selector("main > div[data-ready]")


def wait(page: Any, script: str) -> None:
    """Waits until a script says true. Playwright's own way would be an `eval`, which the page forbids."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not page.evaluate(script):
        assert time.monotonic() < deadline, script
        page.wait_for_timeout(100)


def test_runs_are_chosen_and_compared(page: Any) -> None:
    visit(page, "#/runs")
    page.fill("#filter", "ppo/")
    wait(page, "document.querySelectorAll('tbody tr').length === 3")
    page.check("#all")
    page.click("#compare")
    page.wait_for_selector(".chart canvas")
    assert "mean of 3 seeds" in page.inner_text(".legend")
    label = page.get_attribute(".chart [role=img]", "aria-label")
    assert "reward by iterations" in label
    assert "2" in label.split("Last values:")[1]
    page.select_option("#axis", "cpu")
    page.wait_for_selector("[data-metric=reward][data-x='25']")
    page.check("#log")
    page.uncheck("#bands")
    wait(page, "document.querySelectorAll('.legend li').length === 3")


def test_a_name_from_a_file_stays_text(page: Any) -> None:
    visit(page, "#/runs")
    assert NASTY.replace("/", "_") in page.inner_text("main")
    visit(page, "#/league?path=league.json")
    assert NASTY in page.inner_text("main")
    assert page.locator("main script").count() == 0


def test_the_curve_of_a_training_moves(page: Any, root: Path) -> None:
    sizes = ["--iterations", "100000", "--chunk", "20", "--batch", "8", "--checkpoint-seconds", "1000"]
    command = [
        sys.executable,
        "-m",
        "comity",
        "train",
        "prisoners-dilemma",
        "a2c",
        "--out",
        str(root / "live"),
    ]
    training = subprocess.Popen([*command, *sizes], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 90
        metrics = root / "live" / "metrics.jsonl"
        while not (metrics.is_file() and metrics.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.2)
        visit(page, "#/runs")
        page.wait_for_selector(".badge.running")
        visit(page, "#/curves?path=live")
        chart = "document.querySelector('[data-metric=reward]')"
        wait(page, f"{chart} && Number({chart}.dataset.x) > 0")
        before = page.evaluate(f"Number({chart}.dataset.x)")
        wait(page, f"Number({chart}.dataset.x) > {before}")  # nobody asked for it
    finally:
        training.send_signal(signal.SIGINT)
        training.wait(60)


def test_a_cell_of_a_league_opens_the_pairing(page: Any) -> None:
    visit(page, "#/league?path=league.json")
    page.click("[data-cell='0-1']")
    assert "tit-for-tat meets" in page.inner_text("#pairing")
    assert "-2 [-2.100, -1.900]" in page.inner_text("#pairing")
    page.click("[data-cell='0-0']")
    page.click("text=Watch them play")
    page.wait_for_selector("#scrub")
    assert "tit-for-tat" in page.inner_text("#replay")


def test_a_replay_is_played_stepped_scrubbed_and_saved(page: Any, tmp_path: Path) -> None:
    visit(page, "#/replay?game=coin&players=zoo:coin/adalign/0")
    page.click("#watch")
    page.wait_for_selector("#scrub")
    page.click("#next")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#count") == "2 / 50"
    page.fill("#scrub", "30")
    assert page.inner_text("#count") == "30 / 50"
    wait(page, "document.getElementById('frame').naturalWidth > 100")
    page.select_option("#speed", "8")
    page.click("#toggle")
    wait(page, "parseInt(document.getElementById('count').textContent) > 33")
    page.click("#toggle")
    for kind, start in (("gif", b"GIF89a"), ("webp", b"RIFF"), ("html", b"<!doctype html>")):
        with page.expect_download() as download:
            page.click(f"#export-{kind}")
        download.value.save_as(tmp_path / kind)
        assert (tmp_path / kind).read_bytes().startswith(start)


def begin(page: Any, game: str, opponent: str, steps: int) -> None:
    visit(page, f"#/play?game={game}&players={opponent}")
    page.fill("#horizon", str(steps))
    page.click("#begin")
    page.wait_for_selector("#board[data-step='0']")


def test_a_whole_prisoners_dilemma_by_clicking(page: Any, root: Path) -> None:
    begin(page, "prisoners-dilemma", "tit-for-tat", 6)
    for step, action in enumerate([0, 0, 1, 1, 0, 0]):
        page.click(f"[data-action='{action}']")
        page.wait_for_selector(f"#board[data-step='{step + 1}']")
    assert "The game is over" in page.inner_text("#ending")
    saved = json.loads((root / page.inner_text("#ending a")).read_text())
    assert [step["names"] for step in saved["steps"]] == [
        list(own) for own in ("CC", "CC", "DC", "DD", "CD", "CC")
    ]
    assert "after you did" in page.inner_text("#board")


def test_a_coin_game_by_keyboard(page: Any) -> None:
    begin(page, "coin", "tit-for-tat", 8)
    for step, key in enumerate(["ArrowUp", "ArrowLeft", "s", "d"] * 2):
        page.keyboard.press(key)
        page.wait_for_selector(f"#board[data-step='{step + 1}']")
    assert page.get_attribute("#board", "data-over") == "true"


def test_commons_harvest_by_keyboard(page: Any) -> None:
    begin(page, "commons-harvest-open", "greedy", 4)
    for step, key in enumerate(["w", "ArrowLeft", "d", " "]):
        page.keyboard.press(key)
        page.wait_for_selector(f"#board[data-step='{step + 1}']")
    assert page.locator(".score b").count() >= 6


def test_negotiation_with_sliders(page: Any) -> None:
    begin(page, "negotiation", "zoo:negotiation/adalign/0", 3)
    for step in range(3):
        page.fill("#item-0", "5")
        page.fill("#item-1", "1.5")
        page.click("#propose")
        page.wait_for_selector(f"#board[data-step='{step + 1}']")
    assert "You earned" in page.inner_text("#ending")


def test_a_hidden_player_is_guessed(page: Any) -> None:
    visit(page, "#/play?game=prisoners-dilemma")
    page.check("#hidden")
    page.fill("#horizon", "2")
    page.click("#begin")
    page.wait_for_selector("#board[data-step='0']")
    for step in (1, 2):
        page.click("[data-action='0']")
        page.wait_for_selector(f"#board[data-step='{step}']")
    names = ["tit-for-tat", "always-defect", "adalign"]
    assert not any(name in page.inner_text(".score") for name in names)  # not before the guess
    page.click(".guess >> nth=0")
    page.wait_for_selector("#told")
    assert any(name in page.inner_text(".score") for name in names)


def test_two_people_meet_or_are_given_players(browser: Any, page: Any, address: str) -> None:
    context = browser.new_context()
    other = context.new_page()
    other.set_default_timeout(PATIENCE)
    other.goto(address)
    for own in (page, other):
        visit(own, "#/play?game=prisoners-dilemma")
        own.check("#room")
        own.fill("#horizon", "2")
    for own in (page, other):
        own.click("#begin")
    for own in (page, other):
        own.wait_for_selector("#board[data-step='0']")
    for step in (1, 2):
        for own in (page, other):
            own.click("[data-action='0']")
        for own in (page, other):
            own.wait_for_selector(f"#board[data-step='{step}']")
    assert "a person" in page.inner_text("#ending")  # among those whom one may guess
    context.close()


def test_a_lineage_is_looked_through(page: Any) -> None:
    visit(page, "#/population?path=population.json")
    assert page.locator("circle.member").count() == 9
    page.focus("[data-member='generation-1/member-2']")
    page.keyboard.press("Enter")
    assert "generation-0/member-0" in page.inner_text("#member")


def test_a_replay_says_why(page: Any, root: Path) -> None:
    """A trained run knows its critic: probabilities, advantages and the term by which it shapes others."""
    command = [
        sys.executable,
        "-m",
        "comity",
        "train",
        "prisoners-dilemma",
        "adalign",
        "--out",
        str(root / "why"),
    ]
    sizes = ["--iterations", "4", "--chunk", "2", "--batch", "8", "--no-tensorboard"]
    subprocess.run([*command, *sizes], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    visit(page, "#/replay?game=why&players=why&go=1")
    page.wait_for_selector("#why[data-known]")
    page.click("#next")
    words = page.inner_text("#why")
    for name in ("C", "D", "own advantage", "term for the others", "together", "likely"):
        assert name in words
    assert page.locator("#why svg.strip").count() == 2


def test_a_league_is_cancelled(page: Any) -> None:
    visit(page, "#/build?kind=league")
    page.wait_for_selector("#command:not(:empty)")
    page.fill("#episodes", "100000")
    page.fill("#out", "long-league")
    page.press("#out", "Tab")
    wait(page, "document.getElementById('command').textContent.includes('--json long-league.json')")
    page.click("#start")
    page.click("[data-job=running] .cancel")
    page.wait_for_selector("[data-job=cancelled][data-out='long-league.json']")


def test_a_league_is_started_and_looked_at(page: Any) -> None:
    visit(page, "#/build?kind=league")
    page.wait_for_selector("#command:not(:empty)")
    page.fill("#episodes", "5")
    page.fill("#out", "built")
    page.press("#out", "Tab")
    wait(page, "document.getElementById('command').textContent.includes('--json built.json --episodes 5')")
    page.click("#start")
    page.wait_for_selector("[data-job=finished]")
    page.click("[data-job=finished] >> text=Look")
    page.wait_for_selector("table.heat")


def test_a_training_is_started_and_cancelled(page: Any, root: Path) -> None:
    visit(page, "#/build")
    page.select_option("#agent", "a2c")
    wait(page, "document.getElementById('command').textContent.includes('a2c')")
    page.fill("#out", "long")
    page.fill("#iterations", "1000000")
    page.press("#iterations", "Tab")
    page.click("#start")
    page.wait_for_selector("[data-job=running] .cancel")
    deadline = time.monotonic() + 60
    metrics = root / "long" / "metrics.jsonl"
    while not (metrics.exists() and metrics.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.2)
    page.click("[data-job=running] .cancel")
    page.wait_for_selector("[data-job=cancelled][data-out=long]")
    assert json.loads((root / "long" / "run.json").read_text())["status"] == "stopped"


def test_a_pasted_game_is_solved_as_it_is_typed(page: Any) -> None:
    visit(page, "#/theory")
    page.fill("#payoffs", "3 2, 0 0\n0 0, 2 3")
    page.wait_for_selector("text=Nash equilibria (3)")
    assert page.locator("svg.plot").count() == 3
    page.fill("#payoffs", "3 2, 0 0\n0 0, two")
    page.wait_for_selector("#result .problem")
    page.check("#coalition")
    page.wait_for_selector("text=Shapley value")


def test_without_the_token_one_looks_and_starts_nothing(browser: Any, address: str) -> None:
    context = browser.new_context()
    shown = context.new_page()
    shown.goto(address.split("?")[0] + "#/play")
    shown.wait_for_selector("#begin")
    assert shown.is_disabled("#begin")
    assert "the address that the terminal printed" in shown.inner_text("main")
    context.close()


@pytest.mark.parametrize(
    "where",
    [
        "runs",
        "play",
        "replay",
        "theory",
        "build",
        "league?path=league.json",
        "population?path=population.json",
    ],
)
def test_a_phone_shows_every_page(browser: Any, address: str, where: str) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 740}, color_scheme="dark")
    shown = context.new_page()
    shown.goto(address)
    visit(shown, f"#/{where}")
    overflow = shown.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    unnamed = shown.evaluate(
        "[...document.querySelectorAll('button, input, select, textarea, a')].filter((x) => "
        "!(x.labels?.length || x.getAttribute('aria-label') || x.textContent.trim())).length"
    )
    context.close()
    assert (overflow, unnamed) == (0, 0)
