"""Unlike seats made alike, so that they can be one team: padded observations, masked choices."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import spaces
from comity.core.errors import ComityError, require
from comity.core.game import Cooperation, PerSeat, Seat, TimeStep
from comity.core.spaces import Box, Discrete, Masked, Space
from comity.games.transforms.base import Transform


class PaddedSeats(Transform):
    """Seats that see and do different things get equal spaces.

    What a padded seat sees becomes (its place among the padded seats, one vector of numbers), with the
    choices that are legal: the observation is encoded as a network would (choices one-hot, bounded vectors
    scaled to [-1, 1]) and filled with zeros up to the longest; choices beyond its own are never legal. One
    agent can then sit in all of them (speaker and listener under one mixer), and learns from the place in
    which of them it sits. Seats that are not padded stay as they are.
    """

    places: tuple[int, ...] = ()  # which seats are padded to one shape; empty: all

    def __check_init__(self) -> None:
        inner = self.game.seats
        known = len(set(self.places)) == len(self.places) and set(self.places) <= set(range(len(inner)))
        require(known, "places", self.places, f"different seats from 0 to {len(inner) - 1}")
        for place in self.padded:
            seat = inner[place]
            if not isinstance(seat.action, Discrete):
                raise ComityError(
                    f"The seat {seat.name!r} does {spaces.describe(seat.action)}: only seats with one choice "
                    f"among several can be padded. Leave it out with places, or give it an agent of its own."
                )
            if not _is_vector(seat.observation):
                raise ComityError(
                    f"The seat {seat.name!r} sees {spaces.describe(seat.observation)}: only choices and "
                    f"vectors can be padded, not planes. Leave it out with places."
                )

    @property
    def padded(self) -> tuple[int, ...]:
        """The seats that are padded, in order."""
        return self.places or tuple(range(len(self.game.seats)))

    @property
    def horizon(self) -> int | None:
        return self.game.horizon

    @property
    def seats(self) -> PerSeat[Seat]:
        inner = self.game.seats
        seen: Space = (Discrete(len(self.padded)), Box((self._width(),)))
        return tuple(
            Seat(seat.name, Masked(seen, self._choices()), Discrete(self._choices()), role=seat.role)
            if i in self.padded
            else seat
            for i, seat in enumerate(inner)
        )

    def reset(self, key: Key) -> tuple[PyTree, PerSeat[PyTree]]:
        state, obs = self.game.reset(key)
        return state, self._pad(obs)

    def reset_where(self, key: Key, state: PyTree, over: Bool[Array, ""]) -> tuple[PyTree, PerSeat[PyTree]]:
        state, obs = self.game.reset_where(key, state, over)
        return state, self._pad(obs)

    def step(self, key: Key, state: PyTree, actions: PerSeat[PyTree]) -> tuple[PyTree, TimeStep]:
        state, step = self.game.step(key, state, self._own_choices(actions))
        return state, step._replace(obs=self._pad(step.obs))

    def cooperation(
        self, state: PyTree, actions: PerSeat[PyTree], next_state: PyTree
    ) -> PerSeat[Cooperation] | None:
        return self.game.cooperation(state, self._own_choices(actions), next_state)

    def _width(self) -> int:
        inner = self.game.seats
        return max(spaces.flat_size(inner[place].observation) for place in self.padded)

    def _choices(self) -> int:
        return max(_choice_count(self.game.seats[place]) for place in self.padded)

    def _own_choices(self, actions: PerSeat[PyTree]) -> PerSeat[PyTree]:
        """An illegal choice stands for the seat's last one, as no agent makes it."""
        return tuple(
            jnp.minimum(action, _choice_count(seat) - 1) if i in self.padded else action
            for i, (seat, action) in enumerate(zip(self.game.seats, actions, strict=True))
        )

    def _pad(self, obs: PerSeat[PyTree]) -> PerSeat[PyTree]:
        return tuple(
            self._padded_obs(seat, seen, self.padded.index(i)) if i in self.padded else seen
            for i, (seat, seen) in enumerate(zip(self.game.seats, obs, strict=True))
        )

    def _padded_obs(self, seat: Seat, obs: PyTree, place: int) -> PyTree:
        numbers = spaces.encode(seat.observation, obs)
        legal = spaces.legal(seat.observation, obs)
        own = jnp.ones(_choice_count(seat), jnp.bool_) if legal is None else legal
        numbers = jnp.pad(numbers, (0, self._width() - numbers.shape[0]))
        return (jnp.int32(place), numbers), jnp.pad(own, (0, self._choices() - own.shape[0]))


def _choice_count(seat: Seat) -> int:
    assert isinstance(seat.action, Discrete)
    return seat.action.n


def _is_vector(space: Space) -> bool:
    """Whether a network sees the space as a vector that has no further shape."""
    match spaces.plain(space):
        case Discrete():
            return True
        case Box(shape=shape):
            return len(shape) <= 1
        case tuple(parts):
            return all(_is_vector(part) for part in parts)
        case _:
            return False
