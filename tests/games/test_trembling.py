"""Hands that tremble: towards anything, or always towards one choice."""

import jax
import numpy as np
import pytest

import comity
from comity.core.errors import ComityError
from comity.games.transforms import TremblingHand
from comity.play.match import play
from comity.testing import check_game

DILEMMA = comity.make_game("prisoners-dilemma", horizon=40)


@pytest.mark.parametrize(("towards", "share"), [(1, 0.3), (None, 0.15), (0, 0.0)])
def test_accidents_are_defections_as_often_as_is_said(towards: int | None, share: float) -> None:
    game = TremblingHand(game=DILEMMA, probability=0.3, towards=towards)
    cooperator = comity.load_player("always-cooperate", game)
    seen = np.asarray(play(game, (cooperator,) * 2, jax.random.key(0), 200, 40).step.obs[0])
    assert np.isin(seen, (3, 4)).mean() == pytest.approx(share, abs=0.02)


def test_a_choice_that_is_not_there_is_refused() -> None:
    with pytest.raises(ComityError, match="number of a choice"):
        TremblingHand(game=DILEMMA, towards=2)
    check_game(TremblingHand(game=DILEMMA, towards=1))
