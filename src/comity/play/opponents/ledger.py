r"""What is known of opponents from play: a rating of each, and each learner's score against each.

A game is won by who earned more in it, a draw is half a win. Ratings are Elo's, in points: i is expected to
score :math:`1 / (1 + 10^{(r_j - r_i) / 400})` against j, and after each game

.. math:: r_i \leftarrow r_i + K (s_i - e_{ij}), \quad r_j \leftarrow r_j - K (s_i - e_{ij})

so that the sum of all ratings stays (Elo, 1978). Scores against each opponent are means that forget.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from comity.core.batch import Trajectory
from comity.core.matchmaker import Drawn, Lineup

SCALE = 400.0  # points of rating in which the odds grow tenfold
PRIOR_DRAWS = 1.0  # drawn games with each opponent, before any are played


class Ledger(NamedTuple):
    """Ratings of a pool's members, team by team, and of the teams as they are now; scores against members."""

    rating: Float[Array, "team member"]
    present: Float[Array, " team"]
    won: Float[Array, "learner team member"]  # games won, draws as half
    games: Float[Array, "learner team member"]  # games played; both are forgotten bit by bit

    def score(self, learner: int, team: int) -> Float[Array, " member"]:
        """The share of games that a learner wins against each member, 1/2 where none was played."""
        return (self.won[learner, team] + PRIOR_DRAWS / 2) / (self.games[learner, team] + PRIOR_DRAWS)


def empty_ledger(teams: int, members: int) -> Ledger:
    """All ratings 0, no games."""
    nothing = jnp.zeros((teams, teams, members), jnp.float32)
    return Ledger(nothing[0], jnp.zeros(teams, jnp.float32), nothing, nothing)


def expected_score(own: Float[Array, ""], other: Float[Array, "*others"]) -> Float[Array, "*others"]:
    """The share of games that ratings expect one to win."""
    return 1.0 / (1.0 + 10.0 ** ((other - own) / SCALE))


def group_scores(
    played: Trajectory, learning: tuple[int, ...], opponents: tuple[int, ...], groups: int
) -> Float[Array, " groups"]:
    """The share of games that the learner's seats won against the opponents', group by group."""
    totals = [reward.sum(axis=0) for reward in played.step.game_reward]
    won = [
        jnp.where(totals[own] > totals[other], 1.0, jnp.where(totals[own] < totals[other], 0.0, 0.5))
        for own in learning
        for other in opponents
    ]
    return jnp.stack(won).mean(axis=0).reshape(groups, -1).mean(axis=1)


def after_scores(
    ledger: Ledger, learner: int, drawn: Drawn, score: Float[Array, " groups"], step: float, memory: float
) -> Ledger:
    """The ledger after each group's games counted as one game of the learner with who was drawn there.

    `step` is K of Elo's rule; the games of before count `memory` as much as those of now. Groups in which
    the present self was drawn say nothing of others.
    """
    member: Int[Array, " groups"] = drawn.member
    counts = (member >= 0).astype(jnp.float32)
    place = jnp.maximum(member, 0)
    expected = expected_score(ledger.present[learner], ledger.rating[drawn.team, place])
    surprise = step * counts * (score - expected)
    met = jnp.zeros_like(ledger.rating[0]).at[place].max(counts)
    kept = jnp.where(met > 0, memory, 1.0)  # only of who was met again
    row = (learner, drawn.team)
    return Ledger(
        ledger.rating.at[drawn.team, place].add(-surprise),
        ledger.present.at[learner].add(surprise.sum()),
        ledger.won.at[row].multiply(kept).at[(*row, place)].add(counts * score),
        ledger.games.at[row].multiply(kept).at[(*row, place)].add(counts),
    )


def after_lineups(
    ledger: Ledger, lineups: tuple[Lineup, ...], played: tuple[Trajectory, ...], step: float, memory: float
) -> Ledger:
    """The ledger after the rollouts of an iteration."""
    for lineup, trajectory in zip(lineups, played, strict=True):
        ((learner, learning),) = lineup.learning
        for drawn in lineup.drawn:
            score = group_scores(trajectory, learning, drawn.seats, drawn.member.shape[0])
            ledger = after_scores(ledger, learner, drawn, score, step, memory)
    return ledger


def begin_anew(ledger: Ledger, place: Int[Array, ""], due: Array) -> Ledger:
    """The ledger when copies of all teams were stored in a place: they are rated as the teams are now."""
    rating = ledger.rating.at[:, place].set(jnp.where(due, ledger.present, ledger.rating[:, place]))
    forget = jnp.where(due, 0.0, 1.0)
    won, games = (x.at[:, :, place].multiply(forget) for x in (ledger.won, ledger.games))
    return Ledger(rating, ledger.present, won, games)
