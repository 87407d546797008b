"""What learners of a team's joint value share: seats choose by their own values, and learn by a mixer's."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from comity.agents.off_policy.base import ReplayValueAgent, ValueNets
from comity.core.batch import TeamBatch
from comity.core.errors import ComityError
from comity.core.game import GameSpec, as_numbers
from comity.core.memory import Memory
from comity.core.spaces import Discrete
from comity.learn.replay import UniformReplay
from comity.learn.sequences import Streams, team_streams
from comity.nets.mixers import SeatValues
from comity.returns.td import action_value

KEEPS_STATES = UniformReplay(capacity=100_000, batch=128, updates=4, states=True)


def joint_value(
    nets: ValueNets,
    q: Float[Array, "time seat game choices"],
    action: Array,
    present: Bool[Array, "time seat game"],
    state: Float[Array, "time game numbers"],
) -> Float[Array, "time stream game"]:
    """The mixer's value of a joint action; seats that left add nothing."""
    assert nets.mixer is not None
    values = SeatValues(
        chosen=jnp.where(present, action_value(q, action), 0.0),
        best=jnp.where(present, q.max(axis=-1), 0.0),
        action=jax.nn.one_hot(action, q.shape[-1], dtype=jnp.float32),
    )
    return nets.mixer(values, state)[:, None]


def no_state(q: Float[Array, "time seat game choices"]) -> Float[Array, "time game numbers"]:
    """What a mixer gets that does not read the game's state."""
    return jnp.zeros((q.shape[0], q.shape[2], 0), jnp.float32)


class StateMixingAgent(ReplayValueAgent):
    """A team whose mixer reads the game's state: it is used in training only, so players need no centre."""

    memory: Memory = KEEPS_STATES  # what it learns from; it must keep states

    def check(self, spec: GameSpec, seats: tuple[int, ...]) -> None:
        super().check(spec, seats)
        name = type(self).__name__
        if spec.state is None:
            raise ComityError(f"{name}'s mixer needs a game that shows its state: use vdn.")
        if not getattr(self.memory, "states", True):
            raise ComityError(f"{name}'s mixer reads the game's state: set memory.states to true.")

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
        return joint_value(nets, q, action, present, as_numbers(state, axes=2))


def team_sizes(spec: GameSpec, seats: tuple[int, ...]) -> tuple[int, int, int]:
    """How many seats a team has, numbers the game's state, and choices a seat."""
    action = spec.seats[seats[0]].action
    assert isinstance(action, Discrete)
    assert spec.state is not None
    return len(seats), spec.state.shape[0], action.n  # type: ignore[union-attr]
