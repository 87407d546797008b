"""Payoffs per step that patience can sustain in a repeated two-player game.

1. Feasible payoffs: the convex hull of the payoffs of all pure profiles.
2. Individually rational: at least what each player can secure, their minimax value.
3. The folk theorem: every feasible payoff pair strictly above the minimax point is that of some
   equilibrium of the repeated game if the players are patient enough. The region is the hull cut by the
   two half-planes.
4. How patient for a pure profile a sustained by going back to a stage equilibrium e for ever after a
   deviation (grim trigger):

       d >= max_i  (max_a' u_i(a', a_-i) - u_i(a)) / (max_a' u_i(a', a_-i) - u_i(e)).

Source: Fudenberg and Maskin, "The folk theorem in repeated games with discounting or with incomplete
information", Econometrica, 1986; Friedman, "A non-cooperative equilibrium for supergames", 1971.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from comity.core.display import displayed
from comity.theory.errors import TheoryError
from comity.theory.normal_form.game import NormalFormGame
from comity.theory.normal_form.security import security

Polygon = Float[np.ndarray, "_ 2"]  # counter-clockwise


@displayed
class PayoffRegion(NamedTuple):
    """Pairs of payoffs per step: what can be had, and what both players would accept."""

    feasible: Polygon
    minimax: Float[np.ndarray, "2"]
    rational: Polygon  # feasible and individually rational


def payoff_region(game: NormalFormGame) -> PayoffRegion:
    """The feasible and the individually rational payoffs of a two-player game."""
    game.bimatrix("The folk-theorem region")
    feasible = convex_hull(game.payoffs.reshape(2, -1).T)
    minimax = np.array([security(game, 0).value, security(game, 1).value])
    rational = feasible
    for player in range(2):
        rational = cut(rational, player, float(minimax[player]))
    return PayoffRegion(feasible, minimax, rational)


def convex_hull(points: Float[np.ndarray, "points 2"]) -> Polygon:
    """Corners of the hull, counter-clockwise (Andrew's monotone chain); fewer than three if it is flat."""
    ordered = np.unique(points, axis=0)
    flat = 1e-12 * float(np.prod(np.ptp(points, axis=0)))  # a turn that is only rounding
    if len(ordered) <= 2:
        return ordered

    def chain(sequence: np.ndarray) -> list[np.ndarray]:
        corners: list[np.ndarray] = []
        for point in sequence:
            while len(corners) >= 2 and turn(corners[-2], corners[-1], point) <= flat:
                corners.pop()
            corners.append(point)
        return corners[:-1]

    return np.array(chain(ordered) + chain(ordered[::-1]))


def turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    """Positive if a, b, c turn left."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def cut(polygon: Polygon, axis: int, least: float) -> Polygon:
    """The part of `polygon` with coordinate `axis` at least `least` (Sutherland and Hodgman)."""
    slack = 1e-9 * float(np.abs(polygon).max(initial=0.0))
    corners: list[np.ndarray] = []
    for here, ahead in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        inside, next_inside = here[axis] >= least - slack, ahead[axis] >= least - slack
        if inside:
            corners.append(here)
        if inside != next_inside:
            share = (least - here[axis]) / (ahead[axis] - here[axis])
            corners.append(here + share * (ahead - here))
    return convex_hull(np.array(corners)) if corners else np.empty((0, 2))


def grim_trigger_discount(
    game: NormalFormGame, actions: Sequence[int], punishment: Sequence[np.ndarray]
) -> float | None:
    """The least discount at which grim trigger sustains `actions`; None if no discount below 1 does.

    `punishment` is the stage equilibrium that everyone goes back to after a deviation.
    """
    if game.regrets(punishment).max() > 1e-6 * float(np.abs(game.payoffs).max()):
        raise TheoryError(
            "punishment is not an equilibrium of the stage game; take one from pure_equilibria."
        )
    target = game.pure(actions)
    needed = 0.0
    for player in range(game.num_players):
        deviation = float(game.action_payoffs(player, target).max())
        agreed = float(game.expected_payoffs(target)[player])
        punished = float(game.expected_payoffs(punishment)[player])
        if deviation <= agreed:
            continue
        if agreed <= punished:
            return None
        needed = max(needed, (deviation - agreed) / (deviation - punished))
    return needed
