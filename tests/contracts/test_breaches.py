"""What `check_game` must not let pass: a good game, and one breach of each kind."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import PRNGKeyArray as Key
from jaxtyping import PyTree

from comity.core.game import Environment, PerSeat, Seat, TimeStep
from comity.core.spaces import Box, Discrete, Masked
from comity.testing import check_game

CALLS = itertools.count()


def never_the_same() -> jax.Array:
    """Another number at each call, compiled or not: what a game must not have."""
    like = jax.ShapeDtypeStruct((), np.dtype("float32"))
    number: jax.Array = jax.pure_callback(lambda: np.float32(next(CALLS) % 1000 / 1e5), like)
    return number


class Turns(Environment):
    """Two seats say 0, 1 or 2 in turn, for `horizon` steps; `breach` names what is wrong with it."""

    breach: str = ""
    horizon: int | None = 6

    @property
    def family(self) -> str:
        return "turns"

    @property
    def symmetric(self) -> bool:
        return self.breach != "role"

    @property
    def seats(self) -> PerSeat[Seat]:
        names = ("same", "same") if self.breach == "names" else ("first", "second")
        seen = Masked(Box((1,), 0.0, 1.0), 3)
        unlike = self.breach in ("role", "symmetric")
        second: Any = Masked(Box((1,), 0.0, 2.0), 3) if unlike else seen
        role = "talker" if self.breach == "role" else ""
        return Seat(names[0], seen, Discrete(3), role=role), Seat(names[1], second, Discrete(3), role=role)

    def reset(self, key: Key) -> tuple[PyTree, PerSeat[PyTree]]:
        level = 0.1 * jax.random.uniform(key)
        if self.breach == "reset":
            level = level + never_the_same()
        state = jnp.int32(0), level
        return state, self._observe(state)

    def acting(self, state: PyTree) -> PerSeat[jax.Array]:
        if self.breach == "acting":
            return ()
        return self._acts(state[0])

    def step(self, key: Key, state: PyTree, actions: PerSeat[PyTree]) -> tuple[PyTree, TimeStep]:
        time, level = state
        mover = time % 2
        said = jnp.where(mover == 0, actions[0], actions[1]).astype(jnp.float32)
        if self.breach == "waiting":
            said = said + 0.1 * actions[0].astype(jnp.float32)
        if self.breach == "step":
            said = said + never_the_same()
        after: Any = (time + 1, jnp.clip(level + said / 20.0, 0.0, 1.0))
        reward: Any = (said, -said)
        truncated = after[0] >= {"late": 7, "early": 5}.get(self.breach, 6)
        alive: Any = (jnp.bool_(True),) * 2
        acts = self._acts(after[0])
        match self.breach:
            case "state":
                after = (after[0].astype(jnp.float32), after[1])
            case "nan":
                reward = (said / 0.0, -said)
            case "integer reward":
                reward = (said.astype(jnp.int32), -said)
            case "Python's float":
                reward = (0.5, -said)
            case "flag":
                truncated = truncated.astype(jnp.int32)
            case "alive":
                alive = (jnp.int32(1),) * 2
            case "seats":
                reward = (said,)
            case "nobody":
                acts = (jnp.bool_(False),) * 2
            case "no acts":
                acts = ()
            case "one acts":
                acts = acts[:1]
        return after, TimeStep(self._observe(after), reward, jnp.bool_(False), truncated, alive, acts)

    def draw(self, state: PyTree) -> Any:
        return np.zeros((2, 2)) if self.breach == "drawing" else f"step {int(state[0])}"

    def _acts(self, time: jax.Array) -> PerSeat[jax.Array]:
        return time % 2 == 0, time % 2 == 1

    def _observe(self, state: PyTree) -> PerSeat[PyTree]:
        level = state[1][None] + (2.0 if self.breach == "space" else 0.0)
        first = jnp.arange(3) == 0
        seen = []
        for acts in self._acts(state[0].astype(jnp.int32)):
            waits = jnp.ones(3, jnp.bool_) if self.breach == "legal" else first
            seen.append((level, jnp.where(acts, jnp.ones(3, jnp.bool_), waits)))
        return tuple(seen)


def test_a_good_game_passes() -> None:
    check_game(Turns(), steps=14)


@pytest.mark.parametrize(
    ("breach", "says"),
    [
        ("names", "different names"),
        ("symmetric", "equal seats"),
        ("role", "the role talker see or do different things"),
        ("reset", "reset with one key"),
        ("step", "a step with one key"),
        ("space", "step 0: first sees"),
        ("state", "keep its shape"),
        ("nan", "not finite"),
        ("integer reward", "first: reward"),
        ("Python's float", r"first: reward is 0.5, of Python's float: return jnp.float32\(...\)"),
        ("flag", r"truncated is int32\[\]: return jnp.bool_\(...\)"),
        ("alive", "first: alive"),
        ("seats", "one entry per seat"),
        ("late", "step 6 of an episode of 6: truncated too late"),
        ("early", "step 5 of an episode of 6: truncated too early"),
        ("acting", "both given, or both empty"),
        ("no acts", "both given, or both empty"),
        ("one acts", "one entry of acts per seat"),
        ("nobody", "nobody acts"),
        ("waiting", "must not matter"),
        ("drawing", "draw must return a scene"),
        ("legal", "first waits and has 3 legal choices|second waits and has 3 legal choices"),
    ],
)
def test_a_breach_is_found(breach: str, says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        check_game(Turns(breach=breach), steps=14)
