"""The core and the least core: allocations that no coalition would leave.

    core:        x(N) = v(N)  and  x(S) >= v(S) for every coalition S,
    least core:  the smallest e such that x(S) >= v(S) - e for every S other than the empty one and N.

1. Least core by linear programming, with few coalitions at first: solve, add the coalitions that
   complain most against the solution, solve again, until none complains more than e allows.
2. The core is not empty if and only if e <= 0; the point found then lies in it.
3. Otherwise the duals prove it empty (Bondareva and Shapley): weights on coalitions that cover each player
   exactly once in total (balanced), while  sum_S weight_S v(S) > v(N).

Source: Gillies, "Solutions to general non-zero-sum games", 1959; Maschler, Peleg and Shapley, "Geometric
properties of the kernel, nucleolus, and related solution concepts", 1979 (least core); Shapley, "On
balanced sets and cores", 1967; Bondareva, 1963.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from comity.core.display import displayed
from comity.theory.cooperative.coalitional import CoalitionalGame, memberships
from comity.theory.errors import TheoryError
from comity.theory.linear_program import Solution, minimise, solved
from comity.theory.normal_form.game import numbers

TOLERANCE = 1e-9  # of the largest worth
VIOLATED = 1e-10
MOST_PLAYERS = 18


@displayed
class LeastCore(NamedTuple):
    """The smallest excess that must be granted to every coalition, and a point that does."""

    excess: float  # e: at most 0 if the core is not empty
    point: Float[np.ndarray, " players"]


@displayed
class BalancedWeights(NamedTuple):
    """Proof that a core is empty: the weights cover every player once, and their worth exceeds v(N)."""

    weights: dict[int, float]  # by coalition mask
    worth: float  # sum of weight * v(S), more than v(N)


@displayed
class Core(NamedTuple):
    """A point of the core, or the proof that there is none."""

    point: Float[np.ndarray, " players"] | None  # in the core; None if it is empty
    proof: BalancedWeights | None  # that it is empty; None if it is not


def scale_of(game: CoalitionalGame) -> float:
    """The size of the largest worth, for tolerances."""
    return max(1e-300, float(np.abs(game.worth).max()))


def in_core(game: CoalitionalGame, allocation: object, tolerance: float = TOLERANCE) -> bool:
    """Whether `allocation` shares v(N) so that no coalition can do better alone."""
    x = numbers(allocation, "allocation")
    if x.shape != (game.num_players,):
        raise TheoryError(f"allocation has shape {x.shape}; one number per player ({game.num_players}).")
    excess = game.excesses(x)
    slack = tolerance * scale_of(game)
    return bool(abs(excess[-1]) <= slack and excess.max() <= slack)


def least_excess(
    game: CoalitionalGame,
    members: Bool[np.ndarray, "coalitions players"],
    is_open: Bool[np.ndarray, " coalitions"],
    working: list[int],
    equal: Float[np.ndarray, "rows players"],
    equal_value: Float[np.ndarray, " rows"],
    lowest: Float[np.ndarray, " players"] | None = None,
) -> Solution:
    """Minimise e over (x, e) with v(S) - x(S) <= e for all open S, equal @ x = equal_value, x >= lowest.

    `working` holds the open coalitions to begin with and grows until no open one is violated; the duals
    `upper_duals` belong to its entries. Worths should be of size 1.
    """
    n = game.num_players
    low = [None] * n if lowest is None else [float(x) for x in lowest]
    bounds = [*((x, None) for x in low), (None, None)]
    while True:
        rows = members[working].astype(np.float64)
        solution = solved(
            minimise(
                np.append(np.zeros(n), 1.0),
                -np.column_stack([rows, np.ones(len(working))]),
                -game.worth[working],
                np.column_stack([equal, np.zeros(len(equal))]),
                equal_value,
                bounds,
            ),
            "the least core",
        )
        excess = game.excesses(solution.point[:n]) - solution.value
        excess[~is_open] = -np.inf
        excess[working] = -np.inf
        worst = np.argpartition(-excess, min(2 * n, len(excess) - 1))[: 2 * n]
        violated = [int(s) for s in worst if excess[s] > VIOLATED]
        if not violated:
            return solution
        working.extend(violated)


def least_core(game: CoalitionalGame) -> LeastCore:
    """The smallest greatest complaint, and an allocation that has it."""
    solution, _ = solve_least_core(game)
    return LeastCore(solution.value, solution.point[: game.num_players])


def solve_least_core(game: CoalitionalGame) -> tuple[Solution, list[int]]:
    """The linear program of step 1, and the coalitions it came to need."""
    n = game.num_players
    if n > MOST_PLAYERS:
        raise TheoryError(
            f"The game has {n} players; the core works for up to {MOST_PLAYERS}. The Shapley value works "
            "for more."
        )
    if n == 1:
        return Solution(np.array([game.worth[1], 0.0]), 0.0, np.ones(0), np.zeros(1)), []
    scale = scale_of(game)
    scaled = CoalitionalGame(game.worth / scale)
    members = memberships(n)
    is_open = np.ones(len(game.worth), dtype=np.bool_)
    is_open[[0, -1]] = False
    working = [1 << i for i in range(n)] + [len(game.worth) - 1 - (1 << i) for i in range(n)]
    working = list(dict.fromkeys(working))
    solution = least_excess(scaled, members, is_open, working, np.ones((1, n)), scaled.worth[-1:])
    return solution._replace(point=solution.point * scale, value=solution.value * scale), working


def core(game: CoalitionalGame) -> Core:
    """A point of the core, or the proof that there is none."""
    solution, working = solve_least_core(game)
    if solution.value <= TOLERANCE * scale_of(game):
        return Core(solution.point[: game.num_players], None)
    # The duals w satisfy sum w = 1 and cover every player equally: sum_{S with i} w_S = c for all i.
    weights = solution.upper_duals.clip(0.0)
    covered = weights @ memberships(game.num_players)[working]
    weights = weights / covered.mean()
    kept = {mask: float(w) for mask, w in zip(working, weights, strict=True) if w > 1e-12}
    return Core(None, BalancedWeights(kept, sum(w * float(game.worth[s]) for s, w in kept.items())))
