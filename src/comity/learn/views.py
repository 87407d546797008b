"""What a critic sees: its own seat, all seats, the team as one, the game's state, or joint actions."""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from comity.core.batch import TeamBatch, stack_seats
from comity.core.errors import ComityError
from comity.core.game import GameSpec, PerSeat, as_numbers, seat_order
from comity.core.registry import Registry, Row
from comity.core.spaces import Discrete, Space

VIEWS = Registry(
    "view",
    {
        "own": Row("comity.learn.views:Own", "what the seat itself sees"),
        "joint": Row("comity.learn.views:Joint", "what all seats see, one's own first"),
        "team": Row("comity.learn.views:Team", "what all seats see, once for all seats of the team"),
        "state": Row("comity.learn.views:State", "what the seat sees, and the game's state"),
        "joint-actions": Row(
            "comity.learn.views:JointActions", "what all seats see, and what the rest of the team does"
        ),
    },
    group="comity.views",
)


class View(eqx.Module):
    """What a critic reads of a batch: leaves [time, seat, game, ...].

    The axis of seats may have length 1: then the view, and the value that is read from it, is the same for
    all seats of the team and is computed once.
    """

    options: ClassVar[Registry] = VIEWS
    acts_along: ClassVar[bool] = False  # whether a seat sees it while it acts, so that a memory can follow

    @abstractmethod
    def space(self, spec: GameSpec, seats: tuple[int, ...]) -> Space:
        """What is seen."""

    @abstractmethod
    def read(self, batch: TeamBatch) -> PyTree:
        """What is seen before each step."""

    @abstractmethod
    def read_next(self, batch: TeamBatch) -> PyTree:
        """What is seen after each step: of the true successor."""


class Own(View):
    """What the seat itself sees."""

    acts_along: ClassVar[bool] = True

    def space(self, spec: GameSpec, seats: tuple[int, ...]) -> Space:
        return spec.seats[seats[0]].observation

    def read(self, batch: TeamBatch) -> PyTree:
        return batch.obs

    def read_next(self, batch: TeamBatch) -> PyTree:
        return batch.next_obs


class Joint(View):
    """What all seats see: one's own view first, then those of the team, then the others'."""

    def space(self, spec: GameSpec, seats: tuple[int, ...]) -> Space:
        return _joint_space(spec, seats)

    def read(self, batch: TeamBatch) -> PyTree:
        return _joint_view(batch.joint.obs, batch.seats, batch.seats)

    def read_next(self, batch: TeamBatch) -> PyTree:
        return _joint_view(batch.joint.step.obs, batch.seats, batch.seats)


class Team(View):
    """What all seats see, once for all seats of the team: much faster, for teams that are paid alike."""

    def space(self, spec: GameSpec, seats: tuple[int, ...]) -> Space:
        return _joint_space(spec, seats)

    def read(self, batch: TeamBatch) -> PyTree:
        return _joint_view(batch.joint.obs, batch.seats[:1], batch.seats)

    def read_next(self, batch: TeamBatch) -> PyTree:
        return _joint_view(batch.joint.step.obs, batch.seats[:1], batch.seats)


class State(View):
    """What the seat itself sees, and the game's state as numbers."""

    def space(self, spec: GameSpec, seats: tuple[int, ...]) -> Space:
        if spec.state is None:
            raise ComityError("critic.view state needs a game that shows its state: use joint.")
        return (spec.seats[seats[0]].observation, spec.state)

    def read(self, batch: TeamBatch) -> PyTree:
        return batch.obs, _beside_seats(batch.state, batch)

    def read_next(self, batch: TeamBatch) -> PyTree:
        return batch.next_obs, _beside_seats(batch.next_state, batch)


class JointActions(View):
    """What all seats see, one's own first, and what the other seats of the team do in this step.

    With a critic of actions it is the value of the team's joint action, for each action of one's own. What
    seats of other teams do is part of the world.
    """

    def space(self, spec: GameSpec, seats: tuple[int, ...]) -> Space:
        if not all(isinstance(seat.action, Discrete) for seat in spec.team(seats)):
            raise ComityError("critic.view joint-actions needs discrete actions: use joint.")
        seen = tuple(spec.seats[i].observation for i in spec.order(seats[0], seats))
        return seen + tuple(spec.seats[i].action for i in seats[1:])

    def read(self, batch: TeamBatch) -> PyTree:
        return self._beside(batch.joint.obs, batch.action, batch)

    def read_next(self, batch: TeamBatch) -> PyTree:
        # Where the rollout goes on, what is done next is known; elsewhere what would be done was drawn.
        last = (jnp.arange(batch.reward.shape[0]) == batch.reward.shape[0] - 1)[:, None, None]
        following = jnp.concatenate([batch.action[1:], batch.action[-1:]])
        action = jnp.where(batch.ended | last, batch.bootstrap.raw, following)
        return self._beside(batch.joint.step.obs, action, batch)

    def _beside(self, obs: PerSeat[PyTree], action: Array, batch: TeamBatch) -> PyTree:
        orders = [seat_order(seat, batch.seats, len(obs)) for seat in batch.seats]
        seen = tuple(stack_seats([obs[order[place]] for order in orders]) for place in range(len(obs)))
        return seen + tuple(jnp.roll(action, -place, axis=1) for place in range(1, len(batch.seats)))


def _joint_space(spec: GameSpec, seats: tuple[int, ...]) -> Space:
    parts = tuple(spec.seats[i].observation for i in spec.order(seats[0], seats))
    return parts if len(parts) > 1 else parts[0]


def _joint_view(obs: PerSeat[PyTree], of_seats: tuple[int, ...], team: tuple[int, ...]) -> PyTree:
    """What everybody sees beside some seats of a team, in the order of each of them."""
    orders = [seat_order(seat, team, len(obs)) for seat in of_seats]
    parts = tuple(stack_seats([obs[order[place]] for order in orders]) for place in range(len(obs)))
    return parts if len(parts) > 1 else parts[0]


def _beside_seats(state: PyTree, batch: TeamBatch) -> Array:
    numbers = as_numbers(state, axes=2)
    return jax.tree.map(
        lambda x: jnp.broadcast_to(x[:, None], (x.shape[0], len(batch.seats), *x.shape[1:])), numbers
    )
