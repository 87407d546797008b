"""Policies as the actions of a game: every profile is played, and what each seat earned is its payoff.

For any number of seats, each with policies of its own. Payoffs are rewards per step with 95% bootstrap
intervals over episodes, so that what game theory says of them can be trusted or not.

Source: Wellman, "Methods for empirical game-theoretic analysis", AAAI 2006.
"""

import math
from collections.abc import Mapping

import jax
import numpy as np

from comity.core.agent import Player
from comity.core.errors import ComityError, require
from comity.core.game import Environment, PerSeat
from comity.evaluate.statistics import bootstrap_mean
from comity.play.match import play_matches
from comity.theory.empirical.empirical_game import EmpiricalGame
from comity.theory.normal_form.game import NormalFormGame

MOST_PROFILES = 4_096


def policy_game(
    game: Environment,
    policies: PerSeat[Mapping[str, Player]],
    *,
    episodes: int = 100,
    horizon: int | None = None,
    seed: int = 0,
) -> EmpiricalGame:
    """The game whose actions in seat s are `policies[s]`, by name, as they were measured.

    Each profile plays the same number of episodes, all in one program.
    """
    seats = len(game.seats)
    require(len(policies) == seats, "policies", len(policies), f"{seats}, one mapping per seat")
    for seat, own in enumerate(policies):
        require(len(own) >= 1, f"policies of {game.seats[seat].name}", len(own), "at least one")
    require(episodes >= 2, "episodes", episodes, "at least 2, for an interval")
    length = game.horizon if horizon is None else horizon
    if length is None:
        raise ComityError("This game has no fixed length: give it a horizon.")
    sizes = tuple(len(own) for own in policies)
    count = math.prod(sizes)
    require(count <= MOST_PROFILES, "profiles", count, f"at most {MOST_PROFILES:,}: give fewer policies")
    everyone = [player for own in policies for player in own.values()]
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    profiles = np.asarray(list(np.ndindex(*sizes)), np.int64)
    reward = play_matches(game, everyone, profiles + first, jax.random.key(seed), episodes, length).reward
    found = np.empty((3, seats, count))
    for seat in range(seats):
        for place in range(count):
            interval = bootstrap_mean(np.asarray(reward[place, seat], np.float64))
            # The mean of few and skewed samples can lie outside its bootstrap interval.
            mean = interval.mean
            found[:, seat, place] = mean, min(mean, interval.low), max(mean, interval.high)
    tensors = found.reshape(3, seats, *sizes)
    named = NormalFormGame(
        tensors[0],
        players=tuple(seat.name for seat in game.seats),
        actions=tuple(tuple(own) for own in policies),
    )
    return EmpiricalGame.from_tensor(named, tensors[1], tensors[2])
