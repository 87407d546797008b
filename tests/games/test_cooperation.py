"""What counts as cooperation in each game, computed by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.core.agent import Player
from comity.core.game import Environment
from comity.games.bargaining import BargainingState
from comity.games.coin import CoinState
from comity.games.matrix import MatrixGame
from comity.games.matrix.iterated import cooperative_action
from comity.games.negotiation import NegotiationState
from comity.games.transforms import PaddedSeats, SharedReward, TimeLimit, TremblingHand
from comity.play.loading import scripted_player
from comity.play.match import play
from comity.play.outcomes import cooperation
from comity.play.specs import make_game

KEY = jax.random.key(0)
DILEMMA = make_game("prisoners-dilemma", horizon=10)


def shares(game: Environment, players: tuple[Player, ...], episodes: int = 2) -> list[float]:
    assert game.horizon is not None
    found = cooperation(game, play(game, players, KEY, episodes, game.horizon))
    assert found is not None
    ratio = np.asarray(found.cooperative).sum(axis=1) / np.asarray(found.choices).sum(axis=1)
    return [round(float(share), 6) for share in ratio]


def pair(game: Environment, *names: str) -> tuple[Player, ...]:
    return tuple(scripted_player(name, game, seat) for seat, name in enumerate(names))


def test_tit_for_tat_cooperates_once_with_always_defect() -> None:
    assert shares(DILEMMA, pair(DILEMMA, "tit-for-tat", "always-defect")) == [0.1, 0.0]
    assert shares(DILEMMA, pair(DILEMMA, "tit-for-tat", "always-cooperate")) == [1.0, 1.0]


def test_transforms_pass_it_on() -> None:
    players = pair(DILEMMA, "tit-for-tat", "always-defect")
    for game in (SharedReward(game=DILEMMA), TimeLimit(game=DILEMMA, horizon=5)):
        assert game.horizon is not None
        assert shares(game, players) == [1 / game.horizon, 0.0]
        assert game.disagreement == (-2.0, -2.0)
    padded = PaddedSeats(game=DILEMMA)
    state, _ = padded.reset(KEY)
    after, _ = padded.step(KEY, state, (jnp.int32(1), jnp.int32(0)))
    found = padded.cooperation(padded.view(state), (jnp.int32(1), jnp.int32(0)), padded.view(after))
    assert found is not None
    assert [float(own.cooperative) for own in found] == [0.0, 1.0]


def test_what_was_carried_out_counts() -> None:
    """With hands that always tremble, everybody does one of two actions by chance."""
    random = TremblingHand(game=DILEMMA, probability=1.0)
    found = shares(random, pair(DILEMMA, "always-defect", "always-defect"), episodes=200)
    np.testing.assert_allclose(found, 0.5, atol=0.05)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("prisoners-dilemma", 0), ("stag-hunt", 0), ("chicken", 0), ("battle-of-the-sexes", None),
        ("matching-pennies", None), ("rock-paper-scissors", None), ("climbing", None),
    ],
)  # fmt: skip
def test_which_matrix_games_have_a_cooperative_action(name: str, expected: int | None) -> None:
    game = make_game(name)
    assert cooperative_action(game.payoffs) == expected  # type: ignore[attr-defined]
    state, _ = game.reset(KEY)
    assert (game.cooperation(state, (), state) is None) == (expected is None)


def test_a_dilemma_written_the_other_way_round_and_with_three_players() -> None:
    payoffs = make_game("prisoners-dilemma").payoffs  # type: ignore[attr-defined]
    assert cooperative_action(payoffs[:, ::-1, ::-1]) == 1
    gives = 1 - np.indices((2, 2, 2))  # a public good of three: action 0 gives 1, doubled and shared
    goods = 2.0 * gives.sum(axis=0) / 3 - gives
    assert cooperative_action(goods) == 0
    assert cooperative_action(4.0 * gives.sum(axis=0) / 3 - gives) is None  # to give is dominant: no dilemma
    game = MatrixGame.from_tensor(goods)
    assert game.disagreement == (0.0, 0.0, 0.0)


def test_public_goods() -> None:
    game = make_game("public-goods", players=3, horizon=4)
    names = ("always-cooperate", "always-defect", "always-cooperate")
    assert shares(game, pair(game, *names)) == [1.0, 0.0, 1.0]


def test_own_coins_are_cooperative() -> None:
    """Both stand left of the coin, which belongs to the second; both take it."""
    game = make_game("coin")
    state = CoinState(jnp.asarray([0, 0]), jnp.int32(1), jnp.int32(1), jnp.int32(0))
    for actions, expected in {(0, 0): ([0, 1], [1, 1]), (0, 2): ([0, 0], [1, 0])}.items():
        after, _ = game.step(KEY, state, tuple(jnp.int32(action) for action in actions))
        found = game.cooperation(state, (), after)
        assert found is not None
        assert ([float(own.cooperative) for own in found], [float(own.choices) for own in found]) == expected
    assert shares(game, pair(game, "always-cooperate", "always-cooperate")) == [1.0, 1.0]


def test_what_is_left_of_items_that_the_other_needs_more() -> None:
    game = make_game("negotiation")
    state = NegotiationState(jnp.asarray([[5.0, 1, 1], [1, 5, 5]]), jnp.zeros((2, 3)), jnp.int32(0))
    actions = (jnp.asarray([5.0, 5.0, 2.5]), jnp.asarray([1.0, 5.0, 5.0]))
    after, _ = game.step(KEY, state, actions)
    found = game.cooperation(state, actions, after)
    assert found is not None
    np.testing.assert_allclose([own.cooperative for own in found], [0.0 + 0.5, 0.8], rtol=1e-6)
    np.testing.assert_allclose([own.choices for own in found], [2.0, 1.0])


def test_offers_of_half_or_more() -> None:
    game = make_game("alternating-offers")
    for offer, expected in ((0.25, 0.5), (0.5, 1.0), (0.9, 1.0)):
        state = BargainingState(jnp.int32(0), jnp.float32(0.0))
        actions = (jnp.asarray([offer]), jnp.asarray([0.0]))
        after, _ = game.step(KEY, state, actions)
        first, second = game.cooperation(state, actions, after)  # type: ignore[misc]
        assert (float(first.cooperative), float(first.choices), float(second.choices)) == (expected, 1, 0)
        answer = game.cooperation(after, actions, game.step(KEY, after, actions)[0])
        assert [float(own.choices) for own in answer] == [0.0, 0.0]  # type: ignore[union-attr]


def test_a_bite_is_cooperative_while_another_apple_is_near() -> None:
    game = make_game("commons-harvest", players=1)
    state, _ = game.reset(KEY)
    own = game.layout  # type: ignore[attr-defined]
    target = int(own.apples[0])
    before = int(np.flatnonzero((own.steps == target).any(axis=1) & (np.arange(own.cells) != target))[0])
    way = int(np.flatnonzero(own.steps[before] == target)[0])
    for alone, expected in ((False, 1.0), (True, 0.0)):
        apples = jnp.arange(len(own.apples)) == 0 if alone else state.apples
        here = state._replace(cells=jnp.asarray([before]), facing=jnp.asarray([way]), apples=apples)
        after, step = game.step(KEY, here, (jnp.int32(1),))
        (found,) = game.cooperation(here, (), after)  # type: ignore[misc]
        assert float(step.reward[0]) == 1.0
        assert (float(found.choices), float(found.cooperative)) == (1.0, expected)
        still, _ = game.step(KEY, here, (jnp.int32(0),))
        assert float(game.cooperation(here, (), still)[0].choices) == 0.0  # type: ignore[index]


def test_games_that_define_none() -> None:
    for name in ("foraging", "simple-tag", "two-step"):
        game = make_game(name)
        state, _ = game.reset(KEY)
        assert game.cooperation(state, (), state) is None
        assert game.disagreement == (0.0,) * len(game.seats)
