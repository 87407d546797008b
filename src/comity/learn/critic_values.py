"""What a critic says along what was played, and what it learns from."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from comity.core.shards import take_games
from comity.learn.critic_net import CriticNet
from comity.nets.torso import Torso, TorsoCarry


class CriticBatch(NamedTuple):
    """What a critic reads and learns from: leaves [time, seat, game, ...], `carry` without time.

    - `inputs`, `next_inputs`: what it sees; their axis of seats has length 1 if all seats see the same.
    - `carry`: its memory before the first step; None if it begins empty with the rollout.
    - `reward`: one's own, or one's own and that of the others together, on the last axis.
    - `weight`: 1 where the seat was in the game, else 0.
    - `next_acts`: in turn-based games, whether the seat decides in the step after; else None.
    - `action`, `probabilities`, `bootstrap_probabilities`: for critics of actions, what was done and how the
      policy that played would act, in each step and in its true successor.
    """

    inputs: PyTree
    next_inputs: PyTree
    carry: PyTree
    reward: Float[Array, "time seat game outputs"]
    terminated: Bool[Array, "time seat game"]
    ended: Bool[Array, "time seat game"]
    resets: Bool[Array, "time seat game"]
    weight: Float[Array, "time seat game"]
    next_acts: Bool[Array, "time seat game"] | None
    age: Int[Array, " game"]
    action: PyTree = ()
    probabilities: PyTree = ()
    bootstrap_probabilities: PyTree = ()

    def take(self, games: Int[Array, " chosen"]) -> "CriticBatch":
        """Some of the games, whole sequences with all seats."""
        starts = {"carry": self.carry, "age": self.age}
        steps = {name: value for name, value in self._asdict().items() if name not in starts}
        steps = jax.tree.map(lambda x: take_games(x, games, 2), steps)
        carry = jax.tree.map(lambda x: take_games(x, games, 1), self.carry)
        return CriticBatch(**steps, carry=carry, age=take_games(self.age, games, 0))


class CriticValues(NamedTuple):
    """What a critic says: leaves [time, seat, game, outputs], in units of reward.

    `chosen` is the value of what was done (the action's, or the state's), `value` that of the state under
    the policy that was played, `next_value` that of the true successor (of a critic of afterstates, before
    chance draws), `next_chosen` the same but with the action that followed where one did. `each` has the
    values of all actions behind them, a last axis of length 1 if the critic is one of states.
    """

    chosen: Float[Array, "time seat game outputs"]
    value: Float[Array, "time seat game outputs"]
    next_value: Float[Array, "time seat game outputs"]
    next_chosen: Float[Array, "time seat game outputs"]
    each: Float[Array, "time seat game outputs actions"]

    def of_seats(self, places: tuple[int, ...]) -> "CriticValues":
        """The values of some places along the axis of seats."""
        return jax.tree.map(lambda x: x[:, jnp.asarray(places)], self)


def critic_values(
    net: CriticNet,
    torso: Torso,
    batch: CriticBatch,
    unrolled: tuple[Array, TorsoCarry] | None = None,
) -> CriticValues:
    """What a critic, on a torso of its own or the policy's, says along a batch.

    `unrolled` are the torso's features and memories along the batch, if they are known already.
    """
    seats = jax.tree.leaves(batch.inputs)[0].shape[1]
    games = batch.reward.shape[2]
    if unrolled is None:
        carry = batch.carry
        if carry is None:
            age = jnp.broadcast_to(batch.age, (seats, games))
            carry = torso.initial_carries((seats, games), age)
        unrolled = torso.unroll(carry, batch.inputs, batch.resets[:, :seats])
    features, memory = unrolled

    def for_all(x: Array) -> Array:
        """One value of a team as that of each of its seats."""
        return jnp.broadcast_to(x, (x.shape[0], batch.reward.shape[1], *x.shape[2:]))

    out = for_all(net.read(features))
    next_inputs = batch.next_inputs

    def bootstrap(part: slice) -> Array:
        at = jax.tree.map(lambda x: x[part], (memory, next_inputs))
        return for_all(net.read(torso.step(*at)[1]))

    if net.resampled:
        next_inputs = jnp.where(jnp.array(net.resampled), 0.0, next_inputs)
        value, following = out[..., 0], bootstrap(slice(None))[..., 0]
        return CriticValues(value, value, following, following, out)
    beyond = _at_ends(bootstrap, batch.ended)
    value = net.mean_over_actions(out, batch.probabilities)
    chosen = net.of_action(out, batch.action)
    end_value = net.mean_over_actions(beyond, batch.bootstrap_probabilities)
    following, then_chosen = (next_values(x, end_value, batch.ended) for x in (value, chosen))
    return CriticValues(chosen, value, following, then_chosen, out)


def recorded_values(
    value: Float[Array, "time seat game"],
    bootstrap: Float[Array, "time seat game"],
    ended: Bool[Array, "time seat game"],
) -> CriticValues:
    """Values of states that were recorded while playing, with those of an act at each true successor."""
    value, bootstrap = value[..., None], bootstrap[..., None]
    following = next_values(value, bootstrap, ended)
    return CriticValues(value, value, following, following, value[..., None])


def next_values(
    value: Float[Array, "time seat game outputs"],
    bootstrap: Float[Array, "time seat game outputs"],
    ended: Bool[Array, "time seat game"],
) -> Float[Array, "time seat game outputs"]:
    """The value of each step's true successor: the next step's, or the bootstrap value at an end."""
    following = jnp.concatenate([value[1:], bootstrap[-1:]])
    return jnp.where(jnp.broadcast_to(ended[..., None], value.shape), bootstrap, following)


def _at_ends(bootstrap: Callable[[slice], Array], ended: Bool[Array, "time seat game"]) -> Array:
    """Bootstrap values where they matter: at ends of episodes and of the rollout; elsewhere 0.

    `bootstrap` takes the steps whose successors are valued. Most rollouts need the last step only.
    """
    last = bootstrap(slice(-1, None))
    shape = (ended.shape[0] - 1, *last.shape[1:])
    earlier = jax.lax.cond(
        jnp.any(ended[:-1]), lambda: bootstrap(slice(0, -1)), lambda: jnp.zeros(shape, last.dtype)
    )
    return jnp.concatenate([earlier, last])
