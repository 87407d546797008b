r"""Parallelised Q-learning (Gallici et al., 2025, arXiv:2407.04811): no replay and no slow copy.

.. math:: Q(s_t, a_t) \leftarrow G_t = r_t
          + \gamma\big((1-\lambda) \max_a Q(s_{t+1}, a) + \lambda G_{t+1}\big)

Many games side by side stand in for the replay, and normalised layers for the slow copy. Each rollout is
learned from in a few passes over parts of it.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.off_policy.base import ValueNets
from comity.agents.off_policy.rollout_values import RolloutValueAgent
from comity.agents.off_policy.team import joint_value, no_state
from comity.core.batch import TeamBatch
from comity.core.game import GameSpec
from comity.learn.sequences import Streams, seat_streams, team_streams
from comity.nets.mixers import SumMixer
from comity.returns.td import action_value


class PQN(RolloutValueAgent):
    """Learns action values from the last rollout of many games, each seat by itself."""

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
        """The value of each seat's action, or of the team's joint action."""
        return jnp.where(present, action_value(q, action), 0.0)

    def state_values(self, nets: ValueNets, batch: TeamBatch) -> tuple[Array, Array]:
        now, following = nets.q.along_with_next(batch)
        return (
            self.value(nets, now, jnp.argmax(now, axis=-1), batch.alive, batch.state),
            self.value(nets, following, jnp.argmax(following, axis=-1), ~batch.terminated, batch.next_state),
        )

    def learned(self, nets: ValueNets, batch: TeamBatch) -> tuple[Array, Array]:
        q = nets.q.along(batch)
        return self.value(nets, q, batch.action, batch.alive, batch.state), jnp.float32(0.0)


class PQNVDN(PQN):
    """PQN for a team whose joint value is the sum of its seats' values, paid the mean of their rewards."""

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
