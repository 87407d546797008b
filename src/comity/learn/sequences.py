"""Sequences of a replay: the memory that they begin with, burn-in, and the streams that values learn from."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from comity.core.batch import SEAT_FIELDS, TeamBatch
from comity.core.tunable import Number
from comity.learn.advantages import over_team
from comity.nets.torso import Torso
from comity.returns.advantages import lambda_returns
from comity.returns.td import n_step_returns


def first_carry(torso: Torso, batch: TeamBatch) -> PyTree:
    """The memory before a batch: as it was played or burned in, or an empty one where a replay kept none."""
    if not isinstance(batch.carry, tuple) or len(batch.carry) > 0:
        return batch.carry
    shape = batch.reward.shape[1:]
    return torso.initial_carries(shape, jnp.broadcast_to(batch.age, shape))


def after_burn_in(torso: Torso, batch: TeamBatch, steps: int) -> TeamBatch:
    """The batch without its first steps, which fill the torso's memory and take no gradient."""
    if steps == 0:
        return batch
    head, tail = _part(batch, slice(0, steps)), _part(batch, slice(steps, None))
    _, after = torso.unroll(first_carry(torso, head), head.obs, head.resets)
    carry = jax.lax.stop_gradient(jax.tree.map(lambda x: x[-1], after))
    return tail.replace(carry=carry)


def _part(batch: TeamBatch, part: slice) -> TeamBatch:
    cut: dict[str, Any] = {
        name: jax.tree.map(lambda x: x[part], getattr(batch, name))
        for name in (*SEAT_FIELDS, "state", "next_state")
    }
    return batch.replace(**cut)


class Streams(NamedTuple):
    """Rewards and ends that values learn from, leaves [time, stream, game].

    A stream is a seat, or a whole team where its seats are valued together.
    """

    reward: Float[Array, "time stream game"]
    terminated: Bool[Array, "time stream game"]
    ended: Bool[Array, "time stream game"]
    next_acts: Bool[Array, "time stream game"]
    weight: Float[Array, "time stream game"]

    def n_step(self, next_value: Array, discount: Number, steps: int) -> Float[Array, "time stream game"]:
        """Returns of so many steps, with the value of what follows; waiting is not discounted."""
        returns: Array = over_team(partial(_n_steps, steps))(
            self.reward, next_value, self.terminated, self.ended, self._discounts(discount)
        )
        return returns

    def td_lambda(
        self, value: Array, next_value: Array, discount: Number, td_lambda: Number
    ) -> Float[Array, "time stream game"]:
        """Lambda-returns from the values of states and of their true successors."""
        lambdas = jnp.where(self.next_acts, jnp.float32(td_lambda), 1.0)
        returns: Array = over_team(lambda_returns)(
            self.reward, value, next_value, self.terminated, self.ended, self._discounts(discount), lambdas
        )
        return returns

    def _discounts(self, discount: Number) -> Float[Array, "time stream game"]:
        return jnp.where(self.next_acts, jnp.float32(discount), 1.0)


def _n_steps(steps: int, *stream: Array) -> Array:
    reward, value, terminated, ended, discount = stream
    return n_step_returns(reward, value, terminated, ended, discount, steps)


def seat_streams(batch: TeamBatch) -> Streams:
    """Each seat by itself."""
    return Streams(batch.reward, batch.terminated, batch.ended, batch.next_acts, batch.weight)


def team_streams(batch: TeamBatch) -> Streams:
    """The team as one: it is paid the mean of what its seats are paid, as long as one of them is there."""
    weight = batch.weight
    present = jnp.maximum(weight.sum(axis=1, keepdims=True), 1.0)
    return Streams(
        reward=(weight * batch.reward).sum(axis=1, keepdims=True) / present,
        terminated=batch.terminated.all(axis=1, keepdims=True),
        ended=batch.ended.all(axis=1, keepdims=True),
        next_acts=batch.next_acts.any(axis=1, keepdims=True),
        weight=weight.max(axis=1, keepdims=True),
    )
