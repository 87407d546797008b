"""Tests for the structure of a cooperative game.

    superadditive:  v(S + T) >= v(S) + v(T)  for disjoint S and T,
    convex:         v(S + i + j) - v(S + j) >= v(S + i) - v(S)  for all S without i and j,
    monotone:       v(S + i) >= v(S),
    balanced:       the core is not empty (Bondareva and Shapley).

Convex games are superadditive and balanced, and their Shapley value lies in the core.

Source: Shapley, "Cores of convex games", Int. J. Game Theory, 1971; Peleg and Sudholter, 2007, section 2.2.
"""

import numpy as np

from comity.theory.cooperative.coalitional import CoalitionalGame
from comity.theory.cooperative.cores import core, scale_of
from comity.theory.errors import TheoryError

MOST_PLAYERS_FOR_PAIRS = 16  # 3^16 pairs of disjoint coalitions


def slack(game: CoalitionalGame) -> float:
    """Differences of worths below this are rounding errors."""
    return 1e-9 * scale_of(game)


def is_monotone(game: CoalitionalGame) -> bool:
    """Whether no player ever lowers a coalition's worth."""
    n, limit = game.num_players, -slack(game)
    for i in range(n):
        split = game.worth.reshape(-1, 2, 1 << i)
        if (split[:, 1] - split[:, 0]).min() < limit:
            return False
    return True


def is_convex(game: CoalitionalGame) -> bool:
    """Whether a player contributes more to larger coalitions."""
    n, limit = game.num_players, -slack(game)
    for i in range(n):
        for j in range(i + 1, n):
            cube = game.worth.reshape(-1, 2, 1 << (j - i - 1), 2, 1 << i)  # [.., j, .., i, ..]
            if (cube[:, 1, :, 1] - cube[:, 1, :, 0] - cube[:, 0, :, 1] + cube[:, 0, :, 0]).min() < limit:
                return False
    return True


def is_superadditive(game: CoalitionalGame) -> bool:
    """Whether merging disjoint coalitions never loses."""
    n = game.num_players
    if n > MOST_PLAYERS_FOR_PAIRS:
        raise TheoryError(
            f"The game has {n} players; superadditivity is tested for up to {MOST_PLAYERS_FOR_PAIRS}. "
            "is_convex implies it and works for more."
        )
    limit = slack(game)
    for first in range(1, 1 << n):
        # Each pair once: the second coalition only has players below the first one's highest.
        outside = [1 << i for i in range(first.bit_length() - 1) if not first >> i & 1]
        others = np.zeros(1, dtype=np.int64)
        for bit in outside:
            others = np.concatenate([others, others | bit])
        if (game.worth[first] + game.worth[others] - game.worth[others | first]).max() > limit:
            return False
    return True


def is_balanced(game: CoalitionalGame) -> bool:
    """Whether the core is not empty."""
    return core(game).proof is None
