"""From a joint trajectory to what one learner trains on: the streams of its seats, side by side."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import require
from comity.core.types import Trajectory
from comity.returns.advantages import gae


class Streams(NamedTuple):
    """Leaves [time, stream, ...]; a stream is one seat in one game of the batch.

    - `terminated`: the game ended, or the seat left: the future is worth nothing.
    - `ended`: the stream's episode ended for whatever reason.
    - `resets`: the memory is cleared before this step.
    - `weight`: 1 where the seat was in the game, else 0.
    - `carry`: the memory before the first step, leaves [stream, ...].
    - `age`: how many steps the episode had lasted before the first step.
    """

    obs: PyTree
    action: PyTree
    extras: PyTree
    reward: Float[Array, "time stream"]
    terminated: Bool[Array, "time stream"]
    ended: Bool[Array, "time stream"]
    resets: Bool[Array, "time stream"]
    weight: Float[Array, "time stream"]
    successor: PyTree
    carry: PyTree
    age: Int[Array, " stream"]


def streams(joint: Trajectory, seats: tuple[int, ...]) -> Streams:
    """The streams of some seats, joined along the batch axis."""
    step = joint.step
    done = step.terminated | step.truncated
    resets = jnp.concatenate([jnp.zeros_like(done[:1]), done[:-1]])
    return Streams(
        obs=join([joint.obs[i] for i in seats]),
        action=join([joint.action[i] for i in seats]),
        extras=join([joint.extras[i] for i in seats]),
        reward=join([step.reward[i] for i in seats]),
        terminated=join([step.terminated | ~step.alive[i] for i in seats]),
        ended=join([done | ~step.alive[i] for i in seats]),
        resets=join([resets for _ in seats]),
        weight=join([joint.alive[i].astype(jnp.float32) for i in seats]),
        successor=join([joint.successor[i] for i in seats]),
        carry=join([joint.carry[i] for i in seats], axis=0),
        age=join([joint.age for _ in seats], axis=0),
    )


def minibatches(key: Key, count: int, epochs: int, parts: int) -> Int[Array, "steps streams"]:
    """Which of `count` streams are in which part of a rollout, for all passes over it one after another."""
    require(count % parts == 0, "minibatches", parts, f"a divisor of {count} sequences")
    orders = jax.vmap(lambda k: jax.random.permutation(k, count))(jax.random.split(key, epochs))
    return orders.reshape(epochs * parts, count // parts)


def of_seats(chosen: Int[Array, " chosen"], streams: int, games: int) -> Int[Array, " more"]:
    """The streams of all seats in some games: streams of one seat after those of another."""
    return (jnp.arange(0, streams, games)[:, None] + chosen[None, :]).reshape(-1)


def pick(chosen: Int[Array, " chosen"], data: Streams, *more: PyTree) -> tuple[Any, ...]:
    """Some of the streams, whole, with their memories, and of trees with leaves [time, stream, ...]."""
    starts = {"carry": data.carry, "age": data.age}
    steps = {name: value for name, value in data._asdict().items() if name not in starts}
    steps, *others = jax.tree.map(lambda x: jnp.take(x, chosen, axis=1), (steps, *more))
    starts = jax.tree.map(lambda x: jnp.take(x, chosen, axis=0), starts)
    return (Streams(**steps, **starts), *others)


def join(parts: list[PyTree], axis: int = 1) -> PyTree:
    """Trees of equal structure as one, leaf by leaf along an axis: that of the streams, time being first."""
    if len(parts) == 1:
        return parts[0]
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves, axis=axis), *parts)


def next_values(
    value: Float[Array, "time stream *rest"],
    successor_value: Float[Array, "time stream *rest"],
    ended: Bool[Array, "time stream *#rest"],
) -> Float[Array, "time stream *rest"]:
    """The value of each step's true successor: the next step's, or that of the look at the end."""
    following = jnp.concatenate([value[1:], successor_value[-1:]])
    return jnp.where(ended, successor_value, following)


def at_ends(look: Callable[[slice], Array], ended: Bool[Array, "time stream"]) -> Array:
    """What a look at the true successors says, where it matters: at ends of episodes and of the rollout.

    `look` takes the steps to look after; elsewhere the answer is 0. Most rollouts need the last step only.
    """
    last = look(slice(-1, None))
    shape = (ended.shape[0] - 1, *last.shape[1:])
    earlier = jax.lax.cond(
        jnp.any(ended[:-1]), lambda: look(slice(0, -1)), lambda: jnp.zeros(shape, last.dtype)
    )
    return jnp.concatenate([earlier, last])


def advantages(
    data: Streams,
    value: Float[Array, "time stream"],
    next_value: Float[Array, "time stream"],
    discount: float,
    trace: float,
) -> Float[Array, "time stream"]:
    """Generalised advantages of each stream, from its rewards and given values."""
    estimate = jax.vmap(partial(gae, discount=discount, trace=trace), in_axes=1, out_axes=1)
    return estimate(data.reward, value, next_value, data.terminated, data.ended)
