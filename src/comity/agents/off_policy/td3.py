r"""Twin delayed deep deterministic policy gradient, TD3 (Fujimoto et al., 2018, arXiv:1802.09477).

.. math:: Q_k(s, a) \leftarrow r + \gamma \min_j \bar Q_j(s', \bar\mu(s') + \epsilon), \quad
          \epsilon \sim \mathrm{clip}(N(0, \sigma), -c, c)

Two critics against overestimation, an actor that follows them later, and targets that are smooth in the
action. The noise is scaled by the bounds, and the action kept within them.
"""

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray as Key

from comity.agents.off_policy.deterministic import DeterministicAgent
from comity.core.errors import require
from comity.learn.action_numbers import within_bounds
from comity.learn.actor_net import ActorNet, Drawing, Play, Point, play
from comity.learn.q_critics import QCritic


class TD3(DeterministicAgent):
    """DDPG with two critics, a delayed actor and smoothed targets."""

    critic: QCritic = QCritic(count=2)  # what its actions are worth
    policy_delay: int = 2  # updates of the critics for one of the actor and of the slow copies
    smoothing: float = 0.2  # noise of the next action in targets, in units of half the range
    smoothing_clip: float = 0.5  # largest such noise

    def __check_init__(self) -> None:
        for name in ("smoothing", "smoothing_clip"):
            require(getattr(self, name) >= 0, name, getattr(self, name), "at least 0")

    def next_play(self, actor: ActorNet, drawing: Drawing, key: Key) -> Play:
        found = play(drawing, key, self.choices, self.gumbel_temperature)
        if not isinstance(drawing, Point):
            return found  # choices are drawn, which is smooth enough
        noise = self.smoothing * jax.random.normal(key, found.numbers.shape, jnp.float32)
        limited = jnp.clip(noise, -self.smoothing_clip, self.smoothing_clip)
        return found._replace(numbers=within_bounds(actor.action, found.numbers + limited))
