"""Several seeds at once: one process per core on a CPU, one vectorised program on an accelerator.

On a CPU these programs use about one core whatever the number of threads, and vectorising over seeds
gains nothing, so processes are faster there; each is the very program of a single run, so its numbers
are those of a separate run bit by bit. On an accelerator one program trains all seeds; its numbers agree
with separate runs within floating-point tolerance.
"""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import equinox as eqx
import jax
import numpy as np

from comity.core.compilation import compiled, use_compilation_cache
from comity.core.errors import ComityError
from comity.core.types import stack
from comity.train import loop
from comity.train.experiment import Experiment
from comity.train.folder import RunFolder
from comity.train.runner import Options, Stopped, StopRequest, check_finite, create, restore_or_start
from comity.train.tracking import open_trackers

Parallel = Literal["auto", "processes", "vmap"]
SeedReport = Callable[[int, int, dict[str, float]], None]


def train_seeds(
    experiment: Experiment,
    seeds: tuple[int, ...],
    out: Path,
    options: Options,
    parallel: Parallel = "auto",
    command: str | None = None,
    report: SeedReport | None = None,
) -> list[Path]:
    """Trains an experiment with several seeds, each in a run folder `out/seed-N`, and returns the folders.

    Folders that exist already are resumed, if they are of this experiment.
    """
    runs = {out / f"seed-{seed}": dataclasses.replace(experiment, seed=seed) for seed in seeds}
    for path, with_seed in runs.items():
        if path.exists():
            RunFolder.open(path).require_same(with_seed)
    folders = [
        RunFolder.open(path) if path.exists() else create(with_seed, path, command)
        for path, with_seed in runs.items()
    ]
    if parallel == "auto":
        parallel = "processes" if jax.default_backend() == "cpu" else "vmap"
    if parallel == "vmap":
        _train_vectorised(experiment, seeds, folders, options, report)
    else:
        _train_processes(seeds, folders, options, report)
    return [folder.path for folder in folders]


def _train_vectorised(
    experiment: Experiment,
    seeds: tuple[int, ...],
    folders: list[RunFolder],
    options: Options,
    report: SeedReport | None,
) -> None:
    use_compilation_cache()
    states = [
        restore_or_start(folder, dataclasses.replace(experiment, seed=seed))
        for seed, folder in zip(seeds, folders, strict=True)
    ]
    iterations = {int(state.iteration) for state in states}
    if len(iterations) > 1:
        raise ComityError(
            f"The seeds stopped at different iterations ({sorted(iterations)}), so they cannot go on as one "
            f"vectorised run: use --parallel processes."
        )
    iteration = iterations.pop()
    trackers = []
    for folder in folders:
        folder.rewind_metrics(iteration)
        trackers.append(
            open_trackers(folder.path, iteration, options.tensorboard, options.wandb, experiment.to_data())
        )
    advance = compiled(
        lambda experiment, states, count: eqx.filter_vmap(lambda s: loop.advance(experiment, s, count))(
            states
        )
    )
    together = stack(states)

    def save(status: str | None) -> None:
        for i, (seed, folder) in enumerate(zip(seeds, folders, strict=True)):
            own_state = jax.tree.map(lambda x, i=i: x[i], together)
            with_seed = dataclasses.replace(experiment, seed=seed)
            folder.save(with_seed, own_state, options.keep)
            if status is not None:
                folder.save_players(with_seed, own_state)
                folder.note(status=status, iteration=iteration)

    saved = time.monotonic()
    with StopRequest() as request:
        while iteration < experiment.iterations and not request.stopped:
            count = min(experiment.chunk, experiment.iterations - iteration)
            together, metrics = advance(experiment, together, count)
            for i, (seed, folder) in enumerate(zip(seeds, folders, strict=True)):
                own = {name: np.asarray(values[i]) for name, values in metrics.items()}
                means = check_finite(own, iteration, folder.path)
                for tracker in trackers[i]:
                    tracker.log(iteration + count, means)
                if report is not None:
                    report(seed, iteration + count, means)
            iteration += count
            if time.monotonic() - saved >= options.checkpoint_seconds:
                save(None)
                saved = time.monotonic()
        save("finished" if iteration == experiment.iterations else "stopped")
    for tracker in (tracker for own_trackers in trackers for tracker in own_trackers):
        tracker.close()
    if iteration < experiment.iterations:
        raise Stopped


def _train_processes(
    seeds: tuple[int, ...], folders: list[RunFolder], options: Options, report: SeedReport | None
) -> None:
    waiting = list(zip(seeds, folders, strict=True))
    lock = threading.Lock()
    failures: list[str] = []
    running: list[subprocess.Popen[str]] = []

    def work() -> None:
        while True:
            with lock:
                if not waiting or failures:
                    return
                seed, folder = waiting.pop(0)
                process = _start_worker(folder.path, options)
                running.append(process)
            assert process.stdout is not None
            for line in process.stdout:
                message = json.loads(line)
                if report is not None:
                    report(seed, message["iteration"], message["metrics"])
            said = process.stderr.read().strip() if process.stderr is not None else ""
            if process.wait() != 0:
                with lock:
                    failures.append(f"seed {seed}: {said or 'the process died'}")
            elif said:
                print(f"seed {seed}: {said}", file=sys.stderr)

    threads = [threading.Thread(target=work) for _ in range(min(os.cpu_count() or 1, len(seeds)))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:  # the workers get the signal too: each saves and stops
        with lock:
            waiting.clear()
            for process in running:
                process.send_signal(signal.SIGINT)
        for thread in threads:
            thread.join()
        raise
    if failures:
        raise ComityError("; ".join(failures))


def _start_worker(path: Path, options: Options) -> subprocess.Popen[str]:
    settings = json.dumps(dataclasses.asdict(options))
    return subprocess.Popen(
        [sys.executable, "-m", "comity.train.worker", str(path), settings],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C reaches a worker once, through the process that waits for it
    )
