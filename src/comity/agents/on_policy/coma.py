r"""Counterfactual multi-agent policy gradients (Foerster et al., 2018, arXiv:1705.08926).

.. math:: \nabla J = E\Big[\sum_i \nabla\log\pi_i(u_i|o_i)\, A_i\Big], \quad
          A_i = Q(s, u) - \sum_{a} \pi_i(a|o_i)\, Q(s, (u_{-i}, a))

The critic values, for one seat, each action of its own beside what the rest of the team does; one pass gives
both terms. The baseline leaves the others' actions as they were, so the advantage is what the seat's own
action changed; its mean under the seat's own policy is 0. Targets are those of SARSA(:math:`\lambda`), by a
slow copy.
"""

from jaxtyping import Array

from comity.agents.on_policy.joint_actions import CENTRAL, JointActionAgent
from comity.core.batch import TeamBatch
from comity.learn.critic_values import CriticBatch, CriticValues
from comity.learn.critics import Critic
from comity.learn.views import JointActions
from comity.returns.td import counterfactual_advantage

COUNTERFACTUAL = Critic(
    network=CENTRAL, view=JointActions(), kind="action-value", learning_rate=1e-3, value_coef=1.0,
    td_lambda=0.8, target_tau=0.05,
)  # fmt: skip


class COMA(JointActionAgent):
    """A team that learns from what each seat's own action changed, the others' left as they were."""

    critic: Critic = COUNTERFACTUAL  # what advantages are measured from

    def own_advantages(self, values: CriticValues, read: CriticBatch, batch: TeamBatch) -> Array:
        each = values.each[..., 0, :]
        advantage = counterfactual_advantage(each, batch.extras.probabilities, batch.action)
        return self.normalised(advantage, batch.decides)
