"""Empirical games: a league's measured payoffs, with their uncertainty, as a game to be solved.

Each member of the league is a strategy. For a symmetric league M[i, j] is what i earns against j, known to
lie between low[i, j] and high[i, j]. A profile's regret is then an interval too:

    at most  max_i max_a [ u_high_i(a, x_-i) - u_low_i(x) ],   at least the same with low and high exchanged,

so that an equilibrium of the means can be trusted, or not. Resampling payoffs within their intervals gives
the uncertainty of everything else (alpha-rank, ratings).

Source: Wellman, "Methods for empirical game-theoretic analysis", AAAI 2006; Tuyls et al., "Bounds and
dynamics for empirical game theoretic analysis", JAAMAS 2020.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from comity.core.display import displayed
from comity.theory.errors import TheoryError
from comity.theory.normal_form.game import NormalFormGame, checked_profile, numbers


@displayed
@dataclass(frozen=True, eq=False)
class EmpiricalGame:
    """Means and confidence limits of payoffs, [players, *strategies]; `symmetric` if made from one table."""

    game: NormalFormGame  # of the means
    low: Float[np.ndarray, " players *strategies"]
    high: Float[np.ndarray, " players *strategies"]
    symmetric: bool = False

    @classmethod
    def from_league(
        cls,
        mean: Float[np.ndarray, "own other"],
        low: Float[np.ndarray, "own other"] | None = None,
        high: Float[np.ndarray, "own other"] | None = None,
        names: Sequence[str] = (),
    ) -> "EmpiricalGame":
        """A symmetric two-seat league: tables of what the row's member earns against the column's."""
        table = numbers(mean, "mean")
        if table.ndim != 2 or table.shape[0] != table.shape[1] or table.size == 0:
            raise TheoryError(f"mean has shape {table.shape}; a square table (own, other) would work.")
        limits = [
            table if limit is None else numbers(limit, name) for name, limit in (("low", low), ("high", high))
        ]
        both = [np.stack([t, t.T]) for t in (table, *limits) if t.shape == table.shape]
        if len(both) != 3:
            raise TheoryError(f"low and high must have the shape of mean, {table.shape}.")
        named = (tuple(names),) * 2 if names else ()
        game = NormalFormGame(both[0], players=("row", "column"), actions=named)
        return cls.from_tensor(game, both[1], both[2], symmetric=True)

    @classmethod
    def from_tensor(
        cls, game: NormalFormGame, low: np.ndarray, high: np.ndarray, symmetric: bool = False
    ) -> "EmpiricalGame":
        """Any number of seats, each with its own strategies."""
        lower, upper = numbers(low, "low"), numbers(high, "high")
        if lower.shape != game.payoffs.shape or upper.shape != game.payoffs.shape:
            raise TheoryError(
                f"low has shape {lower.shape}, high {upper.shape}; both need the shape {game.payoffs.shape}."
            )
        slack = 1e-9 * max(1.0, float(np.abs(game.payoffs).max()))
        if (lower > game.payoffs + slack).any() or (upper < game.payoffs - slack).any():
            bad = np.argwhere((lower > game.payoffs + slack) | (upper < game.payoffs - slack))[0].tolist()
            raise TheoryError(
                f"The mean at index {bad} is {game.payoffs[tuple(bad)]}, outside its interval "
                f"[{lower[tuple(bad)]}, {upper[tuple(bad)]}]; low <= mean <= high would work."
            )
        return cls(game, lower, upper, symmetric)

    @property
    def table(self) -> Float[np.ndarray, "own other"]:
        """The table of a symmetric league."""
        if not self.symmetric:
            raise TheoryError(
                "This empirical game is not symmetric; from_league makes one from a square table."
            )
        return self.game.payoffs[0]

    def regret_interval(self, profile: Sequence[np.ndarray]) -> tuple[float, float]:
        """Between what and what the regret of `profile` lies, given the payoffs' intervals."""
        x = checked_profile(self.game, profile)
        low, high = NormalFormGame(self.low), NormalFormGame(self.high)
        least, most = 0.0, 0.0
        for i in range(self.game.num_players):
            worst, best = low.action_payoffs(i, x), high.action_payoffs(i, x)
            # An action is compared with the others' weight only, not with its own part of the mixture.
            own = x[i] * (best - worst)
            least = max(least, float((worst - best @ x[i] + own).max()))
            most = max(most, float((best - worst @ x[i] - own).max()))
        return least, most

    def resample(self, count: int, seed: int = 0, confidence: float = 0.95) -> Iterator[NormalFormGame]:
        """`count` games with payoffs drawn from normal distributions with these confidence intervals."""
        if not 0.0 < confidence < 1.0:
            raise TheoryError(f"confidence is {confidence}; a number between 0 and 1 would work.")
        rng = np.random.default_rng(seed)
        spread = (self.high - self.low) / (2.0 * float(ndtri(0.5 + confidence / 2.0)))
        for _ in range(count):
            noise = rng.normal(size=self.game.payoffs.shape) * spread
            if self.symmetric:
                noise[1] = noise[0].T
            yield NormalFormGame(self.game.payoffs + noise, self.game.players, self.game.actions)
