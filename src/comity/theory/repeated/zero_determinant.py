"""Zero-determinant strategies: a memory-one player fixes a line on which both payoffs must lie.

Write r = (1, 1, 0, 0) for "I played action 0 last", p for the strategy and p_0 for its first move. With v
the discounted distribution over outcomes (it sums to 1, so that payoffs v . U are per step), whatever the
opponent does (Akin's lemma),

    v . (d p - r) = -(1 - d) p_0.

So if  d p - r + (1 - d) p_0 = phi (a U_own + b U_other + c)  entry by entry for some phi other than 0,
then the values per step satisfy  a v_own + b v_other + c = 0.

1. The unknowns are phi and p_0; the condition is that all of p lies in [0, 1]: a linear program.
2. Maximise phi, with either sign; if it is 0 no memory-one strategy enforces this line.

Source: Press and Dyson, "Iterated prisoner's dilemma contains strategies that dominate any evolutionary
opponent", PNAS, 2012; Hilbe, Traulsen and Sigmund, "Partners or rivals? Strategies for the iterated
prisoner's dilemma", Games and Economic Behavior, 2015 (discounted).
"""

import numpy as np

from comity.theory.errors import TheoryError
from comity.theory.linear_program import minimise
from comity.theory.normal_form.game import NormalFormGame
from comity.theory.repeated.memory_one import MemoryOne, checked

REPEAT = np.array([1.0, 1.0, 0.0, 0.0])


def enforce_line(
    game: NormalFormGame, own: float, other: float, constant: float, discount: float, player: int = 0
) -> MemoryOne:
    """A strategy of `player` that makes own * v_own + other * v_other + constant = 0, values per step."""
    checked(game, discount)
    if discount == 0.0:
        raise TheoryError("discount is 0, so there is one round and no line to enforce; try 0.9 or more.")
    tables = [payoffs if player == 0 else payoffs.T for payoffs in game.payoffs]  # [own, other]
    line = own * tables[player].ravel() + other * tables[1 - player].ravel() + constant
    size = float(np.abs(line).max())
    if size == 0.0:
        raise TheoryError("The line holds in every outcome by itself; any strategy enforces it.")
    for sign in (1.0, -1.0):
        slope = sign * line / size
        # Unknowns (phi, p_0):  0 <= r - (1 - d) p_0 + phi slope <= d.
        rows = np.column_stack([slope, np.full(4, discount - 1.0)])
        solution = minimise(
            np.array([-1.0, 0.0]),
            np.vstack([rows, -rows]),
            np.concatenate([discount - REPEAT, REPEAT]),
            bounds=[(0.0, 1e6), (0.0, 1.0)],
        )
        if solution is not None and solution.point[0] > 1e-9:
            after = (REPEAT + rows @ solution.point) / discount
            return MemoryOne(float(solution.point[1].clip(0.0, 1.0)), after.clip(0.0, 1.0))
    raise TheoryError(
        f"No memory-one strategy enforces {own} own + {other} other + {constant} = 0 at discount {discount}; "
        "a larger discount, or a line through the payoffs of mutual action 0 or mutual action 1, may work."
    )


def extortioner(game: NormalFormGame, factor: float, discount: float, player: int = 0) -> MemoryOne:
    """Take `factor` times the other's surplus over mutual action 1 ("punishment")."""
    own, other = float(game.payoffs[player, 1, 1]), float(game.payoffs[1 - player, 1, 1])
    return enforce_line(game, 1.0, -factor, factor * other - own, discount, player)


def generous(game: NormalFormGame, factor: float, discount: float, player: int = 0) -> MemoryOne:
    """Bear `factor` times the other's loss below mutual action 0 ("reward")."""
    own, other = float(game.payoffs[player, 0, 0]), float(game.payoffs[1 - player, 0, 0])
    return enforce_line(game, 1.0, -factor, factor * other - own, discount, player)


def equaliser(game: NormalFormGame, other_payoff: float, discount: float, player: int = 0) -> MemoryOne:
    """Fix the other player's payoff per step, whatever they do."""
    return enforce_line(game, 0.0, 1.0, -other_payoff, discount, player)
