"""The one host loop of training: advances runs chunk by chunk and calls their hooks.

One run is advanced by the program of `loop.advance`; several runs of one experiment, which differ in their
seeds and tunable settings only, by the same program vectorised over their stacked states. A run that ends
before its companions is still computed with them, and no longer looked at.
"""

import dataclasses
import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from comity.bridges.host import reraise_host_errors
from comity.core.agent import stack
from comity.core.compilation import compiled, compiled_for
from comity.core.errors import ComityError, require
from comity.core.shards import Shards
from comity.training import loop
from comity.training.experiment import Experiment
from comity.training.hooks.base import ActiveRun, Ending, Hook, Stop
from comity.training.loop import RunState
from comity.training.metrics import mean_metrics
from comity.training.sharding import Spread, advance_on, check_devices, spread_over


def drive(runs: Sequence[ActiveRun], states: Sequence[RunState], devices: int = 1) -> None:
    """Trains runs from their states until each has ended; how is in `run.ending`.

    The games of a run may be spread over several devices.

    Runs fail one by one: an error that belongs to one of them ends that one only. Errors that are nobody's
    (an interrupt, a defect) end all of them and are raised.
    """
    lanes = Lanes([run.experiment for run in runs], states, devices)
    opened: list[list[Hook]] = [[] for _ in runs]
    for i, run in enumerate(runs):
        run.iteration = int(states[i].iteration)
        run.companions = len(runs)
        run.lineups = len(states[i].envs)
        run.now = time.monotonic()
        run.read_state = functools.partial(lanes.state, i)
    try:
        for run, hooks in zip(runs, opened, strict=True):
            _open(run, hooks)
        _check_together([run for run in runs if run.ending is None])
        _train(runs, opened, lanes)
    except BaseException as error:
        for run, hooks in zip(runs, opened, strict=True):
            if run.ending is None:
                _end(run, hooks, Ending("aborted", str(error), error))
        raise


def _train(runs: Sequence[ActiveRun], opened: Sequence[list[Hook]], lanes: "Lanes") -> None:
    iterations, chunk = runs[0].experiment.iterations, runs[0].experiment.chunk
    while True:
        for run, hooks in zip(runs, opened, strict=True):
            if run.ending is None and run.iteration >= iterations:
                _end(run, hooks, Ending("finished", "all iterations are done"))
        active = [i for i, run in enumerate(runs) if run.ending is None]
        if not active:
            return
        iteration = runs[active[0]].iteration
        count = min(chunk, iterations - iteration)
        started = time.process_time()
        try:
            with reraise_host_errors():
                chunks = lanes.advance(count)
        except ComityError as error:  # a third-party environment failed, for all who play in it
            for i in active:
                _end(runs[i], opened[i], Ending("failed", str(error), error))
            return
        seconds, now = (time.process_time() - started) / len(runs), time.monotonic()
        for i in active:
            runs[i].iteration = iteration + count
            runs[i].chunk, runs[i].cpu_seconds, runs[i].now = chunks[i], seconds, now
        _call_hooks([runs[i] for i in active], [opened[i] for i in active])


def trace(experiment: Experiment) -> tuple[RunState, Any]:
    """The shapes of a run's state and the jaxpr of its training; both traces are used again by training.

    What an agent refuses, it refuses here.
    """
    state: RunState = starter().trace(experiment, None, None).out_info
    count = min(experiment.chunk, experiment.iterations)
    return state, _advancer(True, plain=True).trace(_program_of(experiment), state, count).jaxpr


@functools.cache
def starter() -> Any:
    """The compiled `loop.start`, which runs only once."""
    return compiled_for(loop.start, once=True, static_argnums=0)


def start_any_seed(experiment: Experiment) -> RunState:
    """The state before the first iteration, by a program that is compiled once for all seeds.

    Numbers may differ in their last bit from those of a program that knows its seed.
    """
    state: RunState = _starter()(dataclasses.replace(experiment, seed=0), jnp.int32(experiment.seed))
    return state


@functools.cache
def _starter() -> Callable[..., Any]:
    return compiled(loop.start)


class Lanes:
    """The states of runs that are advanced together: one as it is or spread over devices, several stacked."""

    def __init__(
        self, experiments: Sequence[Experiment], states: Sequence[RunState], devices: int = 1
    ) -> None:
        alike = [_program_of(experiment) for experiment in experiments]
        if not all(bool(eqx.tree_equal(alike[0], other)) for other in alike[1:]):
            raise ComityError(
                "Runs can train in one program only if they differ in nothing but their seeds and what is "
                "tunable in them."
            )
        self._experiment = alike[0]
        self._single = len(states) == 1
        # Players that a response is trained against are arrays within an agent.
        self._plain = not any(eqx.is_array(leaf) for leaf in jax.tree.leaves(alike[0]))
        self._state: PyTree = states[0] if self._single else stack(list(states))
        self._count = len(states)
        self._spread: Spread | None = None
        if devices > 1:
            require(self._single, "devices", devices, "1 where several runs train in one program")
            check_devices(self._experiment, devices)
            self._spread = spread_over(self._experiment, states[0], devices)
            self._state = self._spread.place(states[0])

    def advance(self, count: int) -> list[dict[str, np.ndarray]]:
        """`count` iterations of all runs; the metrics of each, leaves [count]."""
        if self._spread is None:
            advance = _advancer(self._single, self._plain)
        else:
            advance = spread_advancer(self._spread, self._plain)
        self._state, metrics = advance(self._experiment, self._state, count)
        host = {name: np.asarray(values) for name, values in metrics.items()}
        if self._single:
            return [host]
        return [{name: values[i] for name, values in host.items()} for i in range(self._count)]

    def state(self, index: int) -> RunState:
        """The state of one run."""
        if self._spread is not None:
            return self._spread.collect(self._state)
        state: RunState = self._state if self._single else jax.tree.map(lambda leaf: leaf[index], self._state)
        return state


def _program_of(experiment: Experiment) -> Experiment:
    """What advancing reads of an experiment.

    Neither its seed nor its tunable settings, which are state, nor how long it goes on, but for schedules.
    """
    numbers = tuple(dict.fromkeys(own, 1.0) for own in experiment.tuned())
    alike = dataclasses.replace(experiment.with_iterations(experiment.schedule_length), seed=0)
    return alike.with_tuned(numbers)


@functools.cache
def _advancer(single: bool, plain: bool) -> Any:
    """The compiled program, which uses the state's buffers again; `plain`: the experiment has no arrays."""
    return _compiled_advance(loop.advance if single else _advance_stacked, plain)


def spread_advancer(spread: Spread, plain: bool = True) -> Any:
    """The same for a run that is spread over devices."""
    axes, structure = jax.tree.flatten(spread.axes)
    return _spread_advancer(spread.mesh, spread.shards, structure, tuple(axes), plain)


@functools.cache
def _spread_advancer(mesh: Any, shards: Shards, structure: Any, axes: tuple[int, ...], plain: bool) -> Any:
    return _compiled_advance(advance_on(mesh, shards, structure, axes), plain)


def _compiled_advance(function: Callable[..., Any], plain: bool) -> Any:
    if not plain:
        return compiled(function, donate="all-except-first")
    return compiled_for(function, static_argnums=(0, 2), donate_argnums=1)


def _advance_stacked(experiment: Experiment, states: PyTree, count: int) -> tuple[PyTree, dict[str, Any]]:
    stacked, metrics = eqx.filter_vmap(lambda state: loop.advance(experiment, state, count))(states)
    return stacked, metrics


def _check_together(runs: Sequence[ActiveRun]) -> None:
    iterations = sorted({run.iteration for run in runs})
    if len(iterations) > 1:
        raise ComityError(
            f"The runs stopped at different iterations ({iterations}), so they cannot go on as one "
            f"vectorised run: use --executor processes."
        )


def _open(run: ActiveRun, opened: list[Hook]) -> None:
    stops = []
    for hook in run.hooks:
        try:
            stops.append(hook.before(run))
        except ComityError as error:
            _end(run, opened, Ending("failed", str(error), error))
            return
        opened.append(hook)
    _end_if_asked(run, opened, stops)


def _call_hooks(runs: Sequence[ActiveRun], opened: Sequence[list[Hook]]) -> None:
    """Hook by hook, so that all runs have logged a chunk before the first is asked whether to stop."""
    means = [{"steps": run.steps, **mean_metrics(run.chunk)} for run in runs]
    stops: list[list[Stop | None]] = [[] for _ in runs]
    for k in range(max(len(hooks) for hooks in opened)):
        for i, run in enumerate(runs):
            if run.ending is None and k < len(opened[i]):
                try:
                    stops[i].append(opened[i][k].after_chunk(run, run.iteration, means[i]))
                except ComityError as error:
                    _end(run, opened[i], Ending("failed", str(error), error))
    for i, run in enumerate(runs):
        if run.ending is None:
            _end_if_asked(run, opened[i], stops[i])


def _end_if_asked(run: ActiveRun, opened: list[Hook], stops: Sequence[Stop | None]) -> None:
    """A complete stop goes before an interruption; the end of all iterations before both."""
    asked = sorted((stop for stop in stops if stop is not None), key=lambda stop: not stop.complete)
    if asked and run.iteration < run.experiment.iterations:
        _end(run, opened, Ending("finished" if asked[0].complete else "stopped", asked[0].reason))


def _end(run: ActiveRun, opened: Sequence[Hook], ending: Ending) -> None:
    """Lets every hook that was opened close, the last one first, whatever the others do."""
    unexpected: BaseException | None = None
    for hook in reversed(opened):
        try:
            hook.after(run, ending)
        except ComityError as error:
            ending = Ending("failed", str(error), error)
        except BaseException as error:
            unexpected = unexpected or error
            ending = Ending("aborted", str(error), error)
    run.ending = ending
    if unexpected is not None:
        raise unexpected
