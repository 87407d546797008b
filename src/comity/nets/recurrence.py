"""What a recurrent core does: it carries a memory from step to step and clears it where an episode begins."""

from abc import abstractmethod
from typing import ClassVar, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

T = TypeVar("T")


class Core(eqx.Module):
    """The part of a recurrent torso that remembers: a cell, or a transformer with a window."""

    outputs_carry: ClassVar[bool] = False  # whether the output of a step is what is carried to the next one

    @property
    @abstractmethod
    def size(self) -> int:
        """The length of the output."""

    @abstractmethod
    def initial_carry(self) -> PyTree:
        """What is carried at the start of an episode: zeros."""

    @abstractmethod
    def step(self, carry: PyTree, x: Float[Array, "... inputs"]) -> tuple[PyTree, Float[Array, "... size"]]:
        """What is carried after an input, and the output."""

    @abstractmethod
    def unroll(
        self,
        carry: PyTree,
        x: Float[Array, "time row inputs"],
        resets: Bool[Array, "time row"],
        forward: bool = False,
    ) -> tuple[Float[Array, "time row size"], PyTree]:
        """The outputs of a whole trajectory, and what is carried after each step.

        `forward` says that forward-mode derivatives are going to be taken.
        """

    @abstractmethod
    def prefers_inputs_at_once(self, steps: int, forward: bool) -> bool:
        """Whether it is faster to compute the inputs of so many steps, over all rows, before it unrolls.

        Else whole steps run one after another and are computed again on the way back. On a CPU that is
        faster if what would be kept of all steps does not fit the processor's cache: at 50 steps of 512
        games and 64 units by a third.
        """


def cleared(carry: T, reset: Bool[Array, "..."]) -> T:
    """What is carried, emptied where an episode begins."""

    def clear(x: Array) -> Array:
        return jnp.where(reset.reshape(reset.shape + (1,) * (x.ndim - reset.ndim)), jnp.zeros_like(x), x)

    return jax.tree.map(clear, carry)


def step_by_step(
    core: Core, carry: PyTree, x: Float[Array, "time row inputs"], resets: Bool[Array, "time row"]
) -> tuple[Float[Array, "time row size"], PyTree]:
    """A core's unroll as its steps one after another, computed again on the way back."""

    def advance(carry: PyTree, inputs: tuple[Array, Array]) -> tuple[PyTree, PyTree]:
        x, reset = inputs
        carry, y = core.step(cleared(carry, reset), x)
        return carry, (y, carry)

    _, (y, after) = jax.lax.scan(jax.checkpoint(advance), carry, (x, resets))
    return y, after
