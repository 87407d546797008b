r"""Multi-agent TD3 (Ackermann et al., 2019, arXiv:1910.01465): MADDPG with two critics for each seat.

.. math:: Q_{i,k}(x, a) \leftarrow r_i + \gamma \min_j \bar Q_{i,j}(x', \bar\mu(o') + \epsilon)
"""

from comity.agents.off_policy.maddpg import KEEPS_ALL
from comity.agents.off_policy.td3 import TD3
from comity.core.memory import Memory
from comity.learn.q_critics import QCritic
from comity.learn.views import Joint


class MATD3(TD3):
    """TD3 whose critics read what all seats see and do; players act by what they see."""

    critic: QCritic = QCritic(view=Joint(), count=2)  # what its actions are worth
    memory: Memory = KEEPS_ALL  # what it learns from; it must keep what other teams did
    output_coef: float = 1e-3  # weight of the mean square of the actor's outputs: keeps them from saturating
