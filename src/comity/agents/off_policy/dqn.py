r"""Deep Q-learning (Mnih et al., 2015), double (van Hasselt et al., 2016, arXiv:1509.06461).

.. math:: Q(s, a) \leftarrow r + \gamma \bar Q(s', \arg\max_{a'} Q(s', a'))

With several seats it is independent Q-learning (Tan, 1993): each seat learns what its own actions are worth,
as if the others were part of the world.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from comity.agents.off_policy.base import ReplayValueAgent, ValueNets
from comity.core.batch import TeamBatch
from comity.learn.sequences import Streams, seat_streams
from comity.returns.td import action_value


class DQN(ReplayValueAgent):
    """Learns the values of its own actions from a replay, by its own reward."""

    def streams(self, batch: TeamBatch) -> Streams:
        return seat_streams(batch)

    def value(
        self,
        nets: ValueNets,
        q: Float[Array, "time seat game choices"],
        action: Array,
        present: Bool[Array, "time seat game"],
        state: PyTree,
    ) -> Float[Array, "time stream game"]:
        return jnp.where(present, action_value(q, action), 0.0)


class IQL(DQN):
    """DQN for each seat of a team by itself; seats of one team share what they learn."""
