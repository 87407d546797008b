"""Dominated actions and their iterated elimination, for n players.

Action a of player i is strictly dominated if some mixture p of their other actions earns more whatever
the others do:

    sum_k p_k u_i(k, s) > u_i(a, s)   for all s in A_-i,

and weakly dominated if it earns at least as much for all s and more for some s.

1. Compare with every other pure action.
2. If none dominates, look for a mixture by a linear program: maximise the smallest gain over s (strict),
   or the sum of gains subject to none being negative (weak).
3. Iterated elimination removes all dominated actions of all players at once and starts again on the game
   that is left. The order does not matter for strict dominance; for weak dominance it can.

Source: Osborne and Rubinstein, "A Course in Game Theory", 1994, sections 4.2 and 4.3.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from comity.core.display import displayed
from comity.theory.linear_program import minimise, probabilities, solved
from comity.theory.normal_form.game import NormalFormGame

WEAK_TOLERANCE = 1e-9  # of the payoff range, for mixtures: linear programs are not more precise
ROUNDING = 1e-13  # of the largest payoff: smaller differences come from how payoffs were computed


@displayed
class Dominated(NamedTuple):
    """An action that a mixture of others dominates."""

    player: int
    action: int
    by: Float[np.ndarray, " actions"]  # the mixture that dominates it


@displayed
class Elimination(NamedTuple):
    """What iterated elimination leaves, and what went in each round."""

    game: NormalFormGame  # what is left
    kept: tuple[tuple[int, ...], ...]  # each player's remaining actions, as numbered in the first game
    rounds: tuple[tuple[Dominated, ...], ...]  # what went in each round, numbered in that round's game


def dominated_actions(
    game: NormalFormGame, player: int, strict: bool = True, mixed: bool = True
) -> list[Dominated]:
    """The dominated actions of `player`, each with a mixture that dominates it."""
    table = np.moveaxis(game.payoffs[player], player, 0).reshape(game.num_actions[player], -1)
    found: list[Dominated] = []
    for action in range(len(table)):
        by = pure_dominator(table, action, strict)
        if by is None and mixed and len(table) > 2:
            by = mixed_dominator(table, action, strict)
        if by is not None:
            found.append(Dominated(player, action, by))
    return found


def pure_dominator(table: np.ndarray, action: int, strict: bool) -> np.ndarray | None:
    """Another action that dominates `action`, as a mixture."""
    gains = table - table[action]
    least = _rounding(table)
    if strict:
        better = gains.min(axis=1) > least
    else:
        better = (gains.min(axis=1) >= -least) & (gains.max(axis=1) > least)
    return np.eye(len(table))[int(better.argmax())] if better.any() else None


def mixed_dominator(table: np.ndarray, action: int, strict: bool) -> np.ndarray | None:
    """A mixture of other actions that dominates `action`."""
    others = [k for k in range(len(table)) if k != action]
    width = float(np.ptp(table)) or 1.0
    gains = (table[others] - table[action]).T / width  # [what the others do, own other action]
    states, choices = gains.shape
    if strict:  # maximise d with gains @ p >= d
        solution = minimise(
            np.append(np.zeros(choices), -1.0),
            np.column_stack([-gains, np.ones(states)]),
            np.zeros(states),
            np.append(np.ones(choices), 0.0)[None],
            np.ones(1),
            [(0, None)] * choices + [(None, None)],
        )
    else:  # maximise the sum of gains with gains @ p >= 0
        solution = minimise(-gains.sum(0), -gains, np.zeros(states), np.ones((1, choices)), np.ones(1))
        if solution is None:
            return None
    solution = solved(solution, "a dominating mixture")
    mixture = np.zeros(len(table))
    mixture[others] = probabilities(solution.point[:choices])
    # No mixture gains more than the optimum, so what is found to gain in every state does.
    if strict:
        return mixture if (gains @ mixture[others]).min() > _rounding(table) / width else None
    return mixture if -solution.value > WEAK_TOLERANCE else None


def _rounding(table: np.ndarray) -> float:
    return ROUNDING * float(np.abs(table).max())


def eliminate_dominated(game: NormalFormGame, strict: bool = True, mixed: bool = True) -> Elimination:
    """Remove dominated actions until there are none."""
    kept = [list(range(k)) for k in game.num_actions]
    rounds: list[tuple[Dominated, ...]] = []
    left = game
    while True:
        gone = tuple(d for i in range(game.num_players) for d in dominated_actions(left, i, strict, mixed))
        if not gone:
            return Elimination(left, tuple(tuple(actions) for actions in kept), tuple(rounds))
        rounds.append(gone)
        stays = [
            [a for a in range(k) if not any(d.player == i and d.action == a for d in gone)]
            for i, k in enumerate(left.num_actions)
        ]
        left = left.restrict(stays)
        kept = [[actions[a] for a in stay] for actions, stay in zip(kept, stays, strict=True)]
