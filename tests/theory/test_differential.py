"""The same games solved by Nashpy and QuantEcon."""

import warnings

import numpy as np
import pytest

from comity.theory import (
    NormalFormGame,
    eliminate_dominated,
    lemke_howson,
    run_fictitious_play,
    support_enumeration,
    vertex_enumeration,
)

nashpy = pytest.importorskip("nashpy")
quantecon = pytest.importorskip("quantecon.game_theory")


def as_set(pairs):
    return {tuple(np.round(np.concatenate(pair), 6) + 0.0) for pair in pairs}


def quantecon_game(payoffs):
    players = (quantecon.Player(payoffs[0]), quantecon.Player(np.ascontiguousarray(payoffs[1].T)))
    return quantecon.NormalFormGame(players)


@pytest.mark.parametrize("seed", range(8))
def test_all_equilibria_of_random_games(seed):
    rng = np.random.default_rng(seed)
    payoffs = rng.normal(size=(2, *rng.integers(2, 5, size=2)))
    game = NormalFormGame(payoffs)
    ours = as_set(e.strategies for e in vertex_enumeration(game))
    assert ours == as_set(quantecon.vertex_enumeration(quantecon_game(payoffs)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        theirs = as_set(nashpy.Game(*payoffs).support_enumeration())
    # An even number is a sign, about which Nashpy warns, that it missed one to rounding (seed 3).
    assert theirs <= ours if caught else theirs == ours


def test_all_equilibria_of_a_larger_random_game():
    payoffs = np.random.default_rng(5).normal(size=(2, 9, 8))
    ours = as_set(e.strategies for e in vertex_enumeration(NormalFormGame(payoffs)))
    assert ours == as_set(quantecon.vertex_enumeration(quantecon_game(payoffs)))


@pytest.mark.parametrize("seed", range(6))
def test_extreme_equilibria_of_degenerate_games(seed):
    """Nashpy's vertex enumeration visits the same vertices; each of its equilibria must be among ours."""
    rng = np.random.default_rng(seed)
    payoffs = rng.integers(0, 3, size=(2, 3, 3)).astype(float)
    ours = as_set(e.strategies for e in support_enumeration(NormalFormGame(payoffs)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = as_set(nashpy.Game(*payoffs).vertex_enumeration())
    assert theirs <= ours


@pytest.mark.parametrize("seed", range(5))
def test_lemke_howson_follows_the_same_path(seed):
    payoffs = np.random.default_rng(seed).normal(size=(2, 12, 9))
    for label in (0, 5, 15):
        theirs = quantecon.lemke_howson(quantecon_game(payoffs), init_pivot=label)
        ours = lemke_howson(NormalFormGame(payoffs), label).strategies
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_strictly_dominated_actions(seed):
    """QuantEcon tests dominance by mixtures too."""
    rng = np.random.default_rng(seed)
    payoffs = rng.normal(size=(2, 5, 3))
    one_round = eliminate_dominated(NormalFormGame(payoffs)).rounds
    ours = sorted(d.action for d in (one_round[0] if one_round else ()) if d.player == 0)
    assert ours == sorted(quantecon_game(payoffs).players[0].dominated_actions())


def test_fictitious_play_agrees_with_nashpy():
    payoffs = np.array([[[3.0, 0.0], [5.0, 1.0]], [[3.0, 5.0], [0.0, 1.0]]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        counts = list(nashpy.Game(*payoffs).fictitious_play(iterations=50))[-1]
    ours = run_fictitious_play(payoffs, (np.array([0.5, 0.5]), np.array([0.5, 0.5])), 50)
    for a, b in zip(ours, counts, strict=True):
        np.testing.assert_allclose(np.asarray(a)[-1], np.asarray(b) / sum(b), atol=0.02)
