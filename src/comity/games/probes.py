"""Tiny games with known answers, to find out which part of a learner is broken.

Each docstring gives the answer. They follow the idea of probe environments: if a learner fails on one of
these, the part that this probe isolates is wrong.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.spaces import Box, Discrete
from comity.core.types import Environment, PerSeat, Seat, TimeStep
from comity.games.matrix import check_horizon


class ProbeState(NamedTuple):
    """A number drawn at the start, and the time."""

    cue: Int[Array, ""]
    time: Int[Array, ""]


class Probe(Environment):
    """A game in which nothing is symmetric unless it is said so."""

    @property
    def family(self) -> str:
        return "probe"

    @property
    def symmetric(self) -> bool:
        return False


def _one(
    reward: Float[Array, ""], obs: PyTree, terminated: Bool[Array, ""], truncated: Bool[Array, ""]
) -> TimeStep:
    return TimeStep((obs,), (reward,), terminated, truncated, (jnp.bool_(True),))


class ProbeObservation(Probe):
    """One step; the reward is +1 after observation 1 and -1 after observation 0, whatever one does.

    Answer: V(0) = -1, V(1) = 1. Isolates the critic.
    """

    horizon: int | None = None  # the game ends by itself

    @property
    def seats(self) -> PerSeat[Seat]:
        return (Seat("solo", Discrete(2), Discrete(2)),)

    def reset(self, key: Key) -> tuple[ProbeState, PerSeat[PyTree]]:
        cue = jax.random.randint(key, (), 0, 2)
        return ProbeState(cue, jnp.int32(0)), (cue,)

    def step(self, key: Key, state: ProbeState, actions: PerSeat[PyTree]) -> tuple[ProbeState, TimeStep]:
        reward = 2.0 * state.cue.astype(jnp.float32) - 1.0
        return state, _one(reward, state.cue, jnp.bool_(True), jnp.bool_(False))


class ProbeDiscount(Probe):
    """Two steps, the observation is the time; the reward is 1 in the second step, then the game ends.

    Answer: V(0) = discount, V(1) = 1. Isolates discounting and termination.
    """

    horizon: int | None = None  # the game ends by itself

    @property
    def seats(self) -> PerSeat[Seat]:
        return (Seat("solo", Discrete(3), Discrete(2)),)

    def reset(self, key: Key) -> tuple[ProbeState, PerSeat[PyTree]]:
        return ProbeState(jnp.int32(0), jnp.int32(0)), (jnp.int32(0),)

    def step(self, key: Key, state: ProbeState, actions: PerSeat[PyTree]) -> tuple[ProbeState, TimeStep]:
        time = state.time + 1
        reward = (time == 2).astype(jnp.float32)
        return ProbeState(state.cue, time), _one(reward, time, time >= 2, jnp.bool_(False))


class ProbeTruncation(Probe):
    """The reward is 1 in every step, for ever; the clock cuts episodes off.

    Answer: V = 1 / (1 - discount), however short the episodes are, if truncation is bootstrapped.
    """

    horizon: int | None = 4  # steps in an episode

    def __check_init__(self) -> None:
        check_horizon(self.horizon)

    @property
    def seats(self) -> PerSeat[Seat]:
        return (Seat("solo", Discrete(1), Discrete(2)),)

    def reset(self, key: Key) -> tuple[ProbeState, PerSeat[PyTree]]:
        return ProbeState(jnp.int32(0), jnp.int32(0)), (jnp.int32(0),)

    def step(self, key: Key, state: ProbeState, actions: PerSeat[PyTree]) -> tuple[ProbeState, TimeStep]:
        time = state.time + 1
        over = jnp.bool_(False) if self.horizon is None else time >= self.horizon
        return ProbeState(state.cue, time), _one(jnp.float32(1.0), jnp.int32(0), jnp.bool_(False), over)


class ProbeChoice(Probe):
    """One step; action 1 after observation 1 and action 0 after observation 0 pay 1, the others -1.

    Answer: the policy repeats the observation, the return is 1. Isolates the policy gradient.
    """

    horizon: int | None = None  # the game ends by itself

    @property
    def seats(self) -> PerSeat[Seat]:
        return (Seat("solo", Discrete(2), Discrete(2)),)

    def reset(self, key: Key) -> tuple[ProbeState, PerSeat[PyTree]]:
        cue = jax.random.randint(key, (), 0, 2)
        return ProbeState(cue, jnp.int32(0)), (cue,)

    def step(self, key: Key, state: ProbeState, actions: PerSeat[PyTree]) -> tuple[ProbeState, TimeStep]:
        reward = jnp.where(actions[0] == state.cue, 1.0, -1.0)
        return state, _one(reward, state.cue, jnp.bool_(True), jnp.bool_(False))


class ProbeMemory(Probe):
    """A cue, 0 or 1, is seen in the first step only; in the last step, repeating it pays 1, else -1.

    Answer: with memory the return is 1, without memory it cannot exceed 0.
    """

    delay: int = 4  # steps between the cue and the answer
    horizon: int | None = None  # the game ends by itself

    @property
    def seats(self) -> PerSeat[Seat]:
        return (Seat("solo", Discrete(4), Discrete(2)),)

    def reset(self, key: Key) -> tuple[ProbeState, PerSeat[PyTree]]:
        cue = jax.random.randint(key, (), 0, 2)
        return ProbeState(cue, jnp.int32(0)), (cue,)

    def step(self, key: Key, state: ProbeState, actions: PerSeat[PyTree]) -> tuple[ProbeState, TimeStep]:
        time = state.time + 1
        last = time > self.delay
        right = jnp.where(actions[0] == state.cue, 1.0, -1.0)
        obs = jnp.where(time == self.delay, 3, 2)
        return ProbeState(state.cue, time), _one(jnp.where(last, right, 0.0), obs, last, jnp.bool_(False))


class ProbeTarget(Probe):
    """One step; a number between -1 and 3 is chosen and pays minus its squared distance from 2.

    Answer: the action is 2 and the return 0. Isolates continuous actions.
    """

    horizon: int | None = None  # the game ends by itself

    @property
    def seats(self) -> PerSeat[Seat]:
        return (Seat("solo", Discrete(1), Box((1,), -1.0, 3.0)),)

    def reset(self, key: Key) -> tuple[ProbeState, PerSeat[PyTree]]:
        return ProbeState(jnp.int32(0), jnp.int32(0)), (jnp.int32(0),)

    def step(self, key: Key, state: ProbeState, actions: PerSeat[PyTree]) -> tuple[ProbeState, TimeStep]:
        reward = -jnp.square(actions[0][0] - 2.0)
        return state, _one(reward, jnp.int32(0), jnp.bool_(True), jnp.bool_(False))


class ProbeOddSeats(Probe):
    """Three seats of different shapes; the second leaves after its first step, the game goes on to step 3.

    The first seat sees two numbers and is paid 1 for action 2 of 3; the second is paid 1 for action 1 of
    2, once; the third chooses a number in [0, 1] and is paid it.
    Answer: returns 3, 1, 3.
    """

    horizon: int | None = None  # the game ends by itself

    @property
    def seats(self) -> PerSeat[Seat]:
        return (
            Seat("walker", Box((2,)), Discrete(3)),
            Seat("guest", Discrete(3), Discrete(2)),
            Seat("dial", (Discrete(3), Box((1,), 0.0, 1.0)), Box((1,), 0.0, 1.0)),
        )

    def reset(self, key: Key) -> tuple[ProbeState, PerSeat[PyTree]]:
        state = ProbeState(jnp.int32(0), jnp.int32(0))
        return state, self._observe(state)

    def step(self, key: Key, state: ProbeState, actions: PerSeat[PyTree]) -> tuple[ProbeState, TimeStep]:
        here = state.time == 0
        state = ProbeState(state.cue, state.time + 1)
        rewards = (
            (actions[0] == 2).astype(jnp.float32),
            jnp.where(here & (actions[1] == 1), 1.0, 0.0),
            actions[2][0].astype(jnp.float32),
        )
        alive = (jnp.bool_(True), jnp.bool_(False), jnp.bool_(True))
        step = TimeStep(self._observe(state), rewards, state.time >= 3, jnp.bool_(False), alive)
        return state, step

    def _observe(self, state: ProbeState) -> PerSeat[PyTree]:
        share = state.time.astype(jnp.float32) / 3.0
        time = jnp.minimum(state.time, 2)
        return (jnp.stack([share, 1.0 - share]), time, (time, share[None]))
