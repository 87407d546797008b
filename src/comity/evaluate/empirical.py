"""A league as a game: its players are the strategies, and what they earn the payoffs."""

import numpy as np

from comity.evaluate.league import League
from comity.theory.empirical.empirical_game import EmpiricalGame


def empirical_game(league: League) -> EmpiricalGame:
    """The game whose strategies are the league's players and whose payoffs are what these earn."""
    # The mean of few and skewed samples can lie outside its bootstrap interval.
    low, high = np.minimum(league.low, league.mean), np.maximum(league.high, league.mean)
    return EmpiricalGame.from_league(league.mean, low, high, league.players)
