r"""Value-decomposition networks (Sunehag et al., 2018, arXiv:1706.05296).

.. math:: Q_{tot}(s, a) = \sum_i Q_i(o_i, a_i) \leftarrow r + \gamma \max_{a'} \bar Q_{tot}(s', a')

The team is paid the mean of what its seats are paid; where the payoff is common, that is the payoff.
"""

from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.off_policy.base import ReplayValueAgent, ValueNets
from comity.agents.off_policy.team import joint_value, no_state
from comity.core.batch import TeamBatch
from comity.core.game import GameSpec
from comity.learn.sequences import Streams, team_streams
from comity.nets.mixers import SumMixer


class VDN(ReplayValueAgent):
    """A team whose joint value is the sum of its seats' values. With one seat it is DQN."""

    def build_mixer(self, spec: GameSpec, seats: tuple[int, ...], key: Key) -> SumMixer:
        return SumMixer()

    def streams(self, batch: TeamBatch) -> Streams:
        return team_streams(batch)

    def value(
        self,
        nets: ValueNets,
        q: Float[Array, "time seat game choices"],
        action: Array,
        present: Bool[Array, "time seat game"],
        state: PyTree,
    ) -> Float[Array, "time stream game"]:
        return joint_value(nets, q, action, present, no_state(q))
