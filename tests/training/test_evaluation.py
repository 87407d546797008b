"""Evaluation while training, the best players, targets and time limits; all of it goes on after a stop."""

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import comity
from comity.core.agent import Player
from comity.core.errors import ComityError
from comity.play.player_file import read_player
from comity.play.specs import make_agent, make_game
from comity.training import loop
from comity.training.driver import drive, start_any_seed
from comity.training.folder import RunFolder
from comity.training.hooks.base import ActiveRun, Hook, Stop
from comity.training.hooks.early_stop import EarlyStop
from comity.training.hooks.evaluation import Evaluation
from comity.training.options import Options, hook_specs
from comity.training.run import Run
from comity.training.runner import create, run
from comity.training.stopping import Stopped
from tests.training.test_metrics import Clock
from tests.training.test_runner import DILEMMA, TABULAR, experiment

EVALUATE = {"every": 4, "against": ["always-defect", "tit-for-tat"], "episodes": 8}
BEST = Path("players/best/player.safetensors")
FAST = make_agent("a2c", network="tabular", **{"optimiser.learning_rate": 0.3})


def options(**changes: Any) -> Options:
    hooks = hook_specs(EVALUATE, **{"target": None, **changes})
    patience = 'early-stop,{"metric": "evaluation/self-play", "patience": 3}'
    return Options(checkpoint_seconds=0.0, tensorboard=False, hooks=(*hooks, patience))


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Run:
    whole = experiment(FAST, iterations=60, batch=8)
    return run(create(whole, tmp_path_factory.mktemp("whole") / "run"), options())


def evaluations(folder: Path) -> dict[int, float]:
    rows = RunFolder(folder).metrics()
    return {row["iteration"]: row["evaluation/self-play"] for row in rows if "evaluation/self-play" in row}


def test_evaluations_are_logged_from_time_to_time(evaluated: Run) -> None:
    found = evaluations(evaluated.folder)
    assert list(found)[:3] == [4, 8, 12]  # chunks are of 2 iterations
    row = evaluated.metrics[1]
    assert {"evaluation/always-defect", "evaluation/tit-for-tat"} <= row.keys()
    # It stopped when three evaluations in a row were no better than the best before them.
    values = list(found.values())
    assert len(values) < 15
    best = int(np.argmax(values))
    assert len(values) == best + 4


def test_the_best_players_are_kept_beside_the_last(evaluated: Run) -> None:
    saved = read_player(evaluated.folder / BEST)
    rows = [row for row in evaluated.metrics if "evaluation/self-play" in row]
    names = [name for name in rows[0] if name.startswith("evaluation/")]
    scores = {row["iteration"]: float(np.mean([row[name] for name in names])) for row in rows}
    assert saved.metadata["iteration"] == max(scores, key=scores.__getitem__)
    assert saved.metadata["evaluation"] == pytest.approx(max(scores.values()))
    assert RunFolder(evaluated.folder).metadata()["best"]["score"] == pytest.approx(max(scores.values()))
    best = comity.load_player(evaluated.folder / "players" / "best", DILEMMA)
    jax.tree.map(np.testing.assert_array_equal, best.params, saved.player.params)


def test_a_resumed_run_evaluates_and_stops_alike(evaluated: Run, tmp_path: Path) -> None:
    whole = evaluated.experiment
    folder = create(whole, tmp_path / "cut" / "run")
    with pytest.raises(Stopped):
        _interrupted(folder, at=10)
    assert RunFolder(folder.path).metadata()["iteration"] == 10
    run(RunFolder.open(folder.path), Options.of(folder))
    _assert_same(folder.path, evaluated.folder)
    # Killed after an evaluation that was the best so far, before the checkpoint: the best is written again.
    lost = shutil.copytree(evaluated.folder, tmp_path / "lost" / "run")
    for path in RunFolder(lost).checkpoints()[1:]:
        path.unlink()
    run(RunFolder.open(lost), options())
    _assert_same(lost, evaluated.folder)


def _interrupted(folder: RunFolder, at: int) -> None:
    def ask(iteration: int, metrics: dict[str, float]) -> None:
        if iteration == at:
            os.kill(os.getpid(), signal.SIGINT)

    run(folder, options(), ask)


def _assert_same(folder: Path, whole: Path) -> None:
    for name in ("metrics.jsonl", "players/player.safetensors", str(BEST)):
        assert (folder / name).read_bytes() == (whole / name).read_bytes()


def test_evaluations_share_their_random_numbers() -> None:
    hook = Evaluation(every=1, against=("random",), episodes=4)
    whole = experiment(TABULAR)
    hook.check(whole)
    players = loop.players(whole, jax.jit(lambda: loop.start(whole))())
    assert hook.measure(whole, players) == hook.measure(whole, players)
    other = Evaluation(every=1, against=("random",), episodes=4, seed=1)
    other.check(whole)
    assert hook.measure(whole, players) != other.measure(whole, players)


def test_known_values_against_known_players() -> None:
    """A learner who always cooperates, most likely: what it earns per step is known."""
    hook = Evaluation(every=1, against=("always-defect", "always-cooperate"), episodes=2, deterministic=True)
    whole = experiment(TABULAR)
    hook.check(whole)
    fresh = loop.players(whole, jax.jit(lambda: loop.start(whole))())[0]
    biased = jax.tree.map(
        lambda x: np.zeros_like(x) + np.asarray([1.0, 0.0]) if x.shape[-1] == 2 else x, fresh.params
    )
    found = hook.measure(whole, (Player(fresh.agent, biased),) * 2)
    assert found == {
        "evaluation/self-play": -1.0, "evaluation/always-defect": -3.0, "evaluation/always-cooperate": -1.0
    }  # fmt: skip


def test_where_episodes_differ_in_length_returns_count() -> None:
    hook = Evaluation(every=1, episodes=3, steps=7)
    whole = experiment(TABULAR, Clock(horizon=5))
    players = loop.players(whole, jax.jit(lambda: loop.start(whole))())
    assert hook.measure(whole, players) == {"evaluation/self-play": 0.5}
    endless = experiment(TABULAR, make_game("prisoners-dilemma", horizon=None), unroll=4)
    found = hook.measure(endless, loop.players(endless, jax.jit(lambda: loop.start(endless))()))
    assert found["evaluation_length/self-play"] == 7.0
    assert found["evaluation_return/self-play"] == pytest.approx(7.0 * found["evaluation/self-play"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"every": 0}, "evaluation.every = 0 is not possible"),
        ({"every": 1, "episodes": 0}, "evaluation.episodes = 0 is not possible"),
        ({"every": 1, "best": "nobody"}, "no evaluation to choose the best by named 'nobody'"),
        ({"every": 1, "against": ["zoo:coin/adalign/1"]}, "cannot play in this game"),
        ({"every": 1, "against": ["my_module:Mine"]}, "runs code of its own"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ComityError, match=message):
        comity.train(DILEMMA, TABULAR, iterations=2, batch=4, evaluate=settings, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_early_stop_on_what_is_never_evaluated_is_refused(tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"iterations": 2, "batch": 4, "target": 0.0}
    with pytest.raises(ComityError, match="nothing is evaluated: add --evaluate-every"):
        comity.train(DILEMMA, TABULAR, target_metric="evaluation/self-play", out=tmp_path / "run", **sizes)
    assert not (tmp_path / "run").exists()
    with pytest.raises(ComityError, match="no metric of this run named 'evaluation/self-pla'"):
        comity.train(DILEMMA, TABULAR, target_metric="evaluation/self-pla", evaluate={"every": 1}, **sizes)


def test_a_target_ends_a_run(tmp_path: Path) -> None:
    found = comity.train(DILEMMA, TABULAR, iterations=8, batch=4, chunk=2, target=-3.0, out=tmp_path / "run")
    assert [row["iteration"] for row in found.metrics] == [2]
    assert RunFolder(found.folder).metadata()["status"] == "finished"


def test_minutes_stop_a_run_that_can_be_resumed(tmp_path: Path) -> None:
    found = comity.train(DILEMMA, TABULAR, iterations=8, batch=4, chunk=2, minutes=1e-9, out=tmp_path / "run")
    folder = RunFolder(found.folder)
    assert folder.metadata()["status"] == "stopped"
    assert [row["iteration"] for row in found.metrics] == [2]
    run(RunFolder.open(found.folder), Options.of(folder))
    assert folder.metadata()["status"] == "finished"
    assert [row["iteration"] for row in folder.metrics()] == [2, 4, 6, 8]
    with pytest.raises(ComityError, match="minutes = -1 is not possible"):
        comity.train(DILEMMA, TABULAR, minutes=-1, out=tmp_path / "other")


class Sometimes(Hook):
    """Measures something in every second chunk."""

    measures = True

    def after_chunk(self, run: ActiveRun, iteration: int, metrics: dict[str, float]) -> Stop | None:
        if iteration % 4 == 0:
            metrics["evaluation/x"] = float(-iteration)
        return None


def test_rows_without_the_metric_do_not_count() -> None:
    whole = experiment(iterations=20)
    active = ActiveRun(whole, [Sometimes(), EarlyStop(metric="evaluation/x", patience=2)])
    drive([active], [start_any_seed(whole)])
    assert active.iteration == 12  # -4 is the best, -8 and -12 are not
