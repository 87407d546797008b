"""One Nash equilibrium of a two-player game by complementary pivoting (Lemke and Howson).

The payoffs A (row player) and B (column player) are shifted to be positive. Best-response polytopes:

    P = { x >= 0 : B' x <= 1 },    Q = { y >= 0 : A y <= 1 }.

Label i < m means "row i is not played" in P and "row i is a best response" in Q; label m + j means the
same of column j, the other way round. A pair (x, y) other than (0, 0) with all labels is an equilibrium.

1. Start at (0, 0), which has all labels, and drop one of them: its variable enters the basis.
2. Ratio test: the variable that reaches zero first leaves; the vertex moves and picks up its label.
3. If that is the dropped label, stop. Otherwise it is held twice: drop it in the other polytope
   (enter its complement there) and go to 2.
4. Normalise x and y to sum to 1.

Degenerate games have ties in step 2, which could cycle. They are broken lexicographically: the right
hand side becomes 1 + (e, e^2, ...) for an infinitely small e, which makes every vertex simple, so that
no vertex is met twice and the path ends. Each tableau is kept condensed (basic rows x non-basic columns),
where a pivot is a single rank-one update. A first pass leaves ties unchecked for speed; a step of length
zero, which only a tie can cause, or a point that is no equilibrium sends the game to the careful pass.

Source: Lemke and Howson, "Equilibrium points of bimatrix games", SIAM J. Appl. Math., 1964; von Stengel,
"Equilibrium computation for two-player games", in Algorithmic Game Theory, 2007, sections 3.4 to 3.6.
"""

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from scipy.linalg import blas as untyped_blas

from comity.theory.errors import NoConvergenceError, TheoryError
from comity.theory.normal_form.game import Equilibrium, NormalFormGame, equilibrium

RANK_ONE_UPDATE = cast(Any, untyped_blas).dger
COPY = cast(Any, untyped_blas).dcopy
TIE = 1e-10  # ratios this close, relatively, count as equal
ZERO = 1e-11  # a tableau entry below this is no pivot
TRIES = 8  # labels that are tried for a short while when none is given
METHOD = "lemke-howson"


class Tableau:
    """x_basic + body @ x_nonbasic = body[:, -1]: one polytope, seen from its current vertex."""

    def __init__(self, payoffs: np.ndarray, slack_labels: range, variable_labels: range) -> None:
        low = payoffs.min()
        width = payoffs.max() - low or 1.0
        # Payoffs in [1, 2] under a right hand side of 1: the same equilibria, and pivots of moderate size.
        self.body = np.empty((len(slack_labels), len(variable_labels) + 1), order="F")
        inner = self.body[:, :-1]
        np.subtract(payoffs, low - width, inner)
        inner *= 1.0 / width
        self.body[:, -1] = 1.0
        self.columns = self.body.T
        self.flat = self.columns.reshape(-1)  # the same memory, column after column
        self.right = self.columns[-1]
        self.height, self.width = self.body.shape
        self.down, self.across = np.empty(self.height), np.empty(self.width)
        self.basic = list(slack_labels)  # label of each row
        self.slack_labels = slack_labels
        self.column_of = [-1] * (len(slack_labels) + len(variable_labels))  # of each non-basic label, or -1
        for column, label in enumerate(variable_labels):
            self.column_of[label] = column

    def pivot(self, entering: int, row: int) -> int:
        """Bring `entering` into the basis in `row`; the label that leaves."""
        column = self.column_of[entering]
        # With these two entries changed, the rank-one update also rewrites the pivot row (divided by the
        # pivot) and the pivot column (divided by minus the pivot).
        rows, down, across = self.height, self.down, self.across
        COPY(self.flat, down, rows, column * rows)
        COPY(self.flat, across, self.width, row, rows)
        pivot = down.item(row)
        down[row] = pivot - 1.0
        across[column] = pivot + 1.0
        RANK_ONE_UPDATE(-1.0 / pivot, down, across, 1, 1, self.body, 1, 1, 1)
        leaving = self.basic[row]
        self.basic[row] = entering
        self.column_of[entering] = -1
        self.column_of[leaving] = column
        return leaving

    def lexicographic_row(self, entering: int) -> int:
        """The row that leaves when the right hand side is perturbed by (e, e^2, ...); -1 if none does."""
        down = self.columns[self.column_of[entering]]
        candidates = np.flatnonzero(down > ZERO)
        if candidates.size == 0:
            return -1
        candidates = smallest(candidates, self.right[candidates] / down[candidates])
        for slack in self.slack_labels:
            if candidates.size == 1:
                break
            # The column of B^-1 that belongs to this slack: kept if it is non-basic, a unit vector if basic.
            if self.column_of[slack] >= 0:
                inverse = self.columns[self.column_of[slack]]
            else:
                inverse = np.zeros(len(self.basic))
                inverse[self.basic.index(slack)] = 1.0
            candidates = smallest(candidates, inverse[candidates] / down[candidates])
        return int(candidates[0])

    def point(self, labels: range) -> np.ndarray:
        """The probabilities of the variables in `labels` at this vertex."""
        values = np.zeros(len(self.column_of))
        values[self.basic] = self.right
        weights = np.maximum(values[labels.start : labels.stop], 0.0)
        return weights / weights.sum()


def smallest(candidates: np.ndarray, ratios: np.ndarray) -> np.ndarray:
    """Those of `candidates` whose ratio ties for the smallest."""
    least = ratios.min()
    return candidates[ratios <= least + TIE * max(1.0, abs(float(least)))]


def tableaux(game: NormalFormGame) -> tuple[Tableau, Tableau]:
    """The polytopes P and Q at their vertex 0."""
    row, column = game.bimatrix("Lemke-Howson")
    m, n = row.shape
    return Tableau(column.T, range(m, m + n), range(m)), Tableau(row, range(m), range(m, m + n))


def quick_path(game: NormalFormGame, label: int, cap: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Follow the path without looking for ties; None if one shows up or the cap is reached.

    A pivot takes a few microseconds, as little as a handful of method calls: so it is written out here.
    """
    m, n = game.num_actions
    pair = tableaux(game)
    here, there = [
        (
            t.flat,
            t.body,
            t.right,
            t.down,
            t.across,
            t.basic,
            t.column_of,
            t.height,
            t.width,
            np.empty(t.height),
        )
        for t in (pair if label < m else pair[::-1])
    ]
    entering = label
    divide, copy, update = np.divide, COPY, RANK_ONE_UPDATE
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(cap):
            flat, body, right, down, across, basic, column_of, height, width, ratio = here
            column = column_of[entering]
            copy(flat, down, height, column * height)
            divide(down, right, ratio)
            row = int(ratio.argmax())  # the largest entry / right hand side is the smallest step
            if not 1e-6 < ratio.item(row) < 1e9:
                return None
            copy(flat, across, width, row, height)
            pivot = down.item(row)
            down[row] = pivot - 1.0
            across[column] = pivot + 1.0
            update(-1.0 / pivot, down, across, 1, 1, body, 1, 1, 1)
            leaving = basic[row]
            basic[row] = entering
            column_of[leaving] = column
            if leaving == label:
                return pair[0].point(range(m)), pair[1].point(range(m, m + n))
            entering = leaving
            here, there = there, here
    return None


def careful_path(game: NormalFormGame, label: int, cap: int) -> tuple[np.ndarray, np.ndarray]:
    """Follow the path with lexicographic ratio tests."""
    m, n = game.num_actions
    pair = tableaux(game)
    side = 0 if label < m else 1
    entering = label
    for _ in range(cap):
        row = pair[side].lexicographic_row(entering)
        if row < 0:
            raise NoConvergenceError(
                f"Lemke-Howson from label {label} lost its path to rounding; another label, or "
                "vertex_enumeration, would work."
            )
        entering = pair[side].pivot(entering, row)
        if entering == label:
            return pair[0].point(range(m)), pair[1].point(range(m, m + n))
        side = 1 - side
    raise NoConvergenceError(
        f"Lemke-Howson from label {label} did not end within {cap} pivots; a larger max_pivots or "
        f"another label (0 to {m + n - 1}) would work."
    )


def lemke_howson(game: NormalFormGame, label: int | None = None, max_pivots: int = 100_000) -> Equilibrium:
    """The equilibrium at the end of the path that drops `label` (0 to m + n - 1).

    Without a label the first few are tried, each for a few pivots only, before the first one's path is
    followed to its end: most paths are short and some are very long (Codenotti, De Rossi and Pagan, "An
    experimental analysis of Lemke-Howson algorithm", 2008).
    """
    total = sum(game.num_actions)
    if game.num_players != 2:
        game.bimatrix("Lemke-Howson")
    if label is not None and not 0 <= label < total:
        raise TheoryError(f"label is {label}; this game has the labels 0 to {total - 1}.")
    if label is None:
        for first in range(min(total, TRIES)):
            end = quick_path(game, first, min(max_pivots, total // 2))
            if end is not None:
                found = equilibrium(game, end, METHOD)
                if is_exact(game, found):
                    return found
        label = 0
    end = quick_path(game, label, max_pivots)
    found = equilibrium(game, end or careful_path(game, label, max_pivots), METHOD)
    if end is not None and not is_exact(game, found):
        found = equilibrium(game, careful_path(game, label, max_pivots), METHOD)
    if is_exact(game, found):
        return found
    raise NoConvergenceError(
        f"Lemke-Howson from label {label} ended with regret {found.regret:.1e}, lost to rounding; another "
        "label, or vertex_enumeration, would work."
    )


def is_exact(game: NormalFormGame, found: Equilibrium) -> bool:
    """Whether the regret is only rounding."""
    return found.regret <= 1e-9 * float(np.abs(game.payoffs).max())


def lemke_howson_all_labels(game: NormalFormGame, max_pivots: int = 100_000) -> Iterator[Equilibrium]:
    """The distinct equilibria that the paths from (0, 0) reach; there may be more that none reaches."""
    found: list[Equilibrium] = []
    for label in range(sum(game.num_actions)):
        new = lemke_howson(game, label, max_pivots)
        if not any(
            all(np.allclose(a, b, atol=1e-8) for a, b in zip(new.strategies, old.strategies, strict=True))
            for old in found
        ):
            found.append(new)
            yield new
