"""What memory a run will take, from the shapes of its arrays: said before anything is allocated."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
from jaxtyping import PyTree

from comity.core.errors import ComityError
from comity.core.files import key_numbers
from comity.core.free_memory import free_memory, gigabytes
from comity.play.rollout import ROLLOUT
from comity.training.driver import trace
from comity.training.experiment import Experiment


class MemoryEstimate(NamedTuple):
    """Bytes that a run takes at least, part by part; what networks compute in between comes on top."""

    rollout: int  # what was played in one iteration, and the same again as the learners read it
    learners: int  # parameters, optimisers, statistics
    replay: int  # memories of earlier rollouts
    opponents: int  # past selves
    games: int  # the games under way, and memories of those who play
    checkpoint: int  # a copy of all but the rollout, while it is written

    @property
    def total(self) -> int:
        """All that is there at one time: a rollout is over when a checkpoint is written."""
        state = self.learners + self.replay + self.opponents + self.games
        return state + max(self.rollout, self.checkpoint)

    def to_data(self) -> dict[str, int]:
        """The parts and their sum as JSON data, in bytes."""
        return {**self._asdict(), "at_least": self.total}

    def __str__(self) -> str:
        parts = sorted(((size, name) for name, size in self._asdict().items() if size), reverse=True)
        named = ", ".join(f"{name} {gigabytes(size)}" for size, name in parts)
        return f"at least {gigabytes(self.total)} of memory ({named})"

    def check(self, experiment: Experiment) -> None:
        """Raises, with the number and the setting to change, if there is not so much memory."""
        free = free_memory()
        if free is not None and self.total > free:
            advice = self._advice(experiment)
            raise ComityError(
                f"This run would take {self}, and {gigabytes(free)} are free: {advice} would help."
            )

    def _advice(self, experiment: Experiment) -> str:
        # A checkpoint is a copy, so it is as large as the parts that are copied.
        parts = {name: size for name, size in self._asdict().items() if name != "checkpoint"}
        largest = max(parts, key=parts.__getitem__)
        if largest == "learners":
            return f"a smaller network{_widest_network(experiment)}"
        return {
            "rollout": "a smaller batch, unroll or game",
            "games": "a smaller batch or game",
            "opponents": "fewer past selves (--opponents.capacity)",
            "replay": "a smaller memory.capacity",
        }[largest]


def estimate_memory(experiment: Experiment) -> MemoryEstimate:
    """The memory of a run, from the shapes in its traced programs; nothing is allocated."""
    try:
        state, program = trace(experiment)
    except (OverflowError, MemoryError):
        raise ComityError(
            f"A batch of {experiment.batch} games of this size for {experiment.unroll} steps has more "
            f"numbers than can be counted: choose a smaller batch, unroll or game."
        ) from None
    parts: dict[str, Any] = {
        "learners": state.learners,
        "replay": state.memories,
        "opponents": state.pool,
        "games": (state.envs, state.returns),
    }
    sizes = {name: _size(part) for name, part in parts.items()}
    largest = max((_size(played) for played in _rollouts(program)), default=0)
    return MemoryEstimate(rollout=2 * largest, checkpoint=2 * sum(sizes.values()), **sizes)


def _widest_network(experiment: Experiment) -> str:
    """The setting that makes the widest network so wide, in brackets; nothing where none has a width."""
    found = [
        (network["width"], f"{path}.width")
        for agent in experiment.to_data()["agents"]
        for path, network in _networks(agent, "agent")
        if isinstance(network.get("width"), int)
    ]
    if not found:
        return ""
    width, path = max(found)
    return f" ({path} is {width:,})"


def _networks(data: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The settings of all networks in an agent's settings, by their paths."""
    for name, value in data.items() if isinstance(data, dict) else ():
        if name == "network" and isinstance(value, dict):
            yield f"{path}.{name}", value
        yield from _networks(value, f"{path}.{name}")


def _rollouts(program: Any) -> Iterator[list[PyTree]]:
    """What each rollout of a program stacks over time, however deep it is called."""
    for equation in program.eqns:
        if equation.primitive.name == "scan" and ROLLOUT in str(equation.source_info.name_stack):
            stacked = equation.outvars[equation.params["num_carry"] :]
            yield [jax.ShapeDtypeStruct(out.aval.shape, out.aval.dtype) for out in stacked]
        for value in jax.tree.leaves(equation.params, is_leaf=_is_program):
            if _is_program(value):
                yield from _rollouts(value)


def _is_program(value: Any) -> bool:
    return hasattr(value, "eqns")


def _size(tree: PyTree) -> int:
    """Bytes of all arrays; random keys as the numbers behind them."""
    plain = jax.eval_shape(lambda tree: [key_numbers(leaf) for leaf in jax.tree.leaves(tree)], tree)
    return sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in plain)
