"""Policy-space response oracles: grow populations by best responses to their own equilibrium.

1. Start with one policy (or several) per player.
2. Measure the empirical game among the populations (only profiles that are new).
3. Solve it: a meta-strategy, one mixture over each population.
4. Each player adds a best response to the others' mixtures.
5. Stop when no best response gains more than the tolerance, or after some number of rounds.

With exact best responses and Nash equilibria as meta-strategies this is the double oracle method and ends
at an equilibrium of the whole game. Policies can be anything: actions of a matrix game, or neural networks.

Source: McMahan, Gordon and Blum, "Planning in the presence of cost functions controlled by an adversary",
ICML 2003 (double oracle); Lanctot et al., "A unified game-theoretic approach to multiagent reinforcement
learning", NeurIPS 2017.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import jax.numpy as jnp
import numpy as np

from comity.core.display import displayed
from comity.theory.dynamics.regret_matching import run_regret_matching
from comity.theory.empirical.alpha_rank import alpha_rank
from comity.theory.equilibria.lemke_howson import lemke_howson
from comity.theory.equilibria.n_player import solve_n_player
from comity.theory.equilibria.zero_sum import solve_zero_sum
from comity.theory.errors import NoConvergenceError, TheoryError
from comity.theory.normal_form.game import NormalFormGame, Profile
from comity.theory.normal_form.structure import is_constant_sum

Policy = TypeVar("Policy")
MetaSolver = Callable[[NormalFormGame], Profile]
META_STEPS = 10_000  # rounds of regret matching


@dataclass(frozen=True)
class Response(Generic[Policy]):
    """What a best-response oracle answers."""

    policy: Policy
    payoff: float  # what it earns against the mixture it answers


@displayed
@dataclass(frozen=True, eq=False)
class Psro(Generic[Policy]):
    """Where the loop ended."""

    populations: tuple[tuple[Policy, ...], ...]
    game: NormalFormGame  # payoffs among the populations
    strategies: Profile  # the meta-strategy over each population
    gains: tuple[float, ...]  # in each round, the largest gain of a best response: the exploitability seen


def nash_meta(game: NormalFormGame) -> Profile:
    """A Nash equilibrium: by linear program if constant-sum, else pivoting, else the n-player search."""
    if game.num_players == 2:
        if is_constant_sum(game):
            return solve_zero_sum(game).strategies
        try:
            return lemke_howson(game).strategies
        except NoConvergenceError:
            pass
    return solve_n_player(game).strategies


def uniform_meta(game: NormalFormGame) -> Profile:
    """All policies alike (fictitious self-play)."""
    return tuple(np.full(k, 1.0 / k) for k in game.num_actions)


def last_meta(game: NormalFormGame) -> Profile:
    """The newest policy only (iterated best response)."""
    return tuple(np.eye(k)[-1] for k in game.num_actions)


def alpha_rank_meta(game: NormalFormGame) -> Profile:
    """Each player's share in the alpha-rank distribution over profiles."""
    joint = alpha_rank(game).distribution.reshape(game.num_actions)
    axes = range(game.num_players)
    return tuple(joint.sum(axis=tuple(j for j in axes if j != i)) for i in axes)


def regret_matching_meta(game: NormalFormGame) -> Profile:
    """Each player's average play in regret matching+ (where constant-sum, near an equilibrium)."""
    width = float(np.ptp(game.payoffs)) or 1.0
    tables = tuple(jnp.asarray((own - game.payoffs.min()) / width, jnp.float32) for own in game.payoffs)
    starts = tuple(jnp.full(k, 1e-3, jnp.float32) for k in game.num_actions)
    found = run_regret_matching(tables, starts, steps=META_STEPS, plus=True).strategies
    played = [np.asarray(own, np.float64) for own in found]
    return tuple(own / own.sum() for own in played)


META_SOLVERS: dict[str, MetaSolver] = {
    "nash": nash_meta,
    "uniform": uniform_meta,
    "last": last_meta,
    "alpha-rank": alpha_rank_meta,
    "regret-matching": regret_matching_meta,
}


def named_meta_solver(name: str) -> MetaSolver:
    """A meta-solver by its name."""
    if name not in META_SOLVERS:
        raise TheoryError(f"There is no meta-solver {name!r}; {', '.join(META_SOLVERS)} would work.")
    return META_SOLVERS[name]


def psro(
    payoff_oracle: Callable[[tuple[Policy, ...]], Sequence[float]],
    best_response_oracle: Callable[[int, tuple[tuple[Policy, ...], ...], Profile], Response[Policy]],
    initial: Sequence[Sequence[Policy]],
    meta_solver: MetaSolver = nash_meta,
    rounds: int = 100,
    tolerance: float = 1e-8,
) -> Psro[Policy]:
    """Run the loop.

    `payoff_oracle(profile)` gives every player's payoff when player i uses profile[i].
    `best_response_oracle(player, populations, strategies)` answers the others' mixtures.
    `initial[i]` are player i's first policies.
    """
    loop = psro_rounds(payoff_oracle, initial, meta_solver, rounds, tolerance)
    populations, strategies = next(loop)
    while True:
        answers = [best_response_oracle(i, populations, strategies) for i in range(len(populations))]
        try:
            populations, strategies = loop.send(answers)
        except StopIteration as end:
            result: Psro[Policy] = end.value
            return result


def psro_rounds(
    payoff_oracle: Callable[[tuple[Policy, ...]], Sequence[float]],
    initial: Sequence[Sequence[Policy]],
    meta_solver: MetaSolver = nash_meta,
    rounds: int = 100,
    tolerance: float = 1e-8,
) -> Generator[tuple[tuple[tuple[Policy, ...], ...], Profile], Sequence[Response[Policy]], Psro[Policy]]:
    """The loop as a generator, for those who find the best responses of a round together.

    Yields the populations and the meta-strategy of each round, takes one answer per player, and returns
    where the loop ended.
    """
    populations: list[list[Policy]] = [list(policies) for policies in initial]
    if len(populations) < 2 or not all(populations):
        raise TheoryError("initial needs at least two players with at least one policy each.")
    if rounds < 1:
        raise TheoryError(f"rounds is {rounds}; at least 1 would work.")
    known: dict[tuple[int, ...], Sequence[float]] = {}
    gains: list[float] = []
    while True:
        game = measure(payoff_oracle, populations, known)
        strategies = meta_solver(game)
        current = game.expected_payoffs(strategies)
        frozen = tuple(tuple(policies) for policies in populations)
        answers = yield frozen, strategies
        gain = [answer.payoff - float(current[i]) for i, answer in enumerate(answers)]
        gains.append(max(0.0, *gain))
        if gains[-1] <= tolerance or len(gains) == rounds:
            return Psro(frozen, game, strategies, tuple(gains))
        for i, answer in enumerate(answers):
            if gain[i] > tolerance:
                populations[i].append(answer.policy)


def measure(
    payoff_oracle: Callable[[tuple[Policy, ...]], Sequence[float]],
    populations: Sequence[Sequence[Policy]],
    known: dict[tuple[int, ...], Sequence[float]],
) -> NormalFormGame:
    """The game among `populations`; `known` remembers profiles that were measured before."""
    shape = tuple(len(policies) for policies in populations)
    payoffs = np.empty((len(shape), *shape))
    for profile in np.ndindex(*shape):
        if profile not in known:
            known[profile] = payoff_oracle(tuple(p[k] for p, k in zip(populations, profile, strict=True)))
        for player, payoff in enumerate(known[profile]):
            payoffs[player][profile] = payoff
    return NormalFormGame(payoffs)


def matrix_oracles(
    game: NormalFormGame,
) -> tuple[
    Callable[[tuple[int, ...]], Sequence[float]],
    Callable[[int, tuple[tuple[int, ...], ...], Profile], Response[int]],
]:
    """Exact oracles for a game whose policies are its own actions."""

    def payoff(profile: tuple[int, ...]) -> Sequence[float]:
        return [float(table[profile]) for table in game.payoffs]

    def respond(player: int, populations: tuple[tuple[int, ...], ...], strategies: Profile) -> Response[int]:
        whole = [np.zeros(k) for k in game.num_actions]
        for mixture, policies, weights in zip(whole, populations, strategies, strict=True):
            np.add.at(mixture, list(policies), weights)
        values = game.action_payoffs(player, whole)
        return Response(int(values.argmax()), float(values.max()))

    return payoff, respond
