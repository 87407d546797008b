"""Games: seats, what they see and may do, and what a game answers to a joint action.

Per-seat data are tuples: entry i belongs to seat i and may differ in shape from its neighbours. There is
never a second copy of the code for "the other player", only another index.
"""

import dataclasses
import weakref
from abc import abstractmethod
from typing import NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.display import brief_settings, html_table
from comity.core.errors import ComityError, require
from comity.core.scene import Drawing
from comity.core.spaces import Box, Space, describe
from comity.core.tunable import Number

T = TypeVar("T")
PerSeat = tuple[T, ...]


class Seat(NamedTuple):
    """A place in a game: what whoever sits there sees and may do."""

    name: str
    observation: Space
    action: Space
    resampled: tuple[bool, ...] = ()  # which numbers of the observation chance draws anew, whatever was done
    role: str = ""  # seats of one role see and do the same; by default the name tells seats apart


class GameSpec(NamedTuple):
    """All that is known of a game before it is played: what agents are made for.

    It is plain data (hashable, without arrays), so that a player file can carry it.
    """

    seats: PerSeat[Seat]
    state: Space | None  # what a centralised critic may see of the game's state, as one vector
    horizon: int | None
    family: str
    symmetric: bool

    def team(self, seats: tuple[int, ...]) -> PerSeat[Seat]:
        """Some of the seats."""
        return tuple(self.seats[seat] for seat in seats)

    def order(self, seat: int, team: tuple[int, ...]) -> tuple[int, ...]:
        """All seats as one of a team sees them: itself, its team after it, then the others.

        Position by position the spaces are the same for all seats of a team.
        """
        return seat_order(seat, team, len(self.seats))


def seat_order(seat: int, team: tuple[int, ...], count: int) -> tuple[int, ...]:
    """All of `count` seats as one of a team sees them: itself, its team after it, then the others."""
    start = team.index(seat)
    return team[start:] + team[:start] + tuple(i for i in range(count) if i not in team)


class TimeStep(NamedTuple):
    """What a game answers to a joint action.

    `obs` is always the true successor observation, never that of a new episode: a game does not reset
    itself. After `terminated` the future is worth nothing; after `truncated` the clock ran out and the
    value of `obs` stands for the future. A seat that left keeps its shapes and is marked not `alive`.
    `acts` says who decides something in the next step; empty where everybody always does. A seat that does
    not act has one legal action, and what it does is ignored.

    `reward` is what is learned from. A transform that changes it keeps the game's own in `unshaped`, which is
    empty where nothing was changed; `game_reward` is the game's own in both cases.
    """

    obs: PerSeat[PyTree]
    reward: PerSeat[Float[Array, "..."]]
    terminated: Bool[Array, "..."]
    truncated: Bool[Array, "..."]
    alive: PerSeat[Bool[Array, "..."]]
    acts: PerSeat[Bool[Array, "..."]] = ()
    unshaped: PerSeat[Float[Array, "..."]] = ()

    @property
    def game_reward(self) -> PerSeat[Float[Array, "..."]]:
        """The game's own reward, whatever transforms made of it: what is shown and compared."""
        return self.unshaped or self.reward

    def shaped(self, reward: PerSeat[Float[Array, "..."]]) -> "TimeStep":
        """The same step with another reward to learn from; the game's own is kept."""
        return self._replace(reward=reward, unshaped=self.game_reward)


class Cooperation(NamedTuple):
    """How many choices a seat had in a step, and how much of them was cooperative: its share is the ratio."""

    cooperative: Float[Array, "..."]
    choices: Float[Array, "..."]


# The specs of the games in use, by identity: a game's own dictionary holds its settings and nothing else, for
# Equinox compares games by it.
_SPECS: dict[int, GameSpec] = {}


class Environment(eqx.Module):
    """A game in JAX, without batch axes; its fields are its settings."""

    def __check_init__(self) -> None:  # beside those of subclasses, which Equinox calls too
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            small = not isinstance(value, int) or abs(value) < 2**31
            require(small, field.name, value, "a number of 32 bits, so up to 2,147,483,647")

    def __repr__(self) -> str:
        return brief_settings(self)

    def _repr_html_(self) -> str:
        seats = [(seat.name, describe(seat.observation), describe(seat.action)) for seat in self.seats]
        length = "no fixed length" if self.horizon is None else f"{self.horizon} steps"
        return html_table(("seat", "sees", "does"), seats, f"{self!r}: {length}, {self.family} family")

    @property
    @abstractmethod
    def horizon(self) -> int | None:
        """The number of steps after which every episode is truncated, None if it is not fixed."""

    @property
    @abstractmethod
    def family(self) -> str:
        """The kind of game: in all games of a family the same scripted players make sense."""

    @property
    @abstractmethod
    def seats(self) -> PerSeat[Seat]:
        """The seats of the game."""

    @property
    @abstractmethod
    def symmetric(self) -> bool:
        """Whether the seats can be exchanged, so that one policy serves in all of them."""

    @property
    def spec(self) -> GameSpec:
        """What is known of the game before it is played."""
        if id(self) not in _SPECS:
            _SPECS[id(self)] = self._find_spec()
            weakref.finalize(self, _SPECS.pop, id(self), None)
        return _SPECS[id(self)]

    def _find_spec(self) -> GameSpec:
        try:
            view = jax.eval_shape(lambda key: as_numbers(self.view(self.reset(key)[0])), jax.random.key(0))
        except OverflowError:
            raise ComityError(
                f"This {type(self).__name__} is too large: it has more places than 31 bits can count. Choose "
                f"smaller sizes of the game."
            ) from None
        state = Box((view.shape[-1],)) if view.shape[-1] else None
        return GameSpec(self.seats, state, self.horizon, self.family, self.symmetric)

    @abstractmethod
    def reset(self, key: Key) -> tuple[PyTree, PerSeat[PyTree]]:
        """A new episode: its state and what each seat sees."""

    @abstractmethod
    def step(self, key: Key, state: PyTree, actions: PerSeat[PyTree]) -> tuple[PyTree, TimeStep]:
        """The joint action carried out."""

    def reset_where(self, key: Key, state: PyTree, over: Bool[Array, ""]) -> tuple[PyTree, PerSeat[PyTree]]:
        """A new episode after one that is `over`; if it is not, the answer is not used."""
        return self.reset(key)

    def present(self, state: PyTree) -> PerSeat[Bool[Array, ""]]:
        """Which seats are in the game at the start of an episode; by default all."""
        return (jnp.bool_(True),) * len(self.seats)

    def acting(self, state: PyTree) -> PerSeat[Bool[Array, ""]]:
        """Which seats act in the first step of an episode; empty where everybody always acts."""
        return ()

    @property
    def resumable(self) -> bool:
        """Whether a state that was saved can be gone on with in another process."""
        return True

    def view(self, state: PyTree) -> PyTree:
        """The privileged view, for centralised critics; by default the whole state."""
        return state

    def locate(self, state: PyTree) -> Float[Array, "seats 2"] | None:
        """Where the seats are in a state, for what depends on distance; None in games without places."""
        return None

    def draw(self, state: PyTree) -> Drawing:
        """What a state looks like: a scene, a text, or an array [height, width, 3] of bytes; None: nothing.

        Called on the host with a concrete state, never inside a compiled program.
        """
        return None

    def cooperation(
        self, state: PyTree, actions: PerSeat[PyTree], next_state: PyTree
    ) -> PerSeat[Cooperation] | None:
        """How far each seat cooperated in a step; None in games where that means nothing.

        `state` and `next_state` are views (see `view`) of the game before the step and after it. Over some
        steps, a seat's share is the sum of what was cooperative divided by the sum of its choices, so a step
        without a choice counts nothing.
        """
        return None

    @property
    def disagreement(self) -> PerSeat[float]:
        """What each seat earns per step if they agree on nothing: where Nash welfare counts from."""
        return (0.0,) * len(self.seats)

    def exact_returns(
        self, probabilities: PerSeat[Float[Array, "observations _"]], discount: Number
    ) -> Float[Array, " seats"]:
        """What each seat earns, summed and discounted, if it acts by a table of probabilities.

        Differentiable in the tables. Only for games in which that can be computed.
        """
        raise ComityError(
            "The value of a policy is not known exactly in this game, only in iterated matrix games: use an "
            "agent that learns from what was played."
        )


def as_numbers(view: PyTree, axes: int = 0) -> Float[Array, "... numbers"]:
    """All numbers and truth values of a tree as one vector, after some leading axes; keys are left out."""
    leaves = [x for x in jax.tree.leaves(view) if not jnp.issubdtype(x.dtype, jax.dtypes.prng_key)]
    if not leaves:
        return jnp.zeros(0)
    flat = [x.reshape((*x.shape[:axes], -1)).astype(jnp.float32) for x in leaves]
    return jnp.concatenate(flat, axis=-1)
