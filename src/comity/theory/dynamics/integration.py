"""Time stepping on simplices, shared by the learning dynamics.

`runge_kutta` makes one classical step of order 4 for x' = velocity(x):

    k1 = f(x), k2 = f(x + h k1 / 2), k3 = f(x + h k2 / 2), k4 = f(x + h k3),
    x + h (k1 + 2 k2 + 2 k3 + k4) / 6.

Source: Hairer, Norsett and Wanner, "Solving Ordinary Differential Equations I", 1993, section II.1.
"""

from collections.abc import Callable, Sequence
from string import ascii_lowercase
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Num

from comity.theory.errors import TheoryError

State = TypeVar("State")
# One payoff tensor for each player, apart or stacked along a first axis.
Payoffs = Sequence[Num[ArrayLike, "..."]] | Num[Array, "players ..."] | Num[np.ndarray, "players ..."]
Starts = Sequence[Any]  # a mixture for each player, [*starts, actions]: an array, or a list of numbers


def on_simplex(x: Float[Array, "*batch n"], axis: int = -1) -> Float[Array, "*batch n"]:
    """`x` without rounding errors: at least 0, sum 1."""
    positive = jnp.maximum(x, 0.0)
    return positive / jnp.sum(positive, axis=axis, keepdims=True)


def broadcast_starts(
    payoffs: Sequence[Num[ArrayLike, "..."]], starts: Sequence[Num[ArrayLike, "..."]]
) -> tuple[Array, ...]:
    """`starts` as real numbers, with the batch axes of all games and of each other.

    The last axes of each of `payoffs` are actions: two, or one per player if there are more starts than that.
    """
    actions = max(2, len(starts))
    mixes = [real(start) for start in starts]
    shapes = [jnp.shape(table)[:-actions] for table in payoffs] + [mix.shape[:-1] for mix in mixes]
    batch = jnp.broadcast_shapes(*shapes)
    return tuple(jnp.broadcast_to(mix, (*batch, mix.shape[-1])) for mix in mixes)


def real(numbers: Any) -> Array:
    """An array of floating-point numbers: pure strategies may be written as whole ones."""
    array = jnp.asarray(numbers)
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(jnp.zeros(()).dtype)


def game_and_starts(payoffs: Payoffs, start: Starts) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """One payoff tensor [*games, actions of player 0, actions of player 1, ...] and one start per player."""
    tables, mixes = tuple(real(table) for table in payoffs), tuple(real(mix) for mix in start)
    if len(tables) < 2 or len(tables) != len(mixes):
        raise TheoryError(
            f"{len(tables)} payoff tables and {len(mixes)} starts; one table and one start for each of at "
            "least two players would work."
        )
    actions = tuple(mix.shape[-1] for mix in mixes)
    for player, table in enumerate(tables):
        if table.shape[-len(tables) :] != actions:
            raise TheoryError(
                f"the payoffs of player {player} have shape {table.shape}; last axes {actions}, the numbers "
                "of actions of the starts, would work."
            )
    return tables, broadcast_starts(tables, mixes)


def values_of_actions(
    payoffs: Sequence[Float[Array, "..."]], mixes: Sequence[Float[Array, "*batch _"]]
) -> tuple[Array, ...]:
    """For each player, what each of its actions earns against the others' mixtures."""
    axes = ascii_lowercase[: len(mixes)]

    def values(player: int) -> Array:
        others = [i for i in range(len(mixes)) if i != player]
        inputs = ",".join(["..." + axes, *("..." + axes[i] for i in others)])
        return jnp.einsum(f"{inputs}->...{axes[player]}", payoffs[player], *(mixes[i] for i in others))

    return tuple(map(values, range(len(mixes))))


def runge_kutta(velocity: Callable[[State], State], step_size: Any, state: State, axis: int = -1) -> State:
    """One step of order 4; every leaf of `state` is a batch of points on a simplex along `axis`."""

    def moved(by: Any, along: State) -> State:
        return jax.tree.map(lambda x, k: x + by * k, state, along)

    k1 = velocity(state)
    k2 = velocity(moved(0.5 * step_size, k1))
    k3 = velocity(moved(0.5 * step_size, k2))
    k4 = velocity(moved(step_size, k3))
    return jax.tree.map(
        lambda x, a, b, c, d: on_simplex(x + (step_size / 6.0) * (a + 2.0 * (b + c) + d), axis),
        state, k1, k2, k3, k4,
    )  # fmt: skip


def follow(
    step: Callable[[State], State],
    start: State,
    steps: int,
    keep_every: int,
    seen: Callable[[State], Any] | None = None,
) -> Any:
    """The start and every `keep_every`-th of `steps` states after it, stacked along a new first axis.

    `seen` maps a state to what is kept of it; the state itself if left out.
    """
    if steps < 0 or keep_every < 1 or steps % keep_every:
        raise TheoryError(
            f"steps is {steps} and keep_every {keep_every}; a number of steps that is a multiple of "
            "keep_every (at least 1) would work."
        )

    def view(state: State) -> Any:
        return state if seen is None else seen(state)

    # The start is kept by a round of no steps, so that no second copy of all states is made to prepend it.
    def kept(state: State, count: Array) -> tuple[State, Any]:
        after = jax.lax.fori_loop(0, count, lambda _, x: step(x), state)
        return after, view(after)

    counts = jnp.full(steps // keep_every + 1, keep_every).at[0].set(0)
    return jax.lax.scan(kept, start, counts)[1]
