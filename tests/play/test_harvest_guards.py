"""Guards and strangers of Commons Harvest: whom they zap, what they remember, how strong they are."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.agents.scripted.harvest_strangers import Stranger
from comity.core.agent import Agent
from comity.core.errors import ComityError
from comity.games.harvest_planes import PLANES
from comity.learn.schedules import Linear
from comity.play.specs import make_agent, make_game

GAME = make_game("commons-harvest-open", horizon=100)
TOLD = make_game("commons-harvest-open", horizon=100, identity="seat")
ZAP = 7


def window(**cells: tuple[str, ...]) -> np.ndarray:
    """A window with a zap ready and planes set at cells named like `r8c5`; `seat N` is an identity."""
    seen = np.full((11, 11), 1 << PLANES.index("ready to zap"), np.int32)
    for place, names in cells.items():
        row, column = (int(part) for part in place[1:].split("c"))
        for name in names:
            bit = len(PLANES) + int(name[5:]) if name.startswith("seat ") else PLANES.index(name)
            seen[row, column] |= 1 << bit
    return seen


def acts(agent: Agent, told: bool, *windows: np.ndarray) -> list[int]:
    """What an agent does in a row of windows."""
    params = agent.policy(agent.init(jax.random.key(0), (TOLD if told else GAME).spec, (0,)))
    carry, done = agent.initial_carry(params), []
    act = jax.jit(agent.act)
    for i, seen in enumerate(windows):
        found = act(params, carry, jnp.asarray(seen), jax.random.key(i))
        carry = found.carry
        done.append(int(found.action))
    return done


THIEF = window(r8c5=("player facing me", "grass", "seat 2"), r8c4=("apple",))
PASSER = window(r8c5=("player facing me", "seat 2"))
FED = window(r8c5=("player facing me", "grass", "seat 2"), r8c4=("apple",), r7c5=("apple",), r8c6=("apple",))


def test_a_guardian_zaps_who_leaves_too_few_and_knows_it_again_only_by_identity() -> None:
    guardian = make_agent("guardian", GAME, grudge=2)
    assert acts(guardian, False, THIEF & 4095)[0] == ZAP
    assert acts(guardian, False, FED & 4095)[0] != ZAP
    assert acts(guardian, False, THIEF & 4095, PASSER & 4095)[1] != ZAP
    told = acts(guardian, True, PASSER, THIEF, PASSER, PASSER, PASSER)
    assert [action == ZAP for action in told] == [False, True, True, False, False]


def test_told_guards_zap_strangers_only_and_not_through_friends() -> None:
    guard = make_agent("guardian", TOLD, targets="strangers")
    stranger = window(r7c5=("player facing me", "seat 6"))
    friend = window(r7c5=("player facing me", "seat 1"))
    behind = window(r8c5=("player facing me", "seat 1"), r7c5=("player facing me", "seat 6"))
    assert [acts(guard, True, seen)[0] == ZAP for seen in (stranger, friend, behind)] == [True, False, False]
    with pytest.raises(ComityError, match="identity"):
        guard.check(GAME.spec, (0,))


@pytest.mark.parametrize(
    ("place", "action"), [("r2c5", 1), ("r7c8", 4), ("r7c2", 3), ("r9c9", 6), ("r10c4", 5)]
)
def test_a_warden_goes_after_strangers(place: str, action: int) -> None:
    warden = make_agent("warden", TOLD, targets="strangers")
    assert acts(warden, True, window(**{place: ("player facing me", "seat 5")})) == [action]


def test_strangers_blunder_as_often_as_asked_and_better_late_than_early() -> None:
    stranger = Stranger(blunders=Linear(1.0, 0.2, 0.5), plenty=2)
    state = stranger.init(jax.random.key(0), GAME.spec, (5,))
    assert float(stranger.policy(state)) == pytest.approx(0.2)
    assert float(stranger.behaviour(state, jnp.float32(0.25))) == pytest.approx(0.6)
    assert float(stranger.behaviour(state, jnp.float32(1.0))) == pytest.approx(0.2)
    few, many = window(r5c5=("apple",)), window(r5c5=("apple",), r4c5=("apple",))

    def forward(params: float, seen: np.ndarray) -> float:
        carry = stranger.initial_carry(state)
        keys = jax.random.split(jax.random.key(1), 400)
        act = jax.vmap(lambda key: stranger.act(jnp.float32(params), carry, jnp.asarray(seen), key).action)
        return float((act(keys) == 1).mean())

    assert forward(1.0, few) == pytest.approx(1 / 7, abs=0.05)
    assert forward(0.5, few) == pytest.approx(0.5 + 0.5 / 7, abs=0.06)
    assert forward(1.0, many) == 1.0


def test_a_mixed_stranger_keeps_its_character_for_an_episode() -> None:
    stranger = Stranger(variety=0.2, zappers=0.5)
    params, seen = jnp.float32(0.6), jnp.asarray(window())

    def characters(key: jax.Array) -> jax.Array:
        first = stranger.act(params, stranger.initial_carry(params), seen, key).carry
        second = stranger.act(params, first, seen, jax.random.fold_in(key, 1)).carry
        return jnp.stack([*first, *second])

    found = np.asarray(jax.vmap(characters)(jax.random.split(jax.random.key(0), 200)))
    np.testing.assert_array_equal(found[:, :2], found[:, 2:])
    assert 0.4 <= found[:, 0].min() < 0.45 < 0.75 < found[:, 0].max() <= 0.8
    assert 0.3 < found[:, 1].mean() < 0.7
