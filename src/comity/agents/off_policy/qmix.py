r"""QMIX (Rashid et al., 2018, arXiv:1803.11485).

.. math:: Q_{tot}(s, a) = f_s(Q_1, ..., Q_n) \leftarrow r + \gamma \bar Q_{tot}(s', \arg\max Q'), \quad
          \partial f_s / \partial Q_i \ge 0

The weights of the mixer :math:`f_s` come from hypernetworks of the game's state. The team is paid the mean of
what its seats are paid; where the payoff is common, that is the payoff.
"""

import equinox as eqx
from jaxtyping import PRNGKeyArray as Key

from comity.agents.off_policy.team import StateMixingAgent, team_sizes
from comity.core.errors import require
from comity.core.game import GameSpec
from comity.nets.mixers import MonotonicMixer


class Mixing(eqx.Module):
    """The shape of a mixer that reads the game's state."""

    width: int = 32  # hidden units of the mixer, or heads of its weights
    hyper_width: int = 64  # hidden units of the networks that make its weights

    def __check_init__(self) -> None:
        for name in ("width", "hyper_width"):
            require(getattr(self, name) >= 1, f"mixing.{name}", getattr(self, name), "at least 1")


class QMIX(StateMixingAgent):
    """A team whose joint value rises with each seat's own, in a way that depends on the state."""

    mixing: Mixing = Mixing()  # the shape of the mixer

    def build_mixer(self, spec: GameSpec, seats: tuple[int, ...], key: Key) -> MonotonicMixer:
        count, numbers, _ = team_sizes(spec, seats)
        return MonotonicMixer(count, numbers, self.mixing.width, self.mixing.hyper_width, key)
