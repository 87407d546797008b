r"""Deep deterministic policy gradient (Lillicrap et al., 2016, arXiv:1509.02971).

.. math:: Q(s, a) \leftarrow r + \gamma \bar Q(s', \bar\mu(s')), \qquad
          \nabla_\theta J = \mathbb{E}[\nabla_a Q(s, a)|_{a = \mu_\theta(s)} \nabla_\theta \mu_\theta(s)]
"""

from jaxtyping import PRNGKeyArray as Key

from comity.agents.off_policy.deterministic import DeterministicAgent
from comity.learn.actor_net import ActorNet, Drawing, Play, play


class DDPG(DeterministicAgent):
    """A deterministic actor that climbs its critic's values."""

    def next_play(self, actor: ActorNet, drawing: Drawing, key: Key) -> Play:
        return play(drawing, key, self.choices, self.gumbel_temperature)
