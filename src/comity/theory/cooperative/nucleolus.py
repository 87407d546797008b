"""The nucleolus: the allocation whose greatest complaints are smallest, lexicographically.

1. Minimise the greatest excess  e(S, x) = v(S) - x(S)  over all coalitions that are not yet settled; start
   with none settled but the empty and the grand coalition.
2. Some coalitions have that excess in every optimal solution. Those with a positive dual are certain to
   (complementary slackness), and there always is one, since the duals add up to 1. A coalition that is
   tight in this solution but has a zero dual may have slack in another one, and is not settled.
3. Settle them: their excess stays what it is. Settle as well every coalition whose membership vector is a
   linear combination of settled ones (a rank test): its x(S) can no longer change.
4. Stop when the settled vectors have full rank: one allocation is left. Each round raises the rank by at
   least one, because a coalition that is not settled is not in the span. Else go to 1.
5. Solve the settled equations.

Each program starts with few coalitions and adds those that complain most (see core).

Source: Schmeidler, "The nucleolus of a characteristic function game", SIAM J. Appl. Math., 1969; Kopelowitz,
1967 (the sequence of programs); Potters, Reijnierse and Ansing, "Computing the nucleolus by solving a
prolonged simplex algorithm", 1996; Guajardo and Jornsten, "Common mistakes in computing the nucleolus",
European J. Operational Research, 2015 (step 2).
"""

import numpy as np
from jaxtyping import Float

from comity.theory.cooperative.coalitional import CoalitionalGame, memberships
from comity.theory.cooperative.cores import MOST_PLAYERS, least_excess, scale_of
from comity.theory.errors import NoConvergenceError, TheoryError

POSITIVE_DUAL = 1e-7
IN_SPAN = 1e-8


def nucleolus(game: CoalitionalGame, imputations: bool = True) -> Float[np.ndarray, " players"]:
    """The nucleolus over imputations (nobody gets less than alone), or the prenucleolus over all shares."""
    n = game.num_players
    if n > MOST_PLAYERS:
        raise TheoryError(
            f"The game has {n} players; the nucleolus works for up to {MOST_PLAYERS}. The Shapley value "
            "works for more."
        )
    scale = scale_of(game)
    scaled = CoalitionalGame(game.worth / scale)
    alone = scaled.worth[1 << np.arange(n)]
    if imputations and alone.sum() > scaled.worth[-1] + 1e-12:
        raise TheoryError(
            "The players earn more alone than together, so nobody can be given at least what they earn "
            "alone; imputations=False (the prenucleolus) would work."
        )
    members = memberships(n)
    vectors = members.astype(np.float64)
    grand = len(game.worth) - 1
    rows, values = vectors[[grand]], scaled.worth[[grand]]  # the settled x(S) = value, independent
    working = list(dict.fromkeys([1 << i for i in range(n)] + [grand - (1 << i) for i in range(n)]))
    while len(rows) < n:
        is_open = not_in_span(vectors, rows)
        working = [s for s in working if is_open[s]] or [int(is_open.argmax())]
        solution = least_excess(
            scaled, members, is_open, working, rows, values, alone if imputations else None
        )
        before = len(rows)
        for mask, dual in sorted(zip(working, solution.upper_duals, strict=True), key=lambda pair: -pair[1]):
            if dual > POSITIVE_DUAL and not_in_span(vectors[[mask]], rows)[0]:
                rows = np.vstack([rows, vectors[mask]])
                values = np.append(values, scaled.worth[mask] - solution.value)
        if len(rows) == before:
            raise NoConvergenceError("The nucleolus was lost to rounding; worths of similar size would work.")
    return np.linalg.solve(rows, values) * scale + 0.0  # no minus zeros


def not_in_span(
    vectors: Float[np.ndarray, "many players"], rows: Float[np.ndarray, "few players"]
) -> np.ndarray:
    """Which of `vectors` are not linear combinations of the independent `rows`."""
    basis = np.linalg.qr(rows.T)[0]
    residual = vectors - (vectors @ basis) @ basis.T
    return np.abs(residual).max(axis=1) > IN_SPAN
