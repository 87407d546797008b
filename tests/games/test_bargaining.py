"""Alternating offers: rules by hand, whose turn it is, and the subgame-perfect equilibrium."""

from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.agents.scripted.bargaining import SubgamePerfect
from comity.api import scripted_player
from comity.core.batch import team_batch
from comity.core.errors import ComityError
from comity.games.bargaining import AlternatingOffers, subgame_perfect_split
from comity.play.match import match_rewards, play
from comity.play.specs import make_agent, make_game
from comity.returns.advantages import gae, step_discounts

KEY = jax.random.key(0)


def outcomes(game: AlternatingOffers, numbers: np.ndarray) -> np.ndarray:
    """What both seats earn, [plays, 2], if the moves are these numbers [plays, time]."""

    def one(moves: jax.Array) -> jax.Array:
        def step(carry: Any, number: jax.Array) -> tuple[Any, jax.Array]:
            state, over = carry
            state, now = game.step(KEY, state, (number[None], number[None]))
            return (state, over | now.terminated), jnp.where(over, 0.0, jnp.stack(now.reward))

        return jax.lax.scan(step, (game.reset(KEY)[0], jnp.bool_(False)), moves)[1].sum(axis=0)

    return np.asarray(jax.jit(jax.vmap(one))(jnp.asarray(numbers, jnp.float32)))


def movers(rounds: int) -> list[int]:
    """Who moves at each time: the proposer of the round, then its responder."""
    return [seat for k in range(rounds) for seat in (k % 2, 1 - k % 2)]


def equilibrium(rounds: int, shrink: tuple[float, float]) -> list[float]:
    """The moves of the equilibrium, whatever was done before: in each round what is offered and accepted."""
    moves = []
    for k in range(rounds):
        responder = 1 - k % 2
        if k == rounds - 1:
            worth = 0.0
        else:  # the responder proposes next: it is the first seat of the game that is left
            worth = subgame_perfect_split(rounds - k - 1, (shrink[responder], shrink[1 - responder]))[0]
        moves += [shrink[responder] * worth] * 2
    return moves


def test_the_split_by_hand() -> None:
    assert subgame_perfect_split(1, (0.3, 0.9)) == (1.0, 0.0)
    np.testing.assert_allclose(subgame_perfect_split(2, (0.3, 0.9)), (0.1, 0.9))
    # Round 2: the first takes all; round 1: it is offered .5; round 0: the second is offered .8 * .5.
    np.testing.assert_allclose(subgame_perfect_split(3, (0.5, 0.8)), (0.6, 0.4))
    np.testing.assert_allclose(subgame_perfect_split(200, (0.9, 0.8)), (0.2 / 0.28, 0.08 / 0.28), rtol=1e-6)
    np.testing.assert_allclose(
        AlternatingOffers(rounds=3, shrink=(0.5, 0.8)).subgame_perfect_split, (0.6, 0.4)
    )


def test_rules_by_hand() -> None:
    game = AlternatingOffers(rounds=2, pie=10.0, shrink=(0.5, 0.8))
    plays = [
        [0.3, 0.2, 0.0, 0.0],  # 3 of 10 are offered and accepted at once
        [0.3, 0.4, 0.25, 0.1],  # refused; the second offers a quarter of what 10 are worth a round later
        [0.3, 0.4, 0.25, 0.5],  # refused twice
        [0.3, 0.3, 0.0, 0.0],  # exactly what is asked is enough
    ]
    found = outcomes(game, np.asarray(plays))
    np.testing.assert_allclose(found, [[7.0, 3.0], [0.5 * 2.5, 0.8 * 7.5], [0.0, 0.0], [7.0, 3.0]], rtol=1e-6)


def test_whose_turn_it_is_and_what_is_seen() -> None:
    game = AlternatingOffers(rounds=2, shrink=(0.5, 0.8))
    state, obs = game.reset(KEY)
    acts, phases = [game.acting(state)], [obs]
    for number in (0.3, 0.9, 0.25):
        state, step = game.step(KEY, state, (jnp.float32([number]),) * 2)
        acts.append(step.acts)
        phases.append(step.obs)
        assert not bool(step.terminated)
    assert [[bool(a) for a in flags] for flags in acts] == [
        [True, False],
        [False, True],
        [False, True],
        [True, False],
    ]
    assert [[int(seen[1]) for seen in both] for both in phases] == [[1, 0], [0, 2], [0, 1], [2, 0]]
    offers = [float(both[0][2][0]) for both in phases]
    np.testing.assert_allclose(offers, [0.0, 0.3, 0.0, 0.25])
    rounds = [int(both[0][0]) for both in phases]
    assert rounds == [0, 0, 1, 1]
    np.testing.assert_allclose(phases[0][0][2][1:], [0.5, 0.8])
    np.testing.assert_allclose(phases[0][1][2][1:], [0.8, 0.5])
    assert bool(game.step(KEY, state, (jnp.float32([0.9]),) * 2)[1].terminated)


SETTINGS = list(product([1, 2, 3, 6], [(0.8, 0.8), (0.5, 0.9), (1.0, 0.25), (0.0, 0.6)]))


@pytest.mark.parametrize(("rounds", "shrink"), SETTINGS)
def test_nobody_gains_by_deviating(rounds: int, shrink: tuple[float, float]) -> None:
    """In every round that may be reached, every other offer or demand gains nothing from there on."""
    game = AlternatingOffers(rounds=rounds, shrink=shrink)
    moves, who = equilibrium(rounds, shrink), movers(rounds)
    grid = np.linspace(0.0, 1.0, 41)
    stays, deviations, deviators = [], [], []
    for start in range(rounds):
        # Subgames: before `start` nothing is offered and all is asked, so that the round is reached.
        play_on = [0.0, 1.0] * start + moves[2 * start :]
        for time in range(2 * start, 2 * rounds):
            plays = np.tile(play_on, (len(grid), 1))
            plays[:, time] = grid
            deviations.append(plays)
            stays.append(play_on)
            deviators.append(who[time])
    kept = outcomes(game, np.asarray(stays))
    np.testing.assert_allclose(kept[0], game.subgame_perfect_split, atol=1e-6)
    found = outcomes(game, np.concatenate(deviations)).reshape(len(deviations), len(grid), 2)
    for case, seat in enumerate(deviators):
        assert (found[case, :, seat] <= kept[case, seat] + 1e-5).all()


def test_nobody_gains_by_deviating_in_all_moves_at_once() -> None:
    game = AlternatingOffers(rounds=2, shrink=(0.5, 0.8))
    moves, grid = equilibrium(2, game.shrink), np.linspace(0.0, 1.0, 21)
    for seat, times in ((0, (0, 3)), (1, (1, 2))):
        plays = np.asarray([moves] * len(grid) ** 2)
        plays[:, times] = list(product(grid, grid))
        assert outcomes(game, plays)[:, seat].max() <= game.subgame_perfect_split[seat] + 1e-5


@pytest.mark.parametrize(("rounds", "shrink"), SETTINGS[::3])
def test_scripted_players_agree_at_once_on_the_split(rounds: int, shrink: tuple[float, float]) -> None:
    game = AlternatingOffers(rounds=rounds, shrink=shrink, pie=3.0)
    players = tuple(scripted_player("subgame-perfect", game, seat) for seat in range(2))
    joint = play(game, players, KEY, 2, 2)
    assert np.asarray(joint.step.terminated).tolist() == [[False, False], [True, True]]
    found = [float(reward[1, 0]) / 3.0 for reward in joint.step.reward]
    np.testing.assert_allclose(found, game.subgame_perfect_split, atol=1e-5)


def test_the_subgame_perfect_player_moves_by_induction_in_every_round() -> None:
    game = AlternatingOffers(rounds=4, shrink=(0.7, 0.9))
    state, obs = game.reset(KEY)
    player, params = SubgamePerfect(), SubgamePerfect().read_seat(game.seats[0])
    for time, wanted in enumerate(equilibrium(4, game.shrink)):
        mover = movers(4)[time]
        number = player.rule(params, (), obs[mover], KEY)[0]
        np.testing.assert_allclose(number, [wanted], atol=1e-6)
        refused = jnp.float32([1.0]) if time % 2 else jnp.float32([0.0])
        state, step = game.step(KEY, state, (refused, refused))
        obs = step.obs


def test_a_league_of_scripted_players() -> None:
    game = make_game("alternating-offers", rounds=2, shrink=(0.5, 0.8))
    players = [scripted_player(name, game) for name in ("fair", "greedy", "subgame-perfect")]
    pairings = np.asarray([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [0, 2], [1, 2]])
    found = match_rewards(game, players, pairings, KEY, 2, 4)[:, :, 0] * 4
    # An episode that ends before the rollout does is followed by another one: totals of four steps.
    expected = [
        [1.0, 1.0],  # two episodes of halves
        [0.0, 0.0],
        [0.0, 0.0],
        [0.0, 0.0],
        [0.4, 1.6],  # the second is offered .8 at once, twice
        [0.0, 0.0],  # half is refused by one who can get .8; nothing is refused by one who wants half
        [0.0, 0.0],
    ]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_what_the_other_accepts_is_credited_to_the_offer() -> None:
    """The first seat's reward comes in a step in which it waits, and belongs to its only move."""
    game = make_game("alternating-offers", rounds=1)
    players = (scripted_player("fair", game, 0), scripted_player("fair", game, 1))
    batch = team_batch(play(game, players, KEY, 1, 4), (0,))
    assert np.asarray(batch.acts)[:, 0, 0].tolist() == [True, False, True, False]
    assert np.asarray(batch.decides)[:, 0, 0].tolist() == [1.0, 0.0, 1.0, 0.0]
    discount, gae_lambda = step_discounts(batch.next_acts[:, 0, 0], 0.5, 0.0)
    nothing = jnp.zeros(4)
    ended = batch.ended[:, 0, 0]
    found = gae(
        batch.reward[:, 0, 0], nothing, nothing, batch.terminated[:, 0, 0], ended, discount, gae_lambda
    )
    np.testing.assert_allclose(found, [0.5, 0.5, 0.5, 0.5])


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"rounds": 0}, "rounds = 0"),
        ({"pie": 0.0}, "pie = 0"),
        ({"shrink": (0.5, 1.5)}, "shrink"),
        ({"shrink": (0.5, float("nan"))}, "shrink"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(ComityError, match=reason):
        make_game("alternating-offers", **settings)


def test_scripted_players_refuse_other_seats() -> None:
    with pytest.raises(ComityError, match="alternating offers"):
        make_agent("greedy", make_game("alternating-offers")).check(make_game("coin").spec, (0,))
