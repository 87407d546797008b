"""Best responses: what a player should do if the others play a given profile.

    BR_i(x) = argmax_a u_i(a, x_-i)

Source: Osborne and Rubinstein, "A Course in Game Theory", 1994, section 2.2.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from comity.theory.errors import TheoryError
from comity.theory.normal_form.game import NormalFormGame, checked_profile


def best_responses(
    game: NormalFormGame, player: int, profile: Sequence[np.ndarray], tolerance: float = 1e-9
) -> tuple[int, ...]:
    """All actions of `player` within `tolerance` of the best one against the others in `profile`."""
    if not 0 <= player < game.num_players:
        raise TheoryError(f"player is {player}; this game has the players 0 to {game.num_players - 1}.")
    values = game.action_payoffs(player, checked_profile(game, profile))
    return tuple(np.flatnonzero(values >= values.max() - tolerance).tolist())


def regret(game: NormalFormGame, profile: Sequence[np.ndarray]) -> Float[np.ndarray, " players"]:
    """What each player would gain by a best response to `profile`."""
    return game.regrets(checked_profile(game, profile))
