"""The leader's optimal commitment against a follower who sees it (strong Stackelberg equilibrium).

For each follower action j:

1. Maximise the leader's  sum_i x_i A[i, j]  over mixtures x to which j is a best response:
   sum_i x_i (B[i, k] - B[i, j]) <= 0 for all k.
2. Keep the best of these programs; the follower breaks ties in the leader's favour ("strong").

Source: Conitzer and Sandholm, "Computing the optimal strategy to commit to", EC 2006.
"""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from comity.core.display import displayed
from comity.theory.errors import TheoryError
from comity.theory.linear_program import minimise, probabilities, unit_range
from comity.theory.normal_form.game import NormalFormGame


@displayed
class Commitment(NamedTuple):
    """What a leader commits to and how the follower answers."""

    strategy: Float[np.ndarray, " actions"]  # the mixture that the leader commits to
    response: int  # the follower's action
    leader_payoff: float
    follower_payoff: float
    regret: float  # what the follower would gain by another answer: 0 up to rounding


def stackelberg(game: NormalFormGame, leader: Literal[0, 1] = 0) -> Commitment:
    """The optimal commitment of player `leader`."""
    row, column = game.bimatrix("Stackelberg commitment")
    if leader not in (0, 1):
        raise TheoryError(f"leader is {leader!r}; 0 or 1 would work.")
    own, other = (row, column) if leader == 0 else (column.T, row.T)
    scaled_own, scaled_other = unit_range(own), unit_range(other)
    actions, responses = own.shape
    best: Commitment | None = None
    for response in range(responses):
        solution = minimise(
            -scaled_own[:, response],
            (scaled_other - scaled_other[:, [response]]).T,
            np.zeros(responses),
            np.ones((1, actions)),
            np.ones(1),
        )
        if solution is None:
            continue  # never a best response
        strategy = probabilities(solution.point)
        payoff = float(strategy @ own[:, response])
        if best is None or payoff > best.leader_payoff + 1e-12 * abs(payoff):
            answers = strategy @ other
            best = Commitment(
                strategy, response, payoff, float(answers[response]), float(answers.max() - answers[response])
            )
    if best is None:
        raise TheoryError(
            "No answer of the follower was found to be best; payoffs of similar size would work."
        )
    return best
