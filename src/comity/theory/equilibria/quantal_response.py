"""Logit quantal response equilibria of an n-player game, followed from uniform play to rational play.

At rationality r >= 0 every player plays a better action more often, but not always:

    x_i(a) = q_i(a) exp(r u_i(a, x_-i)) / sum_b q_i(b) exp(r u_i(b, x_-i)),

with a prior q, uniform unless given. At r = 0 the prior is the only solution; as r grows without bound
the branch that starts there ends in a Nash equilibrium. The branch may turn back in r on its way, so it
is followed by arc length.

1. Unknowns: the logarithms of all probabilities, and r. Equations: for each player, the ratio of each
   action to the first one, and a sum of 1.
2. Predict along the tangent (the null vector of the Jacobian, oriented to go on and not back).
3. Correct by Newton steps across the tangent; halve the step if that fails, lengthen it if it is easy.

Source: McKelvey and Palfrey, "Quantal response equilibria for normal form games", Games and Economic
Behavior, 1995; Turocy, "A dynamic homotopy interpretation of the logistic quantal response equilibrium
correspondence", Games and Economic Behavior, 2005.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from comity.core.display import displayed
from comity.theory.errors import NoConvergenceError, TheoryError
from comity.theory.normal_form.game import NormalFormGame, Profile, checked_profile


@displayed
class QuantalResponse(NamedTuple):
    """A logit equilibrium, with how exact it is."""

    rationality: float
    strategies: Profile
    payoffs: Float[np.ndarray, " players"]
    regret: float  # as a Nash equilibrium, which it only becomes as rationality grows
    residual: float  # how far the strategies are from the logit response to themselves


def pair_payoffs(
    game: NormalFormGame, first: int, second: int, profile: Sequence[np.ndarray]
) -> Float[np.ndarray, "own other"]:
    """u_first by own action and `second`'s action, while everyone else plays `profile`."""
    tensor = np.moveaxis(game.payoffs[first], (first, second), (0, 1))
    others = [k for k in range(game.num_players) if k not in (first, second)]
    for other in reversed(others):
        tensor = tensor @ profile[other]
    return tensor


class LogitSystem:
    """The equations F(log x, r) = 0 and their Jacobian."""

    def __init__(self, game: NormalFormGame, prior: Sequence[np.ndarray]) -> None:
        self.game = game
        self.log_prior = [np.log(q) for q in prior]
        self.ends = np.cumsum([0, *game.num_actions])

    def split(self, logs: np.ndarray) -> list[np.ndarray]:
        """Each player's part of a vector over all actions."""
        return [logs[a:b] for a, b in zip(self.ends[:-1], self.ends[1:], strict=True)]

    def profile(self, state: np.ndarray) -> list[np.ndarray]:
        """Each player's strategy in a state (log x, r)."""
        return [np.exp(part) for part in self.split(state[:-1])]

    def residual(self, state: np.ndarray) -> np.ndarray:
        """F(log x, r): probabilities sum to 1, and log-ratios are those of the logit response."""
        profile, parts = self.profile(state), self.split(state[:-1])
        out = np.empty(len(state) - 1)
        for i, (start, logs) in enumerate(zip(self.ends, parts, strict=False)):
            score = logs - self.log_prior[i] - state[-1] * self.game.action_payoffs(i, profile)
            out[start : start + len(logs)] = score - score[0]
            out[start] = profile[i].sum() - 1.0
        return out

    def jacobian(self, state: np.ndarray) -> np.ndarray:
        """The derivatives of F by log x and r, [equations, unknowns]."""
        profile, rationality = self.profile(state), state[-1]
        out = np.zeros((len(state) - 1, len(state)))
        out[:, :-1] = np.eye(len(state) - 1)
        for i, start in enumerate(self.ends[:-1]):
            stop = self.ends[i + 1]
            payoffs = self.game.action_payoffs(i, profile)
            out[start:stop, -1] = payoffs[0] - payoffs
            out[start:stop, start] = -1.0
            for j, begin in enumerate(self.ends[:-1]):
                if j != i:
                    slope = pair_payoffs(self.game, i, j, profile)
                    columns = slice(begin, self.ends[j + 1])
                    out[start:stop, columns] = -rationality * (slope - slope[0]) * profile[j]
            out[start] = 0.0
            out[start, start:stop] = profile[i]
        return out


def logit_branch(
    game: NormalFormGame, prior: Sequence[np.ndarray] | np.ndarray | None = None, max_steps: int = 2_000
) -> Iterator[tuple[float, list[np.ndarray]]]:
    """Points (rationality, profile) along the branch from the prior; payoffs are used as they are."""
    start = [np.full(k, 1.0 / k) for k in game.num_actions] if prior is None else list(prior)
    if prior is not None:
        checked_profile(game, start, "prior")
        if min(float(q.min()) for q in start) <= 0.0:
            raise TheoryError("prior has an entry of 0; a prior with only positive entries would work.")
    system = LogitSystem(game, start)
    state = np.append(np.log(np.concatenate(start)), 0.0)
    tangent = np.append(np.zeros(len(state) - 1), 1.0)
    step = 0.05 / max(float(np.ptp(game.payoffs)), 1e-300)
    yield 0.0, start
    for _ in range(max_steps):
        tangent = next_tangent(system.jacobian(state), tangent)
        while True:
            moved = corrected(system, state + step * tangent, tangent)
            if moved is not None and np.abs(moved[0] - state).max() <= 4.0 * step:
                break
            step *= 0.5
            if step < 1e-10:
                return
        state, rounds = moved
        step *= 1.5 if rounds <= 3 else (0.7 if rounds > 6 else 1.0)
        yield float(state[-1]), system.profile(state)


def next_tangent(jacobian: np.ndarray, previous: np.ndarray) -> np.ndarray:
    """The unit null vector of `jacobian` that goes on in the direction of `previous`."""
    bordered = np.vstack([jacobian, previous])
    right = np.zeros(len(previous))
    right[-1] = 1.0
    try:
        tangent = np.linalg.solve(bordered, right)
    except np.linalg.LinAlgError:
        tangent = np.linalg.lstsq(bordered, right)[0]
    return tangent / np.linalg.norm(tangent)


def corrected(
    system: LogitSystem, guess: np.ndarray, across: np.ndarray, rounds: int = 10
) -> tuple[np.ndarray, int] | None:
    """Newton's method from `guess`, moving only orthogonally to `across`; the point and the rounds used."""
    state = guess
    for count in range(1, rounds + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            matrix = np.vstack([system.jacobian(state), across])
            right = np.append(-system.residual(state), 0.0)
        if not np.isfinite(matrix).all() or not np.isfinite(right).all():
            return None
        try:
            change = np.linalg.solve(matrix, right)
        except np.linalg.LinAlgError:
            return None
        state = state + change
        if np.abs(change).max() < 1e-10 * max(1.0, float(np.abs(state).max())):
            return state, count
    return None


def quantal_response(
    game: NormalFormGame, rationality: float, prior: Sequence[np.ndarray] | np.ndarray | None = None
) -> QuantalResponse:
    """The logit equilibrium at `rationality` (per unit of payoff) on the branch that starts at the prior."""
    if not (np.isfinite(rationality) and rationality >= 0):
        raise TheoryError(f"rationality is {rationality}; a finite number of at least 0 would work.")
    width = float(np.ptp(game.payoffs)) or 1.0
    scaled = NormalFormGame((game.payoffs - game.payoffs.min()) / width)
    target = rationality * width
    start = list(prior) if prior is not None else [np.full(k, 1.0 / k) for k in game.num_actions]
    system = LogitSystem(scaled, start)
    before = np.append(np.log(np.concatenate(start)), 0.0)
    for value, profile in logit_branch(scaled, start):
        after = np.append(np.concatenate([log_of(x) for x in profile]), value)
        if value >= target:
            share = (target - before[-1]) / (value - before[-1]) if value > before[-1] else 1.0
            guess = before + share * (after - before)
            fixed = np.append(np.zeros(len(after) - 1), 1.0)
            found = corrected(system, np.append(guess[:-1], target), fixed, rounds=50)
            if found is not None:
                return measured(game, system.profile(found[0]), rationality, start)
        before = after
    raise NoConvergenceError(
        f"The logit branch stopped before rationality {rationality}; a smaller rationality, or "
        "solve_n_player for the limit, would work."
    )


def log_of(probability: np.ndarray) -> np.ndarray:
    """Logarithms, finite at 0 too."""
    return np.log(np.maximum(probability, 1e-300))


def measured(
    game: NormalFormGame, profile: Sequence[np.ndarray], rationality: float, prior: Sequence[np.ndarray]
) -> QuantalResponse:
    """A profile as a quantal response, with its payoffs, regret and residual."""
    residual = 0.0
    for i, strategy in enumerate(profile):
        scores = rationality * game.action_payoffs(i, profile) + np.log(prior[i])
        response = np.exp(scores - scores.max())
        residual = max(residual, float(np.abs(response / response.sum() - strategy).max()))
    payoffs, regret = game.expected_payoffs(profile), float(game.regrets(profile).max())
    return QuantalResponse(rationality, tuple(profile), payoffs, regret, residual)
