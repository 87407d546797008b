"""Policies of teams that talk: what a seat does depends on what the others of its team know."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree
from jaxtyping import Key as KeyArray
from jaxtyping import PRNGKeyArray as Key

from comity.core import spaces
from comity.core.game import Seat
from comity.core.spaces import legal
from comity.learn.policies import Policy
from comity.nets.distributions import Categorical, Dependent, Distribution
from comity.nets.heads import PolicyHead
from comity.nets.linear import Linear
from comity.nets.network import Network
from comity.nets.talk import Talk, TalkNet

GATE_SCALE = 0.01


class TalkingPolicy(Policy):
    """A torso, some rounds of talk along the axis of seats, and a head.

    That axis is the first of [seat, ...], while acting, and the second of [time, seat, game, ...], while
    learning. A seat by itself, [...], hears nobody.
    """

    talk: TalkNet
    gate: Linear | None
    settings: Talk = eqx.field(static=True)

    def __init__(self, network: Network, talk: Talk, seat: Seat, key: Key) -> None:
        torso_key, talk_key, head_key, gate_key = jax.random.split(key, 4)
        self.torso = network.build(seat.observation, torso_key)
        self.talk = talk.build(self.torso.features, talk_key)
        self.head = PolicyHead(self.torso.features, seat.action, head_key)
        self.gate = Linear(self.torso.features, 2, GATE_SCALE, gate_key) if talk.gated else None
        self.settings = talk

    def of(self, features: Float[Array, "... feature"], obs: PyTree) -> Distribution:
        if self.gate is None:
            return self.after_talk(features, obs, None)
        return Gated(self, features, obs, Categorical(self.gate(features)))

    def after_talk(
        self, features: Float[Array, "... feature"], obs: PyTree, speaks: Int[Array, "..."] | None
    ) -> Distribution:
        """The distribution of the action, where some seats speak or all."""
        axis = max(features.ndim - 3, 0)  # that of the seats
        flat = spaces.encode(self.torso.observation, obs)
        if features.ndim == 1:
            together, numbers = features[None], flat[None]
        else:
            together, numbers = jnp.moveaxis(features, axis, -2), jnp.moveaxis(flat, axis, -2)
        hears = self.settings.audience.hears(numbers)
        if speaks is not None:
            opened = speaks[None] if features.ndim == 1 else jnp.moveaxis(speaks, axis, -1)
            hears &= (opened > 0)[..., None, :]
        out = self.talk(together, hears)
        own = out[0] if features.ndim == 1 else jnp.moveaxis(out, -2, axis)
        return self.head(own, legal(self.torso.observation, obs))


class Gated(Dependent):
    """Whether each seat speaks, and what each does given who spoke: `raw` is (action, gate).

    Entropy and divergence of the action are those under the most likely gates.
    """

    policy: TalkingPolicy
    features: Float[Array, "... feature"]
    obs: PyTree
    gates: Categorical

    def given(self, speaks: Int[Array, "..."]) -> Distribution:
        """The distribution of the action where these seats speak."""
        return self.policy.after_talk(self.features, self.obs, speaks)

    def sample(self, key: Key) -> tuple[PyTree, Int[Array, "..."]]:
        gate_key, act_key = jax.random.split(key)
        speaks = self.gates.sample(gate_key)
        return self.given(speaks).sample(act_key), speaks

    def mode(self) -> tuple[PyTree, Int[Array, "..."]]:
        """What is most likely: the gates, and then the action."""
        speaks = self.gates.mode()
        return self.given(speaks).mode(), speaks

    def action(self, raw: tuple[PyTree, Int[Array, "..."]]) -> PyTree:
        return self.given(raw[1]).action(raw[0])

    def log_prob(self, raw: tuple[PyTree, Int[Array, "..."]]) -> Float[Array, "..."]:
        return self.gates.log_prob(raw[1]) + self.given(raw[1]).log_prob(raw[0])

    def entropy(self) -> Float[Array, "..."]:
        return self.gates.entropy() + self.given(self.gates.mode()).entropy()

    def kl(self, other: "Gated") -> Float[Array, "..."]:
        speaks = self.gates.mode()
        return self.gates.kl(other.gates) + self.given(speaks).kl(other.given(speaks))  # type: ignore[arg-type]


def sample_team(distribution: Distribution, keys: KeyArray[Array, " seat"]) -> PyTree:
    """What every seat does, leaves [seat, ...], each by a key of its own."""
    if isinstance(distribution, Gated):
        split = jax.vmap(jax.random.split)(keys)
        speaks = jax.vmap(lambda own, key: own.sample(key))(distribution.gates, split[:, 0])
        return sample_team(distribution.given(speaks), split[:, 1]), speaks
    return jax.vmap(lambda own, key: own.sample(key))(distribution, keys)
