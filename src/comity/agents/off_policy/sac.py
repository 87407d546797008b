r"""Soft actor-critic (Haarnoja et al., 2018, arXiv:1812.05905).

.. math:: Q(s, a) \leftarrow r + \gamma (1 - d) \big(\min_k \bar Q_k(s', a') - \alpha \log \pi(a'|s')\big),
          \quad J = \mathbb{E}_{a \sim \pi}[\min_k Q_k(s, a) - \alpha \log \pi(a|s)]

The best policy of a state is :math:`\pi(a) \propto \exp(Q(s, a) / \alpha)`; the temperature follows a target
entropy. For choices: Christodoulou, 2019, arXiv:1910.07207.
"""

from typing import ClassVar

from jaxtyping import PRNGKeyArray as Key

from comity.agents.off_policy.actors import ReplayActorAgent
from comity.learn.actor_net import ActorNet, Drawing, Kind, Play, play
from comity.learn.q_critics import QCritic
from comity.learn.temperature import Temperature


class SAC(ReplayActorAgent):
    """An actor with a spread that depends on what is seen, paid for entropy; two critics."""

    critic: QCritic = QCritic(count=2)  # what its actions are worth
    temperature: Temperature = Temperature()  # what entropy is worth

    kind: ClassVar[Kind] = "squashed"
    slow: ClassVar[bool] = False
    pessimistic: ClassVar[bool] = True

    @property
    def entropy(self) -> Temperature:
        return self.temperature

    def next_play(self, actor: ActorNet, drawing: Drawing, key: Key) -> Play:
        return play(drawing, key, self.choices, self.gumbel_temperature)
