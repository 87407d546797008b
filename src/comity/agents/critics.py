"""Critics that are not part of what acts: what a position is worth to me, to the others, to a team."""

from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.streams import Streams, at_ends, next_values
from comity.core.spaces import Discrete, Space
from comity.core.types import Seat
from comity.nets.layers import Linear
from comity.nets.torsos import Network, Torso

Kind = Literal["value", "action-value", "after-state"]


class Critic(eqx.Module):
    """A value or action values for one or more rewards, from one's own torso or the policy's.

    `rewards` is 1 for one's own reward only, 2 for one's own and that of the others together. `actions`
    is 0 for a critic of states, else the number of actions. A critic of after-states values what follows a
    step before chance has its say: the successor with the numbers that are `drawn` anew hidden. The network
    says values in units of `unit`.
    """

    torso: Torso | None
    head: Linear
    rewards: int = eqx.field(static=True)
    actions: int = eqx.field(static=True)
    drawn: tuple[bool, ...] = eqx.field(static=True)
    unit: float = eqx.field(static=True)

    def __init__(
        self,
        network: Network,
        features: int | None,
        seat: Seat,
        rewards: int,
        kind: Kind,
        key: Key,
        unit: float = 1.0,
    ) -> None:
        torso_key, head_key = jax.random.split(key)
        self.torso = Torso(network, seat.observation, torso_key) if features is None else None
        self.rewards = rewards
        self.actions = choices(seat.action) if kind == "action-value" else 0
        self.drawn = seat.drawn if kind == "after-state" else ()
        self.unit = unit
        width = self.torso.features if features is None and self.torso is not None else features
        assert width is not None
        bias = network.kind != "tabular"
        self.head = Linear(width, rewards * max(self.actions, 1), 0.1, head_key, bias)

    def read(self, features: Float[Array, "... features"]) -> Float[Array, "... rewards actions"]:
        """Values from features, in units of reward; for a critic of states the last axis has length 1."""
        out = self.unit * self.head(features)
        return out.reshape((*out.shape[:-1], self.rewards, max(self.actions, 1)))


class Estimate(NamedTuple):
    """What a critic says along some streams: leaves [time, stream, rewards].

    `chosen` is the value of what was done (the action's, or the state's), `value` that of the state under
    the policy that was played, `next_value` that of the true successor (of a critic of after-states, before
    chance has its say), `next_chosen` the same but with the action that followed where one did. `each` has
    the values of all actions behind them, a last axis of length 1 if the critic is one of states.
    """

    chosen: Float[Array, "time stream rewards"]
    value: Float[Array, "time stream rewards"]
    next_value: Float[Array, "time stream rewards"]
    next_chosen: Float[Array, "time stream rewards"]
    each: Float[Array, "time stream rewards actions"]


def choices(action: Space) -> int:
    """The number of actions of a discrete space."""
    return action.n if isinstance(action, Discrete) else 0


def estimate(critic: Critic, torso: Torso, data: Streams, next_obs: PyTree) -> Estimate:
    """Values along streams. The critic's memory starts empty with the rollout."""
    features, memory = torso.unroll(torso.starts(data.reward.shape[1], data.age), data.obs, data.resets)
    out = critic.read(features)

    def look(part: slice) -> Array:
        at = jax.tree.map(lambda x: x[part], (memory, next_obs))
        return critic.read(torso.step(*at)[1])

    if critic.drawn:
        next_obs = jnp.where(jnp.array(critic.drawn), 0.0, next_obs)
        value, following = out[..., 0], look(slice(None))[..., 0]
        return Estimate(value, value, following, following, out)
    beyond = at_ends(look, data.ended)
    value = _under(critic, out, data.extras)
    chosen = _of_action(critic, out, data.action)
    end_value = _under(critic, beyond, data.successor)
    over = jnp.broadcast_to(data.ended[..., None], value.shape)
    following, then_chosen = (next_values(x, end_value, over) for x in (value, chosen))
    return Estimate(chosen, value, following, then_chosen, out)


def _under(critic: Critic, out: Float[Array, "... rewards actions"], extras: PyTree) -> Array:
    """The value of the state: as it is, or the mean over the actions of the policy that was played."""
    if critic.actions == 0:
        return out[..., 0]
    return (out * extras.probabilities[..., None, :]).sum(axis=-1)


def _of_action(critic: Critic, out: Float[Array, "... rewards actions"], action: PyTree) -> Array:
    if critic.actions == 0:
        return out[..., 0]
    index = jnp.broadcast_to(action[..., None, None], (*out.shape[:-1], 1))
    return jnp.take_along_axis(out, index, axis=-1)[..., 0]
