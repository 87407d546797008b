r"""Multi-agent soft actor-critic: SAC with the critics of MADDPG, and a temperature for each seat.

.. math:: Q_i(x, a) \leftarrow r_i + \gamma (1 - d)
          \big(\min_k \bar Q_{i,k}(x', a') - \alpha_i \log \pi_i(a_i'|o_i')\big)
"""

from comity.agents.off_policy.maddpg import KEEPS_ALL
from comity.agents.off_policy.sac import SAC
from comity.core.memory import Memory
from comity.learn.q_critics import QCritic
from comity.learn.views import Joint


class MASAC(SAC):
    """SAC whose critics read what all seats see and do; players act by what they see."""

    critic: QCritic = QCritic(view=Joint(), count=2)  # what its actions are worth
    memory: Memory = KEEPS_ALL  # what it learns from; it must keep what other teams did
