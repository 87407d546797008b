"""What all teams that talk share: how they are built and act; they learn as any policy gradient does."""

import equinox as eqx
import jax
from jaxtyping import Array, PyTree
from jaxtyping import Key as KeyArray
from jaxtyping import PRNGKeyArray as Key

from comity.agents.on_policy.a2c import A2C
from comity.agents.on_policy.acting import Acting, Extras
from comity.core import spaces
from comity.core.agent import Act, Agent
from comity.core.game import GameSpec, Seat
from comity.learn.critics import Critic
from comity.learn.policies import Policy
from comity.learn.talking import TalkingPolicy, sample_team
from comity.nets.distributions import Categorical
from comity.nets.mlp import MLP
from comity.nets.network import Network
from comity.nets.talk import CommNetTalk, Talk


class TalkingTeam(Agent):
    """Stands before a learner by policy gradient in a class's bases, and lets its seats talk.

    Gradients go through what is said, from one seat to another, since the team shares its parameters.
    """

    network: eqx.AbstractVar[Network]
    talk: eqx.AbstractVar[Talk]

    def check(self, spec: GameSpec, seats: tuple[int, ...]) -> None:
        super().check(spec, seats)  # type: ignore[safe-super]
        for seat in spec.team(seats):
            self.talk.audience.check(spaces.flat_size(seat.observation))

    def build_policy(self, seat: Seat, key: Key) -> Policy:
        """A policy with new weights."""
        return TalkingPolicy(self.network, self.talk, seat, key)

    def act_team(self, params: Acting, carry: PyTree, obs: PyTree, keys: KeyArray[Array, " seat"]) -> Act:
        return act_together(params, carry, obs, keys)

    def most_likely_team(
        self, params: Acting, carry: PyTree, obs: PyTree, keys: KeyArray[Array, " seat"]
    ) -> Act:
        return act_together(params, carry, obs, None)

    def action_probabilities(self, params: Acting, carry: PyTree, obs: PyTree, choices: int) -> Array:
        if self.talk.gated:  # not one choice: the share in many draws
            return Agent.action_probabilities(self, params, carry, obs, choices)
        return super().action_probabilities(params, carry, obs, choices)


def act_together(params: Acting, carry: PyTree, obs: PyTree, keys: KeyArray[Array, " seat"] | None) -> Act:
    """Actions of all seats, leaves [seat, ...]; without keys, those that are most likely."""
    memory, features = params.policy.torso.step(carry[0], obs)
    distribution = params.policy.of(features, obs)
    raw = distribution.mode() if keys is None else sample_team(distribution, keys)
    probabilities: PyTree = ()
    if isinstance(distribution, Categorical):
        probabilities = jax.nn.softmax(distribution.logits)
    critic_memory: PyTree = carry[1]
    value: PyTree = ()
    if params.critic is not None:
        if params.critic.torso is not None:
            critic_memory, features = params.critic.torso.step(carry[1], obs)
        if not params.critic.actions:
            value = params.critic.read(features)[..., 0, :][..., 0]
    extras = Extras(raw, distribution.log_prob(raw), probabilities, value, ())
    action = params.policy.head.shape_action(distribution.action(raw))
    return Act(action, (memory, critic_memory), extras)


class TalkingA2C(TalkingTeam, A2C):
    """A2C for a team that talks, in any of the ways there are."""

    network: Network = MLP(width=64)  # the shape of the policy
    critic: Critic = Critic(network=MLP(width=64))  # what advantages are measured from
    talk: Talk = CommNetTalk()  # how the seats tell each other what they know
