"""Optimal strategies of a two-player zero-sum (or constant-sum) game by linear programming.

1. Row player: maximise v subject to  A' x >= v, x a probability vector.
2. Column player: the dual of the same program.
3. Together they are an equilibrium, and v is the value of the game.

Source: von Neumann and Morgenstern, "Theory of Games and Economic Behavior", 1944; Dantzig, "A proof of
the equivalence of the programming problem and the game problem", 1951.
"""

from comity.theory.errors import TheoryError
from comity.theory.normal_form.game import Equilibrium, NormalFormGame, equilibrium
from comity.theory.normal_form.security import security
from comity.theory.normal_form.structure import is_constant_sum


def solve_zero_sum(game: NormalFormGame) -> Equilibrium:
    """An equilibrium of a constant-sum game; `payoffs[0]` is the value."""
    game.bimatrix("The linear program for zero-sum games")
    if not is_constant_sum(game):
        raise TheoryError(
            "The payoffs do not add up to a constant, so the game is not zero-sum; lemke_howson or "
            "vertex_enumeration would work."
        )
    strategies = security(game, 0).strategy, security(game, 1).strategy
    return equilibrium(game, strategies, "zero-sum linear program")
