"""A policy network, and the part of an agent that acts with one and nothing else."""

from typing import NamedTuple

import equinox as eqx
import jax
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.spaces import legal
from comity.core.types import Agent, Seat
from comity.nets.distributions import Distribution
from comity.nets.heads import PolicyHead, check_action
from comity.nets.torsos import Network, Torso, refuse_normaliser


class Policy(eqx.Module):
    """A torso and a head."""

    torso: Torso
    head: PolicyHead

    def __init__(self, network: Network, seat: Seat, key: Key) -> None:
        torso_key, head_key = jax.random.split(key)
        self.torso = Torso(network, seat.observation, torso_key)
        self.head = PolicyHead(self.torso.features, seat.action, head_key, network.kind != "tabular")

    def unroll(
        self, carry: PyTree, obs: PyTree, resets: Bool[Array, "time ..."], forward: bool = False
    ) -> Distribution:
        """How the policy acts along a trajectory, time first; `forward` if for forward-mode derivatives."""
        return self.of(self.torso.unroll(carry, obs, resets, forward)[0], obs)

    def step(self, carry: PyTree, obs: PyTree) -> tuple[PyTree, Distribution]:
        """The memory after an observation, and the distribution of the action."""
        carry, features = self.torso.step(carry, obs)
        return carry, self.of(features, obs)

    def of(self, features: Float[Array, "... features"], obs: PyTree) -> Distribution:
        """The distribution of the action, from features of the observation."""
        return self.head(features, legal(self.torso.observation, obs))


class Sample(NamedTuple):
    """What is kept of each act: the sample before any squashing, and its log-probability."""

    raw: PyTree
    log_prob: Float[Array, "..."]


class PolicyAgent(Agent):
    """An agent whose parameters are a policy; subclasses say how it learns."""

    network: eqx.AbstractVar[Network]

    def check(self, seat: Seat) -> None:
        refuse_normaliser(self.network)
        self.network.check(seat.observation)
        check_action(seat.action)

    def start(self, params: Policy) -> PyTree:
        return params.torso.start()

    def act(self, params: Policy, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree, Sample]:
        carry, distribution = params.step(carry, obs)
        raw = distribution.sample(key)
        action = params.head.shape_action(distribution.action(raw))
        return action, carry, Sample(raw, distribution.log_prob(raw))
