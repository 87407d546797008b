"""Five among two strangers: scores, thefts, who hits whom."""

import numpy as np
import pytest

from comity.evaluate.strangers import KINDS, bushes_alive, meet, normalised, rampage, thefts
from comity.games.commons_harvest import CommonsHarvestOpen
from comity.play.loading import scripted_player

GAME = CommonsHarvestOpen(horizon=40)


def test_scores_are_0_for_random_and_1_for_an_exploiter() -> None:
    for kind, own in KINDS.items():
        np.testing.assert_allclose(normalised(kind, np.asarray([own.random, own.exploiter])), [0.0, 1.0])
    assert normalised("zappers", np.asarray([33.8]))[0] == pytest.approx(3.6, abs=0.01)


def test_an_apple_too_many_is_one_with_fewer_than_three_near() -> None:
    own = GAME.layout
    apple = next(i for i in range(64) if own.near[i].sum() >= 4)
    neighbours = np.flatnonzero(own.near[apple])
    apples = np.zeros((3, 1, 64), bool)
    for step, count in enumerate((3, 2, 2)):
        apples[step, 0, neighbours[:count]] = True
    cells = np.full((3, 1, 2), own.apples[apple])
    cells[:, 0, 1] = -1  # out: nothing is stolen by who is not there
    rewards = np.asarray([[[1.0, 1.0]], [[1.0, 1.0]], [[0.0, 0.0]]])
    assert thefts(own, rewards, cells, apples).tolist() == [
        [[False, False]],
        [[True, False]],
        [[False, False]],
    ]
    assert bushes_alive(apples, own.bushes).tolist() == [[1], [1], [1]]


def test_strangers_take_what_five_bystanders_leave_them() -> None:
    found = rampage(GAME, "pacifists", 2, 40)
    assert found.each.mean() > 8
    assert sum(found.bites) == pytest.approx(1.0)
    assert found.zaps == 0.0
    met = meet(GAME, scripted_player("bystander", GAME), "pacifists", 2, 40)
    assert met.focal.max() == 0.0
    assert met.zaps == (0.0, 0.0)
    assert met.hits == (0.0, 0.0, 0.0, 0.0)
    assert met.left[-1] < 50
