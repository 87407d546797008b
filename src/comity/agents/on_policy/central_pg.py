r"""The centralised policy gradient in its plain form (Lowe et al., 2017, arXiv:1706.02275, section 4.1).

.. math:: \nabla_{\theta_i} J_i = E\big[\nabla\log\pi_i(a_i|o_i)\, Q_i(s, a_1, ..., a_n)\big], \qquad
          Q_i(s, a) \leftarrow r_i + \gamma \bar Q_i(s', a'), \quad a'_j \sim \pi_j(o'_j)

A critic that sees everything values the joint action; each seat climbs it by its own observation. It is
unbiased like COMA, whose baseline takes out what the seat's own action does not change, and noisier by that.
"""

from jaxtyping import Array

from comity.agents.on_policy.joint_actions import CENTRAL, JointActionAgent
from comity.core.batch import TeamBatch
from comity.learn.critic_values import CriticBatch, CriticValues
from comity.learn.critics import Critic
from comity.learn.views import JointActions

ONE_STEP = Critic(
    network=CENTRAL, view=JointActions(), kind="action-value", learning_rate=1e-3, value_coef=1.0,
    td_lambda=0.0, target_tau=0.05,
)  # fmt: skip


class CentralPolicyGradient(JointActionAgent):
    """A team whose seats each climb the value of the joint action."""

    critic: Critic = ONE_STEP  # what advantages are measured from

    def own_advantages(self, values: CriticValues, read: CriticBatch, batch: TeamBatch) -> Array:
        return self.normalised(values.chosen[..., 0], batch.decides)
