r"""Joint-action learners (Claus and Boutilier, 1998).

.. math:: Q_i(s, a, b) \leftarrow G_t, \qquad
          EV_i(s, a) = \sum_b Q_i(s, a, b) \prod_{j \ne i} \hat\pi_j(b_j | o_i)

A seat learns what *joint* actions are worth to it, and beside it what the others usually do where it sees
what it sees: the empirical policies :math:`\hat\pi_j`, by maximum likelihood (with a table: frequencies, of
which recent ones count most). It acts greedily on the mean over these. Unlike an independent learner it does
not take the others' exploration for chance; unlike a team learner it takes their policies as they are.

Values are learned as PQN does, from the last rollout: beliefs are about what the others do now.
"""

import math
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array
from jaxtyping import PRNGKeyArray as Key

from comity.agents.off_policy.base import ValueNets
from comity.agents.off_policy.rollout_values import RolloutValueAgent
from comity.core.batch import TeamBatch
from comity.core.errors import ComityError, require
from comity.core.game import GameSpec
from comity.core.spaces import Discrete, describe
from comity.learn.joint_q import JointQNet, choices, others_actions
from comity.learn.sequences import Streams, seat_streams
from comity.returns.surrogates import weighted_mean

MOST_JOINT_ACTIONS = 100_000  # of a seat and all others: each has a number of its own


class JAL(RolloutValueAgent):
    """Learns values of joint actions and what the others usually do, and answers that."""

    belief_coef: float = 1.0  # weight of learning what the others do

    tunable: ClassVar[tuple[str, ...]] = (*RolloutValueAgent.tunable, "belief_coef")
    reads_others: ClassVar[bool] = True

    def __check_init__(self) -> None:
        require(self.belief_coef > 0, "belief_coef", self.belief_coef, "above 0")

    def check(self, spec: GameSpec, seats: tuple[int, ...]) -> None:
        super().check(spec, seats)
        for seat in spec.seats:
            if not isinstance(seat.action, Discrete):
                raise ComityError(
                    f"JAL learns what the others choose, and {seat.name} does {describe(seat.action)}: "
                    f"use pqn."
                )
        joint = math.prod(choices(seat) for seat in spec.seats)
        if joint > MOST_JOINT_ACTIONS:
            raise ComityError(
                f"JAL values each of this game's {joint:,} joint actions, and more than "
                f"{MOST_JOINT_ACTIONS:,} are too many: use pqn."
            )

    def build(self, key: Key, spec: GameSpec, seats: tuple[int, ...]) -> ValueNets:
        seat, *others = (spec.seats[i] for i in spec.order(seats[0], seats))
        return ValueNets(JointQNet(self.network, seat, tuple(others), self.duelling, key), None)

    def streams(self, batch: TeamBatch) -> Streams:
        return seat_streams(batch)

    def state_values(self, nets: ValueNets, batch: TeamBatch) -> tuple[Array, Array]:
        now, following = nets.q.along_with_next(batch)
        value = jnp.where(batch.alive, now.max(axis=-1), 0.0)
        return value, jnp.where(batch.terminated, 0.0, following.max(axis=-1))

    def learned(self, nets: ValueNets, batch: TeamBatch) -> tuple[Array, Array]:
        assert isinstance(nets.q, JointQNet)
        said, others = nets.q.said(nets.q.features(batch)[0]), others_actions(batch)
        value = jnp.where(batch.alive, said.of(batch.action, others), 0.0)
        return value, self.belief_coef * weighted_mean(said.surprise(others), batch.weight)
