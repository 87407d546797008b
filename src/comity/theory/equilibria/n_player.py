"""Nash equilibria of an n-player game: follow the logit branch, guess the support, polish.

1. Follow the logit branch from a prior (see quantal_response). Towards its end the actions outside the
   equilibrium's support die out.
2. Every few steps take the actions above a threshold as a guess of the support and solve the
   indifference equations on it by Newton's method (least squares, which also copes with continua):

       u_i(a, x_-i) = v_i  for a in the support of i,   sum_a x_i(a) = 1.

3. Accept the point if it is non-negative and its regret is below the tolerance.
4. If the branch fails, try again from random priors. If no start succeeds, improve the best point by
   minimising the squared gains from deviating and return it with the regret it has: the answer is then
   an approximate equilibrium, and says so.

Source: Turocy (2005, see quantal_response); Govindan and Wilson, "A global Newton method to compute Nash
equilibria", J. Economic Theory, 2003 (polishing on the support); McKelvey and McLennan, "Computation of
equilibria in finite games", 1996 (minimising gains).
"""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
from scipy import optimize

from comity.theory.equilibria.quantal_response import logit_branch, pair_payoffs
from comity.theory.errors import TheoryError
from comity.theory.normal_form.game import Equilibrium, NormalFormGame, equilibrium

THRESHOLDS = (1e-1, 3e-2, 1e-2, 1e-3, 1e-5)
METHOD = "logit homotopy with polishing"


def solve_n_player(
    game: NormalFormGame, starts: int = 8, seed: int = 0, tolerance: float = 1e-9
) -> Equilibrium:
    """One equilibrium; its regret says whether the search reached `tolerance` (of the payoff range)."""
    best: Equilibrium | None = None
    for found in search_n_player(game, starts, seed, tolerance):
        if best is None or found.regret < best.regret:
            best = found
        if found.regret <= tolerance * (float(np.ptp(game.payoffs)) or 1.0):
            return found
    if best is None:
        raise TheoryError(f"starts is {starts}; at least 1 would work.")
    return best


def search_n_player(
    game: NormalFormGame, starts: int = 8, seed: int = 0, tolerance: float = 1e-9
) -> Iterator[Equilibrium]:
    """What each start leads to: the uniform prior first, then random priors. Repetitions are likely."""
    rng = np.random.default_rng(seed)
    width = float(np.ptp(game.payoffs)) or 1.0
    scaled = NormalFormGame((game.payoffs - game.payoffs.min()) / width)
    for start in range(starts):
        prior = [np.full(k, 1.0 / k) if start == 0 else rng.dirichlet(np.ones(k)) for k in game.num_actions]
        prior = [(q + 1e-6) / (q + 1e-6).sum() for q in prior]
        yield equilibrium(game, from_prior(scaled, prior, tolerance), METHOD)


def distinct_equilibria(
    game: NormalFormGame, starts: int = 8, seed: int = 0, tolerance: float = 1e-9
) -> list[Equilibrium]:
    """The different equilibria that `starts` starts lead to; there may be more."""
    found: list[Equilibrium] = []
    limit = tolerance * (float(np.ptp(game.payoffs)) or 1.0)
    for new in search_n_player(game, starts, seed, tolerance):
        known = any(
            max(float(np.abs(a - b).max()) for a, b in zip(new.strategies, old.strategies, strict=True))
            < 1e-6
            for old in found
        )
        if new.regret <= limit and not known:
            found.append(new)
    return found


def from_prior(game: NormalFormGame, prior: Sequence[np.ndarray], tolerance: float) -> list[np.ndarray]:
    """Steps 1 to 4 from one prior, for a game with payoffs in [0, 1]."""
    best, least = list(prior), float(game.regrets(prior).max())
    for count, (rationality, profile) in enumerate(logit_branch(game, prior, max_steps=400)):
        point = [x / x.sum() for x in profile]
        regret = float(game.regrets(point).max())
        if regret < least:
            best, least = point, regret
        if rationality > 2.0 and count % 4 == 0:
            refined = polished(game, point, tolerance)
            if refined is not None:
                return refined
        if rationality > 1e5:
            break
    refined = polished(game, best, tolerance)
    return refined if refined is not None else minimised(game, best)


def polished(
    game: NormalFormGame, profile: Sequence[np.ndarray], tolerance: float
) -> list[np.ndarray] | None:
    """The equilibrium on the support that `profile` suggests, if there is one nearby."""
    tried: set[tuple[bytes, ...]] = set()
    for threshold in THRESHOLDS:
        supports = [x > threshold * x.max() for x in profile]
        key = tuple(s.tobytes() for s in supports)
        if key in tried:
            continue
        tried.add(key)
        point = newton_on_support(game, profile, supports)
        if point is not None and float(game.regrets(point).max()) <= 0.1 * tolerance:
            return point
    return None


def newton_on_support(
    game: NormalFormGame, profile: Sequence[np.ndarray], supports: Sequence[np.ndarray], rounds: int = 30
) -> list[np.ndarray] | None:
    """Solve the indifference equations by Newton's method; None if that leaves the simplex."""
    index = [np.flatnonzero(s) for s in supports]
    ends = np.cumsum([0, *[len(k) for k in index]])
    unknowns, players = int(ends[-1]), game.num_players
    point = [np.where(s, x, 0.0) / x[s].sum() for x, s in zip(profile, supports, strict=True)]
    for _ in range(rounds):
        matrix, right = np.zeros((unknowns + players, unknowns + players)), np.zeros(unknowns + players)
        for i in range(players):
            rows = slice(ends[i], ends[i + 1])
            values = game.action_payoffs(i, point)[index[i]]
            right[rows] = -(values - values.mean())
            right[unknowns + i] = 1.0 - point[i].sum()
            matrix[rows, unknowns + i] = -1.0
            matrix[unknowns + i, rows] = 1.0
            for j in range(players):
                if j != i:
                    slope = pair_payoffs(game, i, j, point)[np.ix_(index[i], index[j])]
                    matrix[rows, ends[j] : ends[j + 1]] = slope
        if not np.isfinite(matrix).all():
            return None
        change = np.linalg.lstsq(matrix, right, rcond=1e-12)[0][:unknowns]
        for i in range(players):
            point[i] = point[i].copy()
            point[i][index[i]] += change[ends[i] : ends[i + 1]]
        if np.abs(change).max() < 1e-14:
            break
        if max(float(np.abs(x).max()) for x in point) > 10.0:
            return None
    if min(float(x.min()) for x in point) < -1e-12:
        return None
    return [x.clip(0.0) / x.clip(0.0).sum() for x in point]


def minimised(game: NormalFormGame, profile: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Minimise the squared gains from deviating, over logits, from `profile`."""
    ends = np.cumsum(game.num_actions)[:-1]

    def strategies(logits: np.ndarray) -> list[np.ndarray]:
        weights = [np.exp(part - part.max()) for part in np.split(logits, ends)]
        return [w / w.sum() for w in weights]

    def gains(logits: np.ndarray) -> np.ndarray:
        point = strategies(logits)
        values = [game.action_payoffs(i, point) for i in range(game.num_players)]
        return np.concatenate([np.maximum(v - v @ x, 0.0) for v, x in zip(values, point, strict=True)])

    start = np.concatenate([np.log(np.maximum(x, 1e-8)) for x in profile])
    search = cast(Any, optimize.least_squares)
    result = search(gains, start, xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=200)
    found = strategies(np.asarray(result.x))
    return min([list(profile), found], key=lambda point: float(game.regrets(point).max()))
