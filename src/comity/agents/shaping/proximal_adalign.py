r"""Proximal Advantage Alignment (Duque et al., 2024, equations 9 and 10).

.. math:: \max_\theta E\big[\min(\rho_t A^*_t, \mathrm{clip}(\rho_t, 1-\epsilon, 1+\epsilon)A^*_t)\big],\qquad
          A^*_t = A^1_t + \beta\gamma\Big(\sum_{k<t}\gamma^{t-k}A^1_k\Big)A^2_t

with :math:`\rho_t = \pi_\theta(a_t|s_t) / \pi_{old}(a_t|s_t)`: PPO with the aligned advantage.
"""

from typing import ClassVar

from comity.agents.on_policy.ppo import PPO
from comity.agents.shaping.adalign import Alignment
from comity.agents.shaping.base import ShapingAgent
from comity.agents.shaping.opponent_values import OpponentValues, OwnView
from comity.learn.critics import Critic
from comity.learn.optimisers import Adam
from comity.learn.schedules import Decay

LEARNER = PPO(
    critic=Critic(learning_rate=1e-2, value_coef=1.0, td_lambda=0.9, loss="huber"),
    optimiser=Adam(epsilon=1e-6),
    schedule=Decay(decay_from=0.5, max_std=1.0),
    entropy_coef=0.1,
    normalise_advantages="scale",
    minibatches=1,
)


class ProximalAdvantageAlignment(ShapingAgent):
    """Several passes over each rollout with the aligned advantage, the change of the policy kept small."""

    learner: PPO = LEARNER  # PPO
    term: Alignment = Alignment()  # what is added to its advantages
    opponent_values: OpponentValues = OwnView()  # where the others' values come from

    spreads: ClassVar[bool] = True
