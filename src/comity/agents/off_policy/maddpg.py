r"""Multi-agent DDPG (Lowe et al., 2017, arXiv:1706.02275): critics see and read what all seats do.

.. math:: Q_i(x, a_1, ..., a_n) \leftarrow r_i + \gamma \bar Q_i(x', \bar\mu_1(o_1'), ..., \bar\mu_n(o_n'))

Each seat climbs :math:`Q_i(x, a_1, ..., \mu_i(o_i), ..., a_n)` with the others' actions as they were. With
`critic.view team` there is one critic of the team's mean reward, which all its seats climb together.
"""

from comity.agents.off_policy.ddpg import DDPG
from comity.core.memory import Memory
from comity.learn.q_critics import QCritic
from comity.learn.replay import UniformReplay
from comity.learn.views import Joint

CENTRAL = QCritic(view=Joint())
KEEPS_ALL = UniformReplay(capacity=100_000, batch=256, joint=True)


class MADDPG(DDPG):
    """DDPG whose critics read what all seats see and do; players act by what they see."""

    critic: QCritic = CENTRAL  # what its actions are worth
    memory: Memory = KEEPS_ALL  # what it learns from; it must keep what other teams did
    output_coef: float = 1e-3  # weight of the mean square of the actor's outputs: keeps them from saturating
