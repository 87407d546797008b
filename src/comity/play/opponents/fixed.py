"""Opponents are players that do not learn: scripted ones, the zoo's, those of files, or a mixture of them."""

from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.agent import Agent, Metrics, Player, stack
from comity.core.batch import Trajectory
from comity.core.errors import require
from comity.core.game import GameSpec
from comity.core.matchmaker import Lineup, Team
from comity.play.loading import fixed_player
from comity.play.mixed import mix
from comity.play.opponents.base import DrawnOpponents
from comity.play.opponents.ledger import Ledger, after_lineups, empty_ledger
from comity.play.opponents.prioritised import WEIGHTS
from comity.play.opponents.seating import (
    Draw,
    Seating,
    check_opponents,
    learner_lineups,
    systematic,
    with_present,
)


class FixedPool(NamedTuple):
    """What is known of the players, who are in the program and not in the pool."""

    ledger: Ledger


class FixedPlayers(DrawnOpponents):
    """Opponents are drawn from named players, in groups that each face an equal slice of the batch.

    With several learners each meets these players in all seats but its own. Metrics: the learner's `rating`,
    and its `score/PLAYER`, the share of games in which it earned more.
    """

    players: tuple[str, ...] = ("random",)
    """scripted players (NAME or NAME,setting=value), zoo:GAME/AGENT/SEED, player files, run folders"""

    shares: tuple[float, ...] = ()  # how often each is drawn, up to a factor; by default all alike
    weighting: Literal["none", "squared", "variance", "linear", "capped"] = "none"
    """whether who is hard to beat is drawn more often, as `prioritised` does: a factor on the shares"""

    def __check_init__(self) -> None:
        require(len(self.players) >= 1, "players", self.players, "at least one player")
        given = self.shares or (1.0,) * len(self.players)
        fits = len(given) == len(self.players) and min(given) >= 0 and sum(given) > 0
        require(fits, "shares", self.shares, f"{len(self.players)} numbers of at least 0, one per player")

    def check(self, spec: GameSpec, seating: Seating, batch: int) -> None:
        check_opponents(spec, seating, batch, self.groups, self.learning_seats)
        for seat in range(len(spec.seats)):
            for source in self.players:
                fixed_player(source, spec, seat)

    def init(self, policies: tuple[PyTree, ...]) -> FixedPool:
        return FixedPool(empty_ledger(len(policies), len(self.players)))

    def remember(self, pool: FixedPool, policies: tuple[PyTree, ...], iteration: Array) -> FixedPool:
        return pool

    def lineups(self, pool: FixedPool, teams: tuple[Team, ...], key: Key) -> tuple[Lineup, ...]:
        return learner_lineups(
            teams, self.learning_seats, key, lambda learner: self._draw(pool, teams, learner)
        )

    def observe(
        self,
        pool: FixedPool,
        lineups: tuple[Lineup, ...],
        teams: tuple[Team, ...],
        played: tuple[Trajectory, ...],
    ) -> FixedPool:
        return FixedPool(after_lineups(pool.ledger, lineups, played, self.rating_step, self.score_memory))

    def metrics(self, pool: FixedPool) -> Metrics:
        teams = pool.ledger.present.shape[0]
        found: Metrics = {}
        for learner in range(teams):
            name = f"/{learner + 1}" if teams > 1 else ""
            found[f"rating{name}"] = pool.ledger.present[learner]
            won, games = (x[learner].sum(axis=0) for x in (pool.ledger.won, pool.ledger.games))
            for number, source in enumerate(self.players):
                score = (won[number] + 0.5) / (games[number] + 1.0)
                found[f"score/{source}{name}"] = score
        return found

    def _draw(self, pool: FixedPool, teams: tuple[Team, ...], learner: int) -> Draw:
        def draw(other: int, seats: tuple[int, ...], key: Key) -> tuple[Agent, PyTree, Array]:
            team = teams[other]
            assert team.spec is not None
            players = [fixed_player(source, team.spec, seats[0]) for source in self.players]
            if self.current_share > 0:
                players.append(Player(team.agent, team.policy))
            crowd, members = mix(players)
            shares = jnp.asarray(self.shares or (1.0,) * len(self.players), jnp.float32)
            if self.weighting != "none":
                weighted = shares * WEIGHTS[self.weighting](pool.ledger.score(learner, other))
                shares = jnp.where(weighted.sum() > 0, weighted, shares)
            member = with_present(systematic(shares / shares.sum(), self.drawn, key), self.groups)
            everyone = stack(members)
            met = jax.tree.map(lambda x: x[member], everyone)  # the present self is the last one, at -1
            return crowd, met, member

        return draw
