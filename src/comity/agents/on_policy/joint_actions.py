"""What policy gradients with a critic of the team's joint action share."""

from typing import Literal

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray as Key

from comity.agents.on_policy.a2c import one_step
from comity.agents.on_policy.base import LearnerState, PolicyGradientAgent, Shape, refuse_minibatches
from comity.core.agent import Context, Metrics
from comity.core.batch import TeamBatch
from comity.core.errors import ComityError, require
from comity.core.game import GameSpec
from comity.core.spaces import Discrete, describe
from comity.learn.critic_values import CriticBatch
from comity.learn.sequences import team_streams
from comity.learn.views import JointActions
from comity.nets.mlp import MLP
from comity.nets.network import Network

CENTRAL = MLP(width=64, depth=2)


class JointActionAgent(PolicyGradientAgent):
    """Follows the value of joint actions, which a central critic learns; only training is central."""

    network: Network = CENTRAL  # the shape of the policy
    discount: float = 0.99  # what the next step's reward counts
    paid: Literal["team", "own"] = "team"
    """what a seat is paid: the mean of the team's rewards, or its own"""

    def __check_init__(self) -> None:
        refuse_minibatches(self.normalise_advantages)
        kind, view = self.critic.kind, self.critic.view
        require(kind == "action-value", "critic.kind", kind, "action-value here")
        allowed = "joint-actions here"
        require(isinstance(view, JointActions), "critic.view", type(view).__name__.lower(), allowed)

    def check(self, spec: GameSpec, seats: tuple[int, ...]) -> None:
        for seat in spec.team(seats):
            if not isinstance(seat.action, Discrete):
                raise ComityError(
                    f"{type(self).__name__} values each of several choices, and {seat.name} does "
                    f"{describe(seat.action)}: use mappo."
                )
        super().check(spec, seats)

    def critic_batch(self, state: LearnerState, batch: TeamBatch) -> CriticBatch:
        read = self.critic.batch(batch, None)
        if self.paid == "own":
            return read
        team, shape = team_streams(batch), batch.reward.shape
        reward, terminated, ended, _, weight = (jnp.broadcast_to(x, shape) for x in team)
        return read._replace(reward=reward[..., None], terminated=terminated, ended=ended, weight=weight)

    def learn(
        self,
        state: LearnerState,
        batch: TeamBatch,
        read: CriticBatch,
        shape: Shape,
        context: Context,
        key: Key,
    ) -> tuple[LearnerState, Metrics]:
        return one_step(self, state, batch, read, shape, context)
