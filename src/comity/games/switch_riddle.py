r"""The switch riddle (Foerster et al., 2016, arXiv:1605.06676): prisoners, a room, and a switch of one bit.

Each day one of n prisoners, drawn evenly, is in the room: it alone acts. It sees the switch, sets it, and may
tell that all have been there: then the episode ends, and everybody earns 1 if that is true, else -1. After T
= 4n - 6 days it ends with nothing. Who could see everything would tell on the first day on which it is true,
or not at all; that earns the chance that all have been there in T days,

.. math:: \sum_{k=0}^{n} (-1)^k \binom{n}{k} \Big(1 - \frac{k}{n}\Big)^{T}

.7407 for n = 3 and .7806 for n = 4, by which results are divided.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import require
from comity.core.game import Environment, PerSeat, Seat, TimeStep
from comity.core.palette import series
from comity.core.scene import Note, Scene
from comity.core.spaces import Discrete, Masked

WAIT, TELL = 0, 1


class RiddleState(NamedTuple):
    """Who is in the room, who has been there, how the switch stands, and the day."""

    inside: Int[Array, ""]
    visited: Bool[Array, " seat"]
    switch: Bool[Array, ""]
    time: Int[Array, ""]


class SwitchRiddle(Environment):
    """A prisoner sees whether it is in the room, the switch if it is, and the day.

    In the room it waits or tells; with `switch` it also sets the switch, choice a + 2 s. Without, the
    prisoners need another way to talk.
    """

    prisoners: int = 3  # how many there are
    switch: bool = True  # whether there is a switch in the room

    def __check_init__(self) -> None:
        require(2 <= self.prisoners <= 100, "prisoners", self.prisoners, "from 2 to 100")

    @property
    def days(self) -> int:
        """How many days they have."""
        return max(4 * self.prisoners - 6, 2)

    @property
    def oracle(self) -> float:
        """What is earned by who sees everything."""
        n, days = self.prisoners, self.days
        return sum((-1) ** k * math.comb(n, k) * (1 - k / n) ** days for k in range(n + 1))

    @property
    def horizon(self) -> int | None:
        return self.days

    @property
    def family(self) -> str:
        return "switch-riddle"

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def seats(self) -> PerSeat[Seat]:
        choices = 4 if self.switch else 2
        seen = Masked((Discrete(2), Discrete(3), Discrete(self.days + 1)), choices)
        return tuple(
            Seat(f"prisoner-{i + 1}", seen, Discrete(choices), role="prisoner") for i in range(self.prisoners)
        )

    def reset(self, key: Key) -> tuple[RiddleState, PerSeat[PyTree]]:
        first = jax.random.randint(key, (), 0, self.prisoners)
        state = RiddleState(first, jnp.arange(self.prisoners) == first, jnp.bool_(False), jnp.int32(0))
        return state, self._observe(state)

    def acting(self, state: RiddleState) -> PerSeat[Bool[Array, ""]]:
        return tuple(state.inside == i for i in range(self.prisoners))

    def step(self, key: Key, state: RiddleState, actions: PerSeat[PyTree]) -> tuple[RiddleState, TimeStep]:
        action = jnp.stack(actions)[state.inside]
        tells = action % 2 == TELL
        paid = jnp.where(tells, jnp.where(state.visited.all(), 1.0, -1.0), 0.0)
        following = jax.random.randint(key, (), 0, self.prisoners)
        time = state.time + 1
        after = RiddleState(
            following,
            state.visited | (jnp.arange(self.prisoners) == following),
            action // 2 > 0,
            time,
        )
        return after, TimeStep(
            obs=self._observe(after),
            reward=(paid,) * self.prisoners,
            terminated=tells | (time >= self.days),
            truncated=jnp.bool_(False),
            alive=(jnp.bool_(True),) * self.prisoners,
            acts=self.acting(after),
        )

    def draw(self, state: RiddleState) -> Scene:
        """The day, who is in the room and who has been there, and the switch."""
        colours = series(self.prisoners)
        there = [i for i in range(self.prisoners) if bool(np.asarray(state.visited)[i])]
        names = tuple((f" {i + 1}", colours[i]) for i in there)
        inside = int(state.inside)
        start = (
            f"day {int(state.time) + 1} of {self.days}: prisoner {inside + 1} in the room",
            colours[inside],
        )
        lamp = f", the switch is {'on' if state.switch else 'off'}" if self.switch else ""
        return Note((start, (f"{lamp}; have been there:", colours[inside]), *names))

    def _observe(self, state: RiddleState) -> PerSeat[PyTree]:
        seen = []
        for i in range(self.prisoners):
            inside = state.inside == i
            shown = jnp.where(inside, 1 + state.switch.astype(jnp.int32), 0) * int(self.switch)
            legal = jnp.arange(4 if self.switch else 2)
            mask = jnp.where(inside, legal >= 0, legal == WAIT)
            seen.append(((inside.astype(jnp.int32), shown, jnp.minimum(state.time, self.days)), mask))
        return tuple(seen)
