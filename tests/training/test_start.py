"""How runs begin: from players that were trained before, with settings changed, and within the memory."""

import json
import shlex
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import comity
from comity.api import _experiment
from comity.cli import run as command_line
from comity.core.agent import Player
from comity.core.errors import ComityError
from comity.play.specs import make_agent, make_game
from comity.training import loop, memory_estimate
from comity.training.folder import RunFolder
from comity.training.memory_estimate import estimate_memory
from comity.training.runner import create, run
from comity.training.warm_start import start_policies
from tests.training.test_runner import DILEMMA, QUICK, TABULAR, experiment

SMALL = "--agent.network mlp --agent.network.width 8 --agent.critic.network mlp --batch 4 --iterations 4"


def same(one: Any, other: Any) -> bool:
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trained") / "my run"
    return comity.train(DILEMMA, TABULAR, iterations=4, batch=4, chunk=2, seed=7, out=out).folder


def test_a_run_begins_as_the_player_it_is_given(trained: Path, tmp_path: Path) -> None:
    player = comity.load_player(trained, DILEMMA)
    whole = experiment(make_agent("ppo", network="tabular"), seed=1)  # another algorithm, the same network
    folder = create(whole, tmp_path / "run", start_from=trained)
    assert folder.metadata()["from"] == str(trained)
    state = loop.start(whole, None, folder.start_policies(whole))
    assert same(loop.players(whole, state)[0].params, player.params)
    assert not same(loop.players(whole, loop.start(whole))[0].params, player.params)
    # It goes on from what it kept, also if nothing was saved yet and the player is gone.
    again = create(whole, tmp_path / "again" / "run", start_from=Player(player.agent, player.params))
    for own in (folder, again):
        run(own, QUICK)
    last = "checkpoints/000000006.safetensors"
    assert (folder.path / last).read_bytes() == (again.path / last).read_bytes()


def test_past_selves_and_slow_copies_begin_as_the_player_too(trained: Path) -> None:
    past = comity.make_matchmaker("past", groups=2)
    slow = make_agent("a2c", network="tabular", **{"critic.target_tau": 0.1})
    whole = comity.make_experiment(DILEMMA, slow, matchmaker=past, iterations=2, batch=4)
    policies = start_policies(whole, trained)
    state = jax.jit(lambda given: loop.start(whole, None, given))(policies)
    first = jax.tree.map(lambda x: x[0], state.pool.past[0])
    assert same(first, policies[0])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("tit-for-tat", "follows a rule and has nothing to train on from"),
        ("zoo:coin/adalign/1", "whose policy network is another one: choose its network settings"),
        ("nowhere/at-all", "neither a run folder, nor a player file"),
    ],
)
def test_a_start_that_does_not_fit_is_refused(source: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ComityError, match=message):
        comity.train(DILEMMA, TABULAR, iterations=2, batch=4, start_from=source, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_resuming_from_another_start_is_refused(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    line = [*shlex.split(f"train prisoners-dilemma ppo {SMALL} --out"), str(out)]
    assert command_line(line) == 0
    capsys.readouterr()
    assert command_line([*line, "--resume", "--from", str(trained)]) == 2
    assert "it began from nothing. Leave --from out" in capsys.readouterr().err


def changed_by(game: str, agent: str | None, changes: dict[str, Any]) -> Any:
    return _experiment(game, agent, changes)


def test_settings_are_changed_by_their_names() -> None:
    changed = changed_by("zoo:coin/adalign", None, {"seed": 4, "agent.term.weight": 3, "batch": 96})
    recipe = changed_by("zoo:coin/adalign", None, {})
    assert changed.agents[0].term.weight == 3.0
    assert changed.agents[0].learner == recipe.agents[0].learner
    assert (changed.seed, changed.batch, changed.iterations) == (4, 96, recipe.iterations)
    assert changed.batch % changed.matchmaker.groups == 0
    apart = changed_by("coin", "adalign", {"share": False, "opponents": "self-play"})
    assert apart.seating == ((0,), (1,))
    assert apart.agents[0] == recipe.agents[0]
    sized = changed_by(
        "coin", "ppo", {"game.width": 4, "agent.network": "mlp", "agent.network.width": 16, "iterations": 3}
    )
    assert (sized.game.width, sized.agents[0].network.width, sized.iterations) == (4, 16, 3)
    for change, message in {
        "agent.term.wait": "no setting of agent.term named 'wait'",
        "agents": "no setting of an experiment named 'agents'",
        "agent3.discount": "no setting of an experiment named 'agent3'",
        "opponents.every": "Settings of opponents need their name",
    }.items():
        with pytest.raises(ComityError, match=message):
            changed_by("coin", "ppo" if "opponents" in change else "adalign", {change: 1})


def test_memory_is_estimated_from_shapes() -> None:
    whole = experiment(TABULAR, batch=8, unroll=16)
    found = estimate_memory(whole)
    state = jax.jit(lambda: loop.start(whole))()
    assert found.learners == sum(x.nbytes for x in jax.tree.leaves(state.learners))
    twice = estimate_memory(experiment(TABULAR, batch=16, unroll=16))
    assert (twice.rollout, twice.games) == (2 * found.rollout, 2 * found.games)
    past = comity.make_matchmaker("past", capacity=100, groups=1)
    kept = estimate_memory(comity.make_experiment(DILEMMA, TABULAR, matchmaker=past, batch=8))
    policy = sum(x.nbytes for x in jax.tree.leaves(loop.players(whole, state)[0].params))
    assert kept.opponents == 100 * policy + 4  # and how many were stored
    assert found.to_data()["at_least"] == found.total


def test_what_does_not_fit_is_refused_with_the_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    large = "train prisoners-dilemma ppo --batch 1000000000 --out run"
    for line in (large, f"{large} --dry-run"):
        assert command_line(shlex.split(line)) == 2
        said = capsys.readouterr().err
        assert "This run would take at least" in said
        assert "GB are free: a smaller batch, unroll or game would help." in said
    wide = "train coin ppo --game.width 100000 --game.height 100000 --out run"
    assert command_line(shlex.split(wide)) == 2
    assert "width = 100000 is not possible" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(memory_estimate, "free_memory", lambda: 1000)
    with pytest.raises(ComityError, match=r"at least 0\.\d MB of memory .* and 0\.0 MB are free"):
        create(experiment(), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command_line(["train", "prisoners-dilemma", "ppo", "--dry-run", "--batch", "8"]) == 0
    assert "PPO in PrisonersDilemma: 1000 iterations of 128 steps\nat least" in capsys.readouterr().out
    assert command_line(["train", "prisoners-dilemma", "ppo", "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["memory"]["at_least"] > 0
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_seeds_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    line = f"train prisoners-dilemma ppo {SMALL} --seeds 2 --executor in-process --no-tensorboard --out both"
    assert command_line(shlex.split(line)) == 0
    assert command_line(shlex.split("train --resume both --iterations 6 --json")) == 0
    rows = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [(row["folder"], row["iteration"]) for row in rows] == [("both/seed-0", 6), ("both/seed-1", 6)]
    (tmp_path / "empty").mkdir()
    assert command_line(["train", "--resume", "empty"]) == 2
    assert "it has no config.json" in capsys.readouterr().err


def test_the_help_of_a_game_without_an_agent(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line(["train", "coin", "--help"]) == 0
    said = capsys.readouterr().out
    assert "--game.width 3" in said
    assert "learning agents: adalign," in said
    assert "always-cooperate" in said


@pytest.mark.parametrize("rewards", ["inf", "-inf", "nan", "some"])
def test_rewards_that_are_no_numbers_are_refused(rewards: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line(["train", "prisoners-dilemma", "ppo", f"--rewards={rewards}"]) == 2
    assert f"rewards = {rewards!r} is not possible" in capsys.readouterr().err


def test_seats_are_named_in_words() -> None:
    with pytest.raises(ComityError, match="each must be filled once: agent 1 has seats 0 and 2"):
        comity.make_experiment(make_game("coin"), TABULAR, groups=((0, 2),))


def test_commands_that_are_suggested_are_quoted(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line(["train", "--resume", str(trained)]) == 0
    said = capsys.readouterr().out
    assert shlex.split(said.split("look: comity report ")[1]) == [str(trained)]
    assert "comity report 'my run'" in (trained / "README.md").read_text()
    assert RunFolder(trained).metadata()["memory"]["at_least"] > 0
