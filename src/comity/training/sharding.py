"""One learner on many devices: its games spread over them, one program on all, gradients averaged.

Numbers are those of one device within floating-point tolerance: games keep their random numbers, advantages
and statistics are those of the whole batch. With the same number of devices a run repeats and resumes bit by
bit; a checkpoint holds whole arrays, so that a run can go on with another number.
"""

import contextlib
import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

from comity.core.agent import Metrics
from comity.core.errors import ComityError, require
from comity.core.matchmaker import Matchmaker
from comity.core.shards import AXIS, Shards, sharded
from comity.play.rollout import group_count
from comity.training import loop
from comity.training.experiment import Experiment
from comity.training.loop import RunState


def make_devices(count: int) -> None:
    """Lets JAX see at least so many devices; on a CPU it makes them, if nothing was computed before."""
    if count <= 1:
        return
    with contextlib.suppress(RuntimeError):  # JAX has begun already: what it has is looked at
        jax.config.update("jax_num_cpu_devices", count)
    there = len(jax.local_devices())
    if there < count:
        raise ComityError(
            f"devices = {count} is not possible: JAX has {there} here; of a CPU it makes more only before it "
            f"begins, as with XLA_FLAGS=--xla_force_host_platform_device_count={count}."
        )


def check_devices(experiment: Experiment, count: int) -> None:
    """Raises unless the games of an experiment can be spread over so many devices."""
    if count == 1:
        return
    for agent in experiment.agents:
        if agent.learns and not agent.spreads:
            raise ComityError(
                f"devices = {count} is not possible with {type(agent).__name__}, which learns from all games "
                f"at once: a2c, ppo, ippo, mappo, adalign and proximal-adalign can be spread."
            )
    watches = type(experiment.matchmaker).observe is not Matchmaker.observe
    name = type(experiment.matchmaker).__name__
    require(not watches, "devices", count, f"1 with {name}, which watches all games at once")
    require(experiment.game.resumable, "devices", count, "1 with a third-party environment")
    state = jax.eval_shape(lambda: loop.start(experiment))
    parts = count * _groups(experiment, state)
    require(
        experiment.batch % parts == 0, "batch", experiment.batch, f"a multiple of {parts} on {count} devices"
    )
    make_devices(count)


class Spread(NamedTuple):
    """Where the parts of a run's state are: on which axis its leaves have games, or -1."""

    axes: PyTree
    shards: Shards
    mesh: Mesh

    @property
    def shardings(self) -> PyTree:
        """Where each leaf is."""
        return jax.tree.map(lambda axis: NamedSharding(self.mesh, _spec(axis)), self.axes)

    def place(self, state: RunState) -> RunState:
        """A state on one device, spread over all."""
        return self._moved(state, self._order(inverse=False), self.shardings)

    def collect(self, state: RunState) -> RunState:
        """The state on one device, as if it had always been there."""
        here = jax.tree.map(lambda _: jax.local_devices()[0], self.axes)
        return self._moved(state, self._order(inverse=True), here)

    def _moved(self, state: RunState, order: Callable[[int], np.ndarray], places: PyTree) -> RunState:
        def move(leaf: Any, axis: int, place: Any) -> Any:
            if axis >= 0 and self.shards.groups > 1:
                leaf = jnp.take(leaf, jnp.asarray(order(leaf.shape[axis])), axis=axis)
            return jax.device_put(leaf, place)

        moved: RunState = jax.tree.map(move, state, self.axes, places)
        return moved

    def _order(self, inverse: bool) -> Callable[[int], np.ndarray]:
        """Which game stands where, once the games of each device stand side by side."""

        def order(games: int) -> np.ndarray:
            cut = np.arange(games).reshape(self.shards.groups, self.shards.devices, -1)
            chosen: np.ndarray = cut.swapaxes(0, 1).reshape(-1)
            return np.argsort(chosen) if inverse else chosen

        return order


def spread_over(experiment: Experiment, state: RunState, count: int) -> Spread:
    """How a run is spread over so many devices."""
    larger = dataclasses.replace(experiment, batch=2 * experiment.batch)
    shapes = jax.eval_shape(lambda: loop.start(larger))
    axes = jax.tree.map(lambda leaf, doubled: _game_axis(leaf.shape, doubled.shape), state, shapes)
    mesh = Mesh(np.array(jax.local_devices()[:count]), (AXIS,))
    return Spread(axes, Shards(count, _groups(experiment, state)), mesh)


def advance_on(mesh: Mesh, shards: Shards, structure: Any, axes: tuple[int, ...]) -> Callable[..., Any]:
    """`loop.advance` on all devices of a mesh: each plays and learns from its part of the games."""
    specs = jax.tree.unflatten(structure, [_spec(axis) for axis in axes])

    def advance(experiment: Experiment, state: RunState, count: int) -> tuple[RunState, Metrics]:
        own = dataclasses.replace(experiment, batch=experiment.batch // shards.devices)

        def part(state: RunState) -> tuple[RunState, Metrics]:
            with sharded(shards):
                return loop.advance(own, state, count)

        found: tuple[RunState, Metrics] = jax.shard_map(
            part, mesh=mesh, in_specs=(specs,), out_specs=(specs, PartitionSpec()), check_vma=False
        )(state)
        return found

    return advance


def _groups(experiment: Experiment, state: RunState) -> int:
    """Into how many groups the opponents cut the games."""
    counts: list[int] = []

    def look(state: RunState) -> None:
        for lineup in loop.lineups_of(experiment, state):
            counts.extend(group_count(occupant) for occupant in lineup.occupants)

    jax.eval_shape(look, state)
    return math.lcm(*counts)


def _game_axis(shape: tuple[int, ...], doubled: tuple[int, ...]) -> int:
    """The axis on which a leaf grew when the batch did."""
    grew = [axis for axis, (few, many) in enumerate(zip(shape, doubled, strict=True)) if few != many]
    if len(grew) > 1:
        raise ComityError("A run whose state has games on two axes cannot be spread over devices.")
    return grew[0] if grew else -1


def _spec(axis: int) -> PartitionSpec:
    return PartitionSpec() if axis < 0 else PartitionSpec(*(None,) * axis, AXIS)
