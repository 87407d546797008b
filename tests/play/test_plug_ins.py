"""Games, agents and matchmakers of the user's own: named, they work as the package's do; in files not."""

import json
import sys
from pathlib import Path

import pytest

import comity
from comity.agents.registry import AGENTS
from comity.cli import run
from comity.core.errors import ComityError
from comity.core.trust import TRUST
from comity.games.registry import GAMES
from comity.play.specs import (
    MATCHMAKERS,
    agent_from_data,
    game_data,
    game_from_data,
    make_agent,
    make_game,
    make_matchmaker,
    matchmaker_data,
    matchmaker_from_data,
)

MODULE = '''
"""A package of somebody else."""
from comity.agents.scripted.memory import AlwaysDefect
from comity.games.matrix import PrisonersDilemma
from comity.play.matchmaking import PastSelves


class Game(PrisonersDilemma):
    """A game of one's own."""

    bonus: int = 3  # a setting of its own


class Mean(AlwaysDefect):
    """A player of one's own."""


class Opponents(PastSelves):
    """A matchmaker of one's own."""

    patience: int = 5  # a setting of its own
'''
NAME = "my_plug_in"
REGISTRIES = (AGENTS, GAMES, MATCHMAKERS)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the module, on the path, and in which nothing is trusted yet."""
    (tmp_path / f"{NAME}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    monkeypatch.setenv(TRUST, "")
    for registry in REGISTRIES:  # what a test finds there is forgotten after it
        monkeypatch.setattr(registry, "_classes", dict(registry._classes))
    return tmp_path


def test_a_file_may_not_name_code(site: Path) -> None:
    for read, name in (
        (game_from_data, "Game"),
        (lambda data: agent_from_data(data, "matrix"), "Mean"),
        (matchmaker_from_data, "Opponents"),
    ):
        with pytest.raises(ComityError, match=f"{NAME}:{name} runs code of its own. If you trust it"):
            read({"name": f"{NAME}:{name}"})
    assert NAME not in sys.modules


def test_what_the_user_names_works_and_survives_a_file(site: Path) -> None:
    game = make_game(f"{NAME}:Game", bonus=7)
    assert game_data(game)["name"] == f"{NAME}:Game"
    assert game_from_data(json.loads(json.dumps(game_data(game)))) == game
    agent = make_agent(f"{NAME}:Mean", game)
    assert type(agent).__name__ == "Mean"
    matchmaker = make_matchmaker(f"{NAME}:Opponents", patience=9)
    assert matchmaker_from_data(matchmaker_data(matchmaker)) == matchmaker
    with pytest.raises(
        ComityError, match=r"The agent my_plug_in:Game is a Game: it must inherit from .*Agent"
    ):
        make_agent(f"{NAME}:Game")
    with pytest.raises(ComityError, match=r"must inherit from .*Matchmaker"):
        make_matchmaker(f"{NAME}:Mean")


def test_an_object_of_ones_own_class_is_named_by_its_path(site: Path) -> None:
    module = __import__(NAME)
    data = game_data(module.Game(bonus=4))
    assert data["name"] == f"{NAME}:Game"
    assert game_from_data(data) == module.Game(bonus=4)


def test_an_installed_package_adds_names(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = site / "mine-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    entries = {"games": "my-game = {}:Game", "agents": "mean = {}:Mean", "matchmakers": "mine = {}:Opponents"}
    lines = [f"[comity.{group}]\n{entry.format(NAME)}\n" for group, entry in entries.items()]
    (about / "entry_points.txt").write_text("".join(lines))
    for registry in REGISTRIES:
        monkeypatch.setattr(registry, "_installed", None)
    game = make_game("my-game", bonus=2)
    assert game_data(game)["name"] == "my-game"
    assert game_from_data(game_data(game)) == game
    assert type(make_agent("mean")).__name__ == "Mean"
    assert matchmaker_data(make_matchmaker("mine"))["name"] == "mine"
    assert comity.load_player("mean", game).agent == make_agent("mean")


def test_from_the_command_line(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Trained with a game, an agent and a matchmaker of one's own; then all that is gone."""
    command = (
        f"train {NAME}:Game a2c --agent.network tabular --iterations 2 --batch 4 --game.horizon 2 "
        f"--game.bonus 5 --opponents {NAME}:Opponents --opponents.groups 2 --opponents.patience 8 "
        f"--out run --json"
    )
    assert run(command.split()) == 0
    config = json.loads((site / "run" / "config.json").read_text())
    assert (config["game"]["name"], config["game"]["bonus"]) == (f"{NAME}:Game", 5)
    assert (config["matchmaker"]["name"], config["matchmaker"]["patience"]) == (f"{NAME}:Opponents", 8)
    assert run(f"league {NAME}:Game run {NAME}:Mean --episodes 2 --json league.json".split()) == 0
    league = json.loads((site / "league.json").read_text())
    assert league["players"] == ["run", f"{NAME}:Mean"]
    capsys.readouterr()


def test_a_run_is_read_where_its_game_is_not(
    site: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = f"train {NAME}:Game a2c --agent.network tabular --iterations 2 --batch 4 --game.horizon 2"
    assert run([*command.split(), "--out", "run", "--json"]) == 0
    (site / f"{NAME}.py").unlink()
    monkeypatch.delitem(sys.modules, NAME)
    monkeypatch.setenv(TRUST, "")
    monkeypatch.setattr(GAMES, "_classes", {})
    assert comity.load_player("run").agent == make_agent("a2c", network="tabular")
    assert run(["report", "run"]) == 0
    page = (site / "run" / "report.html").read_text()
    assert f"a2c in {NAME}:Game" in page
    assert "Not measured: The game my_plug_in:Game runs code of its own" in page
    capsys.readouterr()
