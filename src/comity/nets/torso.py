"""What every torso does: it turns observations into features, one step or a whole trajectory at a time."""

import math
from abc import abstractmethod
from typing import NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from comity.core import spaces
from comity.core.spaces import Space

T = TypeVar("T")


class TorsoCarry(NamedTuple):
    """The observations before this one, newest first, the recurrent state, the time; empty if not used."""

    earlier: tuple[Float[Array, "... flat"], ...] = ()
    hidden: PyTree = ()
    clock: PyTree = ()


class Torso(eqx.Module):
    """Turns observations into features, and carries what is remembered from step to step.

    `step` and `unroll` take any number of axes (none, rows, seats and games, ...). Inside there is one axis
    of rows: XLA's CPU backend is fastest so, and a GRU's custom VJP needs it.
    """

    observation: eqx.AbstractVar[Space]

    @property
    @abstractmethod
    def features(self) -> int:
        """The length of the feature vector."""

    @abstractmethod
    def initial_carry(self) -> TorsoCarry:
        """What is remembered at the start of an episode."""

    @abstractmethod
    def update_statistics(self, obs: PyTree, weight: Float[Array, "time *batch"]) -> "Torso":
        """The torso after its running statistics took in some more observations, each with its weight."""

    @abstractmethod
    def step_rows(self, carry: TorsoCarry, obs: PyTree) -> tuple[TorsoCarry, Float[Array, "*row features"]]:
        """`step` for one observation, or for one axis of them."""

    @abstractmethod
    def unroll_rows(
        self, carry: TorsoCarry, obs: PyTree, resets: Bool[Array, "time row"], forward: bool
    ) -> tuple[Float[Array, "time row features"], TorsoCarry]:
        """`unroll` for one axis of rows."""

    def initial_carries(
        self, count: int | tuple[int, ...], age: Int[Array, "*count"] | None = None
    ) -> TorsoCarry:
        """That carry for `count` episodes (a number or a shape) side by side, `age` steps old."""
        shape = (count,) if isinstance(count, int) else count
        carry: TorsoCarry = jax.tree.map(
            lambda x: jnp.broadcast_to(x, (*shape, *x.shape)), self.initial_carry()
        )
        if age is None or isinstance(carry.clock, tuple):
            return carry
        return carry._replace(clock=age.astype(jnp.float32))

    def step(self, carry: TorsoCarry, obs: PyTree) -> tuple[TorsoCarry, Float[Array, "*batch features"]]:
        """The carry after an observation, and the features of it."""
        count = spaces.leading_axes(self.observation, obs)
        if count <= 1:
            return self.step_rows(carry, obs)
        batch = jax.tree.leaves(obs)[0].shape[:count]
        after, features = self.step_rows(merge_axes(carry, 0, count), merge_axes(obs, 0, count))
        return split_axis(after, 0, batch), split_axis(features, 0, batch)

    def unroll(
        self, carry: TorsoCarry, obs: PyTree, resets: Bool[Array, "time *batch"], forward: bool = False
    ) -> tuple[Float[Array, "time *batch features"], TorsoCarry]:
        """The features of a whole trajectory, time first, and the carry after each step.

        Where an episode begins (`resets`) what was carried is forgotten. `forward` says that forward-mode
        derivatives are going to be taken.
        """
        batch = resets.shape[1:]
        if len(batch) == 1:
            return self.unroll_rows(carry, obs, resets, forward)
        first, rows = merge_axes(carry, 0, len(batch)), merge_axes((obs, resets), 1, len(batch))
        features, after = self.unroll_rows(first, *rows, forward)
        return split_axis(features, 1, batch), split_axis(after, 1, batch)


def merge_axes(tree: T, first: int, count: int) -> T:
    """A tree whose leaves have one axis instead of `count` ones from `first` on; a new one if none."""

    def merge(x: Array) -> Array:
        last = first + count
        return x.reshape((*x.shape[:first], math.prod(x.shape[first:last]), *x.shape[last:]))

    return jax.tree.map(merge, tree)


def split_axis(tree: T, axis: int, shape: tuple[int, ...]) -> T:
    """A tree whose leaves have the axes of a shape instead of one."""
    return jax.tree.map(lambda x: x.reshape((*x.shape[:axis], *shape, *x.shape[axis + 1 :])), tree)
