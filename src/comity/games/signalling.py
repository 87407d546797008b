"""Lewis' signalling game (Convention, 1969): one sees a meaning and speaks, the other hears and guesses it.

A meaning has some attributes, each with one of some values. The speaker sees it and chooses the symbols of a
message; each symbol becomes, with probability `noise`, one of the others; the listener hears the message and
names the values. Both earn 1 for a meaning that is guessed whole, or with `partial` the share of its
attributes.

With one attribute of n values and k symbols, no protocol earns more than min(k, n) / n, and with k = n and
noise p none more than 1 - p (for p up to (n - 1) / n).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import require
from comity.core.game import Environment, PerSeat, Seat, TimeStep
from comity.core.palette import series
from comity.core.scene import Scene, Table
from comity.core.spaces import Discrete, Space

MOST_MEANINGS = 100_000
SPLIT_SEED = 0  # of the meanings that are held out: the same in every run
NAMES = ("speaker", "listener")


class SignallingState(NamedTuple):
    """The meaning, the message as it was heard, and the move: 0 speaks, 1 guesses, 2 is over."""

    meaning: Int[Array, " attributes"]
    message: Int[Array, " length"]  # -1: nothing was said yet
    guess: Int[Array, " attributes"]  # -1: nothing was guessed yet
    time: Int[Array, ""]


class Signalling(Environment):
    """Two moves: the speaker's message, the listener's guess; see the module for the rules."""

    attributes: int = 1  # of a meaning
    values: int = 4  # that an attribute can have
    vocabulary: int = 4  # symbols there are
    length: int = 1  # symbols in a message
    noise: float = 0.0  # chance that a symbol becomes another one
    partial: bool = False  # whether a guess is paid by the share of attributes that are right
    held_out: float = 0.0  # share of the meanings that are not drawn, for tests
    test: bool = False  # whether those are drawn instead, and no others

    def __check_init__(self) -> None:
        for name in ("attributes", "vocabulary", "length"):
            require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        require(self.values >= 2, "values", self.values, "at least 2")
        require(0 <= self.noise <= 1, "noise", self.noise, "between 0 and 1")
        fits = self.attributes <= 16 and self.values**self.attributes <= MOST_MEANINGS
        require(fits, "values", self.values, f"so few that values^attributes is at most {MOST_MEANINGS:,}")
        require(0 <= self.held_out < 1, "held_out", self.held_out, "at least 0 and below 1")
        require(not self.test or self._held_out_count() > 0, "test", self.test, "false, or held_out above 0")

    @property
    def horizon(self) -> int | None:
        return 2

    @property
    def family(self) -> str:
        return "signalling"

    @property
    def symmetric(self) -> bool:
        return False

    @property
    def seats(self) -> PerSeat[Seat]:
        meaning, message = (
            (Discrete(self.values),) * self.attributes,
            (Discrete(self.vocabulary),) * self.length,
        )
        heard = (Discrete(self.vocabulary + 1),) * self.length  # 0: nothing yet
        return (
            Seat(NAMES[0], _one(meaning), _one(message), role=NAMES[0]),
            Seat(NAMES[1], _one(heard), _one(meaning), role=NAMES[1]),
        )

    def meanings(self) -> Int[np.ndarray, "meaning attributes"]:
        """The meanings that can be drawn, in order; the held-out ones in a `test`, else the others."""
        every = np.indices((self.values,) * self.attributes).reshape(self.attributes, -1).T
        order = np.random.default_rng(SPLIT_SEED).permutation(len(every))
        count = self._held_out_count()
        return every[np.sort(order[:count] if self.test else order[count:])]

    def _held_out_count(self) -> int:
        return round(self.held_out * self.values**self.attributes)

    def reset(self, key: Key) -> tuple[SignallingState, PerSeat[PyTree]]:
        known = jnp.asarray(self.meanings(), jnp.int32)
        meaning = known[jax.random.randint(key, (), 0, len(known))]
        nothing = jnp.full(self.length, -1, jnp.int32)
        state = SignallingState(meaning, nothing, jnp.full(self.attributes, -1, jnp.int32), jnp.int32(0))
        return state, self._observe(state)

    def acting(self, state: SignallingState) -> PerSeat[Bool[Array, ""]]:
        return state.time == 0, state.time == 1

    def step(
        self, key: Key, state: SignallingState, actions: PerSeat[PyTree]
    ) -> tuple[SignallingState, TimeStep]:
        speaks = state.time == 0
        message = jnp.where(speaks, self._disturbed(_many(actions[0]), key), state.message)
        guess = jnp.where(speaks, state.guess, _many(actions[1]))
        after = SignallingState(state.meaning, message, guess, state.time + 1)
        right = (guess == state.meaning).astype(jnp.float32)
        paid = jnp.where(speaks, 0.0, right.mean() if self.partial else right.prod())
        step = TimeStep(
            obs=self._observe(after),
            reward=(paid, paid),
            terminated=~speaks,
            truncated=jnp.bool_(False),
            alive=(jnp.bool_(True),) * 2,
            acts=self.acting(after),
        )
        return after, step

    def view(self, state: SignallingState) -> PyTree:
        return state._replace(guess=jnp.zeros(0, jnp.int32))  # after it there is no future

    def draw(self, state: SignallingState) -> Scene:
        """The meaning, what was heard, and the guess."""
        colours = series(2)
        parts = (("means", state.meaning, 0), ("is heard", state.message, 0), ("guessed", state.guess, 1))
        rows = []
        for _, numbers, seat in parts:
            said = " ".join("-" if number < 0 else str(number) for number in np.asarray(numbers).tolist())
            rows.append((((said, colours[seat]),),))
        return Table(tuple(rows), side=tuple(name for name, _, _ in parts))

    def _disturbed(self, message: Int[Array, " length"], key: Key) -> Int[Array, " length"]:
        if self.noise == 0 or self.vocabulary == 1:
            return message
        flip_key, shift_key = jax.random.split(key)
        flips = jax.random.bernoulli(flip_key, self.noise, message.shape)
        shift = jax.random.randint(shift_key, message.shape, 1, self.vocabulary)
        return jnp.where(flips, (message + shift) % self.vocabulary, message)

    def _observe(self, state: SignallingState) -> PerSeat[PyTree]:
        return _split(state.meaning), _split(state.message + 1)


def best_accuracy(values: int, vocabulary: int, noise: float = 0.0) -> float:
    """The most that a protocol of one attribute and one symbol earns: min(k, n)/n, or 1 - p where k = n.

    Under more noise than (n - 1)/n each of the other symbols is likelier to be heard than the one that was
    said.
    """
    require(noise == 0 or vocabulary == values, "noise", noise, "0 unless k = n")
    return min(vocabulary, values) / values if noise == 0 else max(1.0 - noise, noise / (values - 1))


def _one(parts: tuple[Space, ...]) -> Space:
    """One choice as it is, several as a tuple."""
    return parts[0] if len(parts) == 1 else parts


def _many(choice: PyTree) -> Int[Array, " parts"]:
    return jnp.stack(choice if isinstance(choice, tuple) else (choice,)).astype(jnp.int32)


def _split(numbers: Int[Array, " parts"]) -> PyTree:
    parts = tuple(numbers[i] for i in range(numbers.shape[0]))
    return parts[0] if len(parts) == 1 else parts
