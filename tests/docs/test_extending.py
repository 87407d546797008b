"""docs/extending.md, followed to the letter: its files are written, counted, checked, trained and resumed."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import comity
from comity.cli import run as cli
from comity.core.agent import Player
from comity.core.scene import Bars
from comity.drawing.text import write
from comity.evaluate.replay import replay
from comity.learn.optimisers import Adam
from comity.learn.replay import UniformReplay
from comity.nets.mlp import MLP
from comity.nets.tabular import Tabular
from comity.play.match import play
from comity.report.replays import moment_scene
from comity.testing import check_agent, check_game
from comity.training.experiment import Experiment, make_experiment
from comity.training.folder import RunFolder
from comity.training.hooks.base import ActiveRun, Hook, Stop
from comity.training.options import Options
from comity.training.runner import create, run
from tests.docs.pages import REGISTRIES, ROOT, commands, files, follow

pytestmark = pytest.mark.long

PAGE = ROOT / "docs" / "extending.md"
QUICK = Options(checkpoint_seconds=0.0, tensorboard=False)


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A reader's folder, with the files of the page in it."""
    place = tmp_path_factory.mktemp("reader")
    with follow(PAGE, place):
        yield place


@pytest.fixture(scope="module")
def followed(folder: Path) -> Path:
    """The folder after all commands of the page, in their order."""
    typed = [
        command for command in commands(PAGE) if "--out" in command.arguments or "league" in command.arguments
    ]
    assert len(typed) == 10
    for command in typed:
        assert cli(command.arguments) == 0, command.name
    return folder


def metrics(run: Path) -> list[dict[str, Any]]:
    return RunFolder(run).metrics()


def config(run: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((run / "config.json").read_text())
    return data


# ---- What the page says of its files ---------------------------------------------------------------------


def test_the_table_counts_the_lines_of_every_file() -> None:
    rows = re.findall(r"^\| .+? \| `(\w+\.py)` \| (\d+) \| ", PAGE.read_text(), re.MULTILINE)
    assert {name: int(count) for name, count in rows} == {
        name: len(text.splitlines()) for name, text in files(PAGE).items()
    }
    assert len(rows) == 10


def test_files_read_like_those_of_the_package() -> None:
    for name, text in files(PAGE).items():
        assert text.startswith(('"""', 'r"""')), name
        assert max(map(len, text.splitlines())) <= 110, name


def test_an_installed_package_gives_them_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = re.findall(r"```toml\n(.+?)```", PAGE.read_text(), re.DOTALL)
    groups = tomllib.loads(block)["project"]["entry-points"]
    monkeypatch.syspath_prepend(tmp_path)
    for registry in REGISTRIES:
        monkeypatch.setattr(registry, "_classes", {})
        monkeypatch.setattr(registry, "_installed", None)
    about = tmp_path / "mine-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    lines = [
        f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in rows.items()) for group, rows in groups.items()
    ]
    (about / "entry_points.txt").write_text("".join(lines))
    tables = {registry.group: registry for registry in REGISTRIES}
    for group, rows in groups.items():
        for name, target in rows.items():
            assert tables[group].load(name).__name__ == target.split(":")[1]
            assert tables[group].name_of(tables[group].load(name)) == name
    also = set(re.findall(r"`(comity\.(?:networks|encoders|memories|executors))`", PAGE.read_text()))
    assert len(also) == 4
    assert also - {"comity.encoders"} <= set(tables)


# ---- Contracts -------------------------------------------------------------------------------------------


def test_the_games_hold_their_contract() -> None:
    check_game(comity.make_game("counting:Counting", horizon=4), steps=12)
    check_game(comity.make_game("whispers:Whispers"), steps=6)


def test_the_game_draws_itself_in_replays() -> None:
    game = comity.make_game("counting:Counting", horizon=2)
    player = comity.scripted_player("random", game)
    seen = replay(game, (player, player), names=("first", "second"))
    scene = seen.moments[2].scene
    assert isinstance(scene, Bars)
    assert [bar.parts[0][0] - 1 for bar in scene.bars] == [int(own) for own in seen.moments[2].actions]
    assert "player-2 " in write(moment_scene(seen, 2)).plain


@pytest.mark.parametrize("name", ["awr:AWR", "dqn:DQN", "talking:Talking"])
def test_the_agents_hold_their_contract(name: str) -> None:
    check_agent(comity.make_agent(name), comity.make_game("counting:Counting"), seats=(0, 1), batch=4)


def test_the_agents_refuse_what_they_cannot_do() -> None:
    dqn = comity.make_agent("dqn:DQN")
    with pytest.raises(comity.ComityError, match=r"the actions .* discrete for DQN"):
        dqn.check(comity.make_game("probe-target").spec, (0,))
    with pytest.raises(comity.ComityError, match="choose a network without memory"):
        comity.make_agent("dqn:DQN", network="gru").check(comity.make_game("probe-choice").spec, (0,))


# ---- What the commands of the page leave behind ----------------------------------------------------------


@pytest.mark.parametrize("name", ["counting", "awr"])
def test_on_policy_agents_find_the_dominant_action(followed: Path, name: str) -> None:
    game = comity.make_game("counting:Counting")
    player = comity.load_player(followed / "runs" / name, game)
    actions = play(game, (player, player), jax.random.key(0), 50, 10).action[0]
    assert np.mean(np.asarray(actions) == 2) > 0.8


def test_the_off_policy_agent_finds_the_best_action(followed: Path) -> None:
    game = comity.make_game("probe-choice")
    player = comity.load_player(followed / "runs" / "dqn", game)
    assert float(player.params.epsilon) == 0.0
    reward = play(game, (player,), jax.random.key(0), 100, 4).step.reward[0]
    np.testing.assert_array_equal(reward, 1.0)
    rows = metrics(followed / "runs" / "dqn")
    assert [row["updates"] for row in rows[:5]] == [0.0, 0.0, 0.0, 4.0, 4.0]  # 64 steps each, from 200 on
    assert ["loss" in row for row in rows[:5]] == [False, False, False, True, True]
    assert config(followed / "runs" / "dqn")["agents"][0]["memory"]["name"] == "uniform-replay"


def test_the_critic_has_the_view_that_was_named(followed: Path) -> None:
    experiment = RunFolder.open(followed / "runs" / "central").experiment()
    assert config(followed / "runs" / "central")["agents"][0]["critic"]["view"] == {
        "name": "global_state:GlobalState"
    }
    assert type(experiment.agents[0].critic.view).__name__ == "GlobalState"  # type: ignore[attr-defined]
    assert len(metrics(followed / "runs" / "central")) == 10


def test_the_team_that_talks_knows_what_silent_players_cannot(followed: Path) -> None:
    game = comity.make_game("whispers:Whispers")
    path = followed / "runs" / "talking"
    first, second = (comity.load_player(path, game) for _ in range(2))
    talking, silent = (
        np.mean(play(game, players, jax.random.key(0), 300, 1).step.reward[0])
        for players in ((first, first), (first, second))
    )
    assert talking > 0.9
    assert silent < 0.6


def test_matchmaker_hook_population_and_study(followed: Path) -> None:
    runs = followed / "runs"
    assert config(runs / "rivals")["matchmaker"] == {"name": "rivals:Rivals", "every": 5}
    assert metrics(runs / "budget")[-1]["iteration"] == 20  # 20 x 32 games x 10 steps are 6,400
    assert json.loads((runs / "budget" / "run.json").read_text())["status"] == "finished"
    short = {rate: metrics(runs / "halving" / f"rate-{rate}-for-10") for rate in ("0.1", "0.01")}
    earned = {rate: rows[-1]["reward"] for rate, rows in short.items()}
    longer = [path.name for path in (runs / "halving").glob("*-for-20")]
    assert longer == [f"rate-{max(earned, key=earned.__getitem__)}-for-20"]
    assert metrics(runs / "halving" / longer[0])[-1]["iteration"] == 20
    results = json.loads((runs / "study" / "results.json").read_text())
    assert results["largest"][0] > 0.8
    page = (runs / "study" / "report.html").read_text()
    assert "comity reproduce my_study:MyStudy --seeds 1 --iterations 60" in page


def test_rivals_stand_still_between_two_copies() -> None:
    rivals = comity.make_matchmaker("rivals:Rivals", every=3)
    pool = rivals.init((jnp.float32(0.0),))
    seen = []
    for iteration in range(7):
        pool = rivals.remember(pool, (jnp.float32(iteration + 1),), jnp.int32(iteration))
        seen.append(float(pool[0]))
    assert seen == [0.0, 0.0, 3.0, 3.0, 3.0, 6.0, 6.0]


# ---- The off-policy agent --------------------------------------------------------------------------------


def learner(**settings: Any) -> Any:
    memory = UniformReplay(capacity=200, batch=32, updates=4, learning_starts=100)
    return comity.make_agent(
        "dqn:DQN", memory=memory, optimiser=Adam(learning_rate=0.02), discount=0.9, target_tau=0.2, **settings
    )


def trained(game: str, path: Path, iterations: int = 100) -> Player:
    """A player of the off-policy agent, trained with tables."""
    experiment = make_experiment(
        comity.make_game(game), learner(network=Tabular()), iterations=iterations, batch=4, unroll=8, chunk=50
    )
    return run(create(experiment, path), QUICK).players[0]


def test_truncated_episodes_bootstrap(tmp_path: Path) -> None:
    """One is paid in every step and the clock cuts episodes off: what is played is worth 1 / (1 - 0.9)."""
    q = trained("probe-truncation", tmp_path / "run", 250).params.q
    np.testing.assert_allclose(q(jnp.int32(0)).max(), 10.0, atol=0.5)


def test_terminated_episodes_do_not(tmp_path: Path) -> None:
    q = trained("probe-discount", tmp_path / "run").params.q
    np.testing.assert_allclose([q(jnp.int32(0)), q(jnp.int32(1))], [[0.9, 0.9], [1.0, 1.0]], atol=0.05)


def test_epsilon_is_of_the_behaviour_only() -> None:
    agent, game = learner(network=MLP(width=8)), comity.make_game("probe-choice")
    state = agent.init(jax.random.key(0), game.spec, (0,))

    def share_of_first(params: Any) -> float:
        keys = jax.random.split(jax.random.key(1), 2000)
        return float(
            jnp.mean(jax.vmap(lambda key: agent.act(params, (), jnp.int32(0), key).action)(keys) == 0)
        )

    assert share_of_first(agent.policy(state)) in (0.0, 1.0)
    assert abs(share_of_first(agent.behaviour(state, jnp.float32(0.0))) - 0.5) < 0.05
    late = share_of_first(agent.behaviour(state, jnp.float32(0.9)))
    assert min(late, 1 - late) == pytest.approx(0.025, abs=0.012)


class StopHalfway(Hook):
    """Interrupts the run once."""

    def after_chunk(self, run: ActiveRun, iteration: int, metrics: dict[str, float]) -> Stop | None:
        return Stop("halfway", complete=False) if iteration == 20 else None


def test_a_run_with_a_full_replay_resumes_bit_by_bit(tmp_path: Path) -> None:
    def experiment() -> Experiment:
        game = comity.make_game("probe-choice")
        return make_experiment(game, learner(network=MLP(width=8)), iterations=40, batch=4, unroll=8, chunk=5)

    whole, halves = tmp_path / "whole" / "run", tmp_path / "halves" / "run"  # a player file names its run
    run(create(experiment(), whole), QUICK)
    run(create(experiment(), halves), QUICK, hooks=[StopHalfway()])
    assert metrics(halves)[-1]["iteration"] == 20
    state, _ = RunFolder.open(halves).restore(experiment())
    assert state is not None
    assert int(state.memories[0].stored) == 50  # steps of 4 games: the ring is full
    run(RunFolder.open(halves), QUICK)
    for name in ("metrics.jsonl", "players/player.safetensors", "checkpoints/000000040.safetensors"):
        assert (whole / name).read_bytes() == (halves / name).read_bytes(), name
