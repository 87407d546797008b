"""The switch riddle: its rules, and what is earned by who sees everything."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.core.errors import ComityError
from comity.games.switch_riddle import SwitchRiddle
from comity.testing import check_game

KEY = jax.random.key(0)


@pytest.mark.parametrize("switch", [True, False])
def test_contract(switch: bool) -> None:
    check_game(SwitchRiddle(switch=switch))


@pytest.mark.parametrize(("prisoners", "days", "oracle"), [(3, 6, 0.7407), (4, 10, 0.7806)])
def test_who_sees_everything_earns_what_is_known(prisoners: int, days: int, oracle: float) -> None:
    game = SwitchRiddle(prisoners=prisoners)
    assert (game.days, game.horizon) == (days, days)
    assert game.oracle == pytest.approx(oracle, abs=1e-4)

    def play(key):
        def day(carry, key):
            state, over, earned = carry
            tells = jnp.where(state.visited.all(), 1, 0)
            state, step = game.step(key, state, (tells,) * prisoners)
            return (state, over | step.terminated, earned + jnp.where(over, 0.0, step.reward[0])), None

        first, rest = jax.random.split(key)
        start = (game.reset(first)[0], jnp.bool_(False), jnp.float32(0.0))
        return jax.lax.scan(day, start, jax.random.split(rest, days))[0][2]

    earned = np.asarray(jax.vmap(play)(jax.random.split(KEY, 8000)))
    assert earned.mean() == pytest.approx(oracle, abs=0.02)


def test_rules_by_hand() -> None:
    game = SwitchRiddle()
    state, _ = game.reset(KEY)
    state = state._replace(inside=jnp.int32(1), visited=jnp.array([False, True, False]))
    wait, lie = (jnp.int32(2),) * 3, (jnp.int32(1),) * 3
    after, step = game.step(KEY, state, wait)  # waits, and leaves the switch on
    inside = int(after.inside)
    for seat, (seen, legal) in enumerate(step.obs):
        assert [int(part) for part in seen] == ([1, 2, 1] if seat == inside else [0, 0, 1])
        assert legal.tolist() == ([True] * 4 if seat == inside else [True, False, False, False])
    assert [float(reward) for reward in game.step(KEY, state, lie)[1].reward] == [-1.0] * 3
    assert bool(game.step(KEY, state, lie)[1].terminated)
    told = game.step(KEY, state._replace(visited=jnp.ones(3, jnp.bool_)), lie)[1]
    assert [float(reward) for reward in told.reward] == [1.0] * 3
    with pytest.raises(ComityError, match="prisoners"):
        SwitchRiddle(prisoners=1)
