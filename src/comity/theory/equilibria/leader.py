"""A leader's best pure commitment in a game of any number of players: the others answer by an equilibrium.

For each action a of the leader:

1. Restrict the game to a; the others play the game that is left.
2. Their answer is a pure equilibrium of it, of several the one that the leader likes best ("strong"); where
   there is none, a mixed one that is found by search.

Source: von Stackelberg, "Marktform und Gleichgewicht", 1934; of one follower and mixed commitments, see
`stackelberg`.
"""

from typing import NamedTuple

import numpy as np

from comity.core.display import displayed
from comity.theory.equilibria.n_player import solve_n_player
from comity.theory.equilibria.pure import pure_equilibria
from comity.theory.errors import TheoryError
from comity.theory.normal_form.game import NormalFormGame, Profile, Vector


@displayed
class PureCommitment(NamedTuple):
    """What a leader commits to, how all then play, and what each earns."""

    action: int
    strategies: Profile  # of all players, the leader's pure
    payoffs: Vector
    regret: float  # the most that a follower would gain by another answer: 0 up to rounding


def pure_commitment(game: NormalFormGame, leader: int) -> PureCommitment:
    """The best pure commitment of player `leader`, given that the others answer in equilibrium."""
    count = game.num_players
    if not 0 <= leader < count:
        raise TheoryError(f"leader is {leader}; a player from 0 to {count - 1} would work.")
    if count < 2:
        raise TheoryError("A commitment needs somebody who answers; a game of 2 players or more would work.")
    return max(
        (_answered(game, leader, action) for action in range(game.num_actions[leader])),
        key=lambda found: float(found.payoffs[leader]),
    )


def _answered(game: NormalFormGame, leader: int, action: int) -> PureCommitment:
    """How the others answer one action, best for the leader among their equilibria."""
    followers = [i for i in range(game.num_players) if i != leader]
    left = np.take(game.payoffs, action, axis=leader + 1)
    watched, rest = left[leader], NormalFormGame(left[followers])
    answers: list[tuple[Profile, float]]
    if len(followers) == 1:
        own = rest.payoffs[0]
        likes = np.where(own >= own.max() - 1e-12 * float(np.abs(own).max()), watched, -np.inf)
        answers = [((np.eye(own.size)[int(likes.argmax())],), 0.0)]
    else:
        found = pure_equilibria(rest) or [solve_n_player(rest)]
        answers = [(one.strategies, one.regret) for one in found]
    outcomes = []
    for strategies, regret in answers:
        profile = list(strategies)
        profile.insert(leader, np.eye(game.num_actions[leader])[action])
        payoffs = np.asarray(game.expected_payoffs(profile))
        outcomes.append(PureCommitment(action, tuple(profile), payoffs, max(0.0, float(regret))))
    return max(outcomes, key=lambda one: float(one.payoffs[leader]))
