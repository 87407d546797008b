"""Run folders explain themselves, are never overwritten, and keep what was good when a run goes wrong."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
import pytest

import comity
from comity.core.agent import Agent
from comity.core.errors import ComityError
from comity.core.game import Environment
from comity.play.player_file import read_player
from comity.play.specs import make_agent, make_game
from comity.training.experiment import Experiment, make_experiment
from comity.training.folder import RunFolder
from comity.training.hooks.finite import check_finite
from comity.training.metrics import mean_metrics
from comity.training.options import Options
from comity.training.run import Run
from comity.training.runner import create, run
from comity.training.stopping import Stopped

DILEMMA = make_game("prisoners-dilemma", horizon=4)
TABULAR_NETWORK: dict[str, Any] = {"network": "tabular"}
TABULAR = make_agent("a2c", **TABULAR_NETWORK)
QUICK = Options(checkpoint_seconds=0.0, tensorboard=False)


def experiment(agent: Agent = TABULAR, game: Environment = DILEMMA, **sizes: int) -> Experiment:
    all_sizes: dict[str, Any] = {"iterations": 6, "batch": 4, "chunk": 2, **sizes}
    return make_experiment(game, agent, **all_sizes)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("runs") / "mine"
    return comity.train(DILEMMA, TABULAR, iterations=6, batch=4, chunk=2, seed=3, out=out)


def test_a_run_folder_explains_itself(finished: Run) -> None:
    folder = finished.folder
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md", "checkpoints", "config.json", "metrics.jsonl", "players", "run.json", "tensorboard",
        "timing.jsonl",
    ]  # fmt: skip
    config = json.loads((folder / "config.json").read_text())
    assert config["game"]["name"] == "prisoners-dilemma"
    assert config["agents"][0]["network"]["name"] == "tabular"
    notes = json.loads((folder / "run.json").read_text())
    assert notes["status"] == "finished"
    assert {"python", "comity", "jax", "jaxlib", "equinox", "optax", "device"} <= set(notes["versions"])
    readme = (folder / "README.md").read_text()
    assert "a2c in prisoners-dilemma, seed 3, 6 iterations" in readme
    for path in folder.iterdir():
        assert path.name in readme or path.name == "README.md"
    assert list((folder / "tensorboard").glob("events.*"))


def test_metrics_are_means_over_a_chunk(finished: Run) -> None:
    rows = finished.metrics
    assert [row["iteration"] for row in rows] == [2, 4, 6]
    assert {"reward", "loss", "entropy", "value_loss"} <= set(rows[0])
    assert all(np.isfinite(value) for row in rows for value in row.values())
    assert -3 <= rows[0]["reward"] <= 0


def test_the_players_file(finished: Run) -> None:
    folder = finished.folder
    saved = read_player(folder / "players" / "player.safetensors")
    assert (saved.game(), saved.player.agent, saved.seats) == (DILEMMA, TABULAR, (0, 1))
    assert saved.spec == DILEMMA.spec
    assert saved.metadata == {"iteration": 6, "seed": 3, "run": "mine"}
    assert comity.load_player(folder).agent == TABULAR


def test_the_package_does_not_hide_the_function(tmp_path: Path) -> None:
    import comity.training.loop as training_loop

    assert callable(training_loop.start)
    result = comity.train(DILEMMA, TABULAR, iterations=1, batch=4, out=tmp_path / "run")
    assert result.folder.is_dir()


def test_a_folder_that_exists_is_never_written_into(finished: Run, tmp_path: Path) -> None:
    folder = finished.folder
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(ComityError, match="mine exists already: choose another --out, or go on"):
        create(experiment(), folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    (tmp_path / "file").write_text("precious")
    (tmp_path / "empty").mkdir()
    for name in ("file", "empty"):
        with pytest.raises(ComityError, match="exists already"):
            create(experiment(), tmp_path / name)


def test_a_setting_that_cannot_be_written_leaves_no_folder(tmp_path: Path) -> None:
    game = make_game("prisoners-dilemma")
    with pytest.raises(ComityError, match="reward = nan is not possible: it must be a finite number"):
        create(experiment(game=type(game)(reward=float("nan"))), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_is_not_a_run_folder(tmp_path: Path) -> None:
    with pytest.raises(ComityError, match="is not a folder"):
        RunFolder.open(tmp_path / "nothing")
    with pytest.raises(ComityError, match=r"is not a run folder: it has no config\.json"):
        RunFolder.open(tmp_path)
    (tmp_path / "config.json").write_text('{"game": ')
    with pytest.raises(ComityError, match=r"config\.json cannot be read as an experiment"):
        RunFolder.open(tmp_path).experiment()


def test_every_seat_with_its_own_player(tmp_path: Path) -> None:
    game = make_game("battle-of-the-sexes", horizon=4)
    result = run(create(experiment(game=game, iterations=2), tmp_path / "run"), QUICK)
    files = RunFolder(result.folder).player_files()
    assert [path.name for path in files] == ["player-1.safetensors", "player-2.safetensors"]
    assert [read_player(path).seat for path in files] == [0, 1]
    assert {"reward/player 1", "reward/player 2", "player 1/loss", "player 2/loss"} <= set(result.metrics[-1])
    assert comity.load_player(result.folder, game, seat=1).agent == TABULAR


def test_scripted_players_have_no_file(tmp_path: Path) -> None:
    agents = (make_agent("tit-for-tat", DILEMMA), TABULAR)
    whole = make_experiment(DILEMMA, agents, iterations=2, batch=4)
    result = run(create(whole, tmp_path / "run"), QUICK)
    assert [path.name for path in RunFolder(result.folder).player_files()] == ["player-2.safetensors"]


def test_a_stop_saves_and_the_run_goes_on(tmp_path: Path) -> None:
    def interrupt(iteration: int, metrics: dict[str, float]) -> None:
        if iteration == 2:
            os.kill(os.getpid(), signal.SIGINT)

    folder = create(experiment(), tmp_path / "one" / "run")
    slow = Options(checkpoint_seconds=1000.0, tensorboard=False)
    with pytest.raises(Stopped):
        run(folder, slow, interrupt)
    assert [path.stem for path in folder.checkpoints()] == ["000000002"]
    assert folder.metadata()["status"] == "stopped"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    run(folder, slow)
    whole = run(create(experiment(), tmp_path / "two" / "run"), slow)
    player = "players/player.safetensors"
    assert (folder.path / player).read_bytes() == (whole.folder / player).read_bytes()
    assert folder.metrics() == RunFolder(whole.folder).metrics()


def test_a_run_that_is_no_longer_finite_stops_with_its_last_good_checkpoint(tmp_path: Path) -> None:
    wild = make_agent(
        "a2c", **TABULAR_NETWORK, **{"optimiser.learning_rate": 3e37, "optimiser.max_grad_norm": 1e30}
    )
    folder = create(experiment(wild, iterations=40, chunk=1), tmp_path / "run")
    with pytest.raises(ComityError) as caught:
        run(folder, QUICK)
    said = str(caught.value)
    assert "not finite in iteration" in said
    assert "smaller learning rate" in said
    kept = folder.checkpoints()
    assert kept
    assert str(kept[-1]) in said
    last = int(kept[-1].stem)
    assert f"in iteration {last + 1}." in said
    state, complaints = folder.restore(folder.experiment())
    assert not complaints
    assert state is not None
    assert all(np.isfinite(leaf).all() for leaf in named_floats(state.learners))
    assert [row["iteration"] for row in folder.metrics()] == list(range(1, last + 1))
    assert folder.metadata()["status"] == "failed"
    assert folder.metadata()["error"] == said


def named_floats(tree: object) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))]


def test_check_finite_names_the_first_iteration_and_the_metric() -> None:
    good = np.asarray([1.0, 2.0, 3.0], np.float32)
    metrics = {"loss": good, "finite": np.ones(3, np.float32)}
    check_finite(metrics, 13)
    assert mean_metrics(metrics) == {"loss": 2.0}
    with pytest.raises(ComityError, match=r"the metric 'loss' is not finite in iteration 12\. There is no"):
        check_finite({**metrics, "loss": np.asarray([1.0, np.nan, 1.0], np.float32)}, 13)
    with pytest.raises(ComityError, match="the parameters are not finite in iteration 13"):
        check_finite({**metrics, "finite": np.asarray([1.0, 1.0, 0.0], np.float32)}, 13)


def test_a_run_remembers_how_it_was_carried_out(tmp_path: Path) -> None:
    folder = create(experiment(), tmp_path / "run")
    assert Options.of(folder) == Options()
    carried_out = Options(checkpoint_seconds=0.0, keep=7, tensorboard=False)
    run(folder, carried_out)
    assert Options.of(RunFolder.open(folder.path)) == carried_out
    for wrong, message in ((7, "options = 7"), ({"keep": "many"}, "options.keep = 'many'")):
        folder.add_metadata(options=wrong)
        with pytest.raises(ComityError, match=message):
            Options.of(folder)
