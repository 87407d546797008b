r"""QPLEX (Wang et al., 2021, arXiv:2008.01062): duplex duelling.

It represents every joint value that greedy seats can act by, and those only.

.. math:: Q_{tot}(s, a) = \sum_i V_i'(s) + \sum_i \lambda_i(s, a) A_i'(s, a_i), \quad A_i' \le 0 < \lambda_i

The team is paid the mean of what its seats are paid; where the payoff is common, that is the payoff.
"""

from jaxtyping import PRNGKeyArray as Key

from comity.agents.off_policy.qmix import Mixing
from comity.agents.off_policy.team import StateMixingAgent, team_sizes
from comity.core.game import GameSpec
from comity.nets.mixers import DuplexMixer


class QPLEX(StateMixingAgent):
    """A team whose joint value is a duelling of its seats' values, weighted by the joint action."""

    mixing: Mixing = Mixing(width=8)  # the shape of the mixer

    def build_mixer(self, spec: GameSpec, seats: tuple[int, ...], key: Key) -> DuplexMixer:
        count, numbers, choices = team_sizes(spec, seats)
        return DuplexMixer(count, numbers, choices, self.mixing.width, self.mixing.hyper_width, key)
