"""Games as PettingZoo environments, by PettingZoo's own tests."""

from functools import partial

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test
from pettingzoo.utils.conversions import parallel_to_aec

from comity.bridges.pettingzoo import to_pettingzoo
from comity.core.errors import ComityError
from comity.play.specs import make_game

GAMES = ["prisoners-dilemma", "coin", "negotiation", "simple-tag", "probe-odd-seats", "public-goods"]


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_games_pass_pettingzoos_tests(name: str) -> None:
    game = make_game(name)
    parallel_api_test(to_pettingzoo(game), num_cycles=60)
    parallel_seed_test(partial(to_pettingzoo, game), num_cycles=20)
    assert parallel_to_aec(to_pettingzoo(game)).possible_agents == [seat.name for seat in game.seats]


def test_bad_actions_are_refused() -> None:
    environment = to_pettingzoo(make_game("prisoners-dilemma"))
    with pytest.raises(ComityError, match="reset"):
        environment.step({})
    environment.reset(seed=1)
    first, second = environment.possible_agents
    with pytest.raises(ComityError, match="no action for"):
        environment.step({first: 0})
    with pytest.raises(ComityError, match="not one of 2 choices"):
        environment.step({first: 0, second: 2})
    obs, rewards, *_ = environment.step({first: 0, second: 1})
    assert rewards == {first: -3.0, second: 0.0}
    assert all(np.isscalar(value) or value.shape == () for value in obs.values())
