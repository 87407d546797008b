"""What a game could yield: Pareto-optimal profiles, the social optimum, and the price of selfishness.

A profile is Pareto-optimal if no other gives every player at least as much and someone more. With W the
sum of payoffs,

    price of anarchy   = max W / W(worst equilibrium),
    price of stability = max W / W(best equilibrium).

Both need positive welfare in equilibrium; the difference to the optimum is always given.

Source: Koutsoupias and Papadimitriou, "Worst-case equilibria", STACS 1999; Anshelevich et al., "The price
of stability for network design with fair cost allocation", FOCS 2004.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from comity.core.display import displayed
from comity.theory.errors import TheoryError
from comity.theory.normal_form.game import Equilibrium, NormalFormGame


@displayed
class Optimum(NamedTuple):
    """The greatest sum of payoffs, and where it is had."""

    profiles: tuple[tuple[int, ...], ...]  # every pure profile of greatest welfare
    welfare: float


@displayed
class PriceOfSelfishness(NamedTuple):
    """Welfare in equilibrium beside the optimum: the prices of anarchy and of stability."""

    optimum: float
    best: float  # welfare of the best equilibrium
    worst: float
    anarchy: float | None  # None where welfare is not positive and a ratio says nothing
    stability: float | None


def is_pareto_optimal(points: Float[np.ndarray, "points players"]) -> Bool[np.ndarray, " points"]:
    """For each row of payoffs, whether no other row dominates it."""
    optimal = np.ones(len(points), dtype=np.bool_)
    for k, point in enumerate(points):
        optimal[k] = not ((points >= point).all(1) & (points > point).any(1)).any()
    return optimal


def pareto_profiles(game: NormalFormGame) -> list[tuple[int, ...]]:
    """The pure profiles that no other pure profile dominates."""
    points = game.payoffs.reshape(game.num_players, -1).T
    chosen = np.flatnonzero(is_pareto_optimal(points))
    return [tuple(int(a) for a in np.unravel_index(int(k), game.num_actions)) for k in chosen]


def social_optimum(game: NormalFormGame) -> Optimum:
    """The pure profiles with the greatest sum of payoffs."""
    welfare = game.payoffs.sum(axis=0)
    best = float(welfare.max())
    slack = 1e-12 * float(np.abs(game.payoffs).max())
    return Optimum(tuple(tuple(a) for a in np.argwhere(welfare >= best - slack).tolist()), best)


def price_of_selfishness(game: NormalFormGame, equilibria: Sequence[Equilibrium]) -> PriceOfSelfishness:
    """The price of anarchy and of stability over the given equilibria."""
    if not equilibria:
        raise TheoryError("equilibria is empty; the price of anarchy needs at least one equilibrium.")
    optimum = social_optimum(game).welfare
    welfare = [float(e.payoffs.sum()) for e in equilibria]
    best, worst = max(welfare), min(welfare)
    rounding = 1e-12 * float(np.abs(game.payoffs).max())
    anarchy, stability = (optimum / total if total > rounding else None for total in (worst, best))
    return PriceOfSelfishness(optimum, best, worst, anarchy, stability)
