"""Opponents are past selves that behave as differently from each other as there are."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.batch import Trajectory, team_batch
from comity.core.errors import require
from comity.core.game import GameSpec
from comity.core.matchmaker import Team
from comity.play.behaviour import behaviour_along, check_behaviour, distances
from comity.play.opponents.rated import RatedPool, RatedSelves
from comity.play.opponents.seating import Seating, check_opponents


class Differences(NamedTuple):
    """How differently the past selves of each team behave, and for how many copies that was measured."""

    distance: Float[Array, "team capacity capacity"]
    measured: Int[Array, ""]


class Diverse(RatedSelves):
    """Draws one past self at random, then again and again the one that is farthest from those drawn.

    Distance is that of behaviour: how differently they would act (total variation of their choices) along the
    observations of `probes` games that were just played, measured anew whenever a copy is stored. Recurrent
    policies follow the games; networks that do the same by other weights are at distance 0.
    """

    probes: int = 4  # how many games of the last rollout behaviour is compared along

    def __check_init__(self) -> None:
        require(self.probes >= 1, "probes", self.probes, "at least 1")

    def check(self, spec: GameSpec, seating: Seating, batch: int) -> None:
        check_opponents(spec, seating, batch, self.groups, self.learning_seats)
        require(self.probes <= batch, "probes", self.probes, f"at most the batch of {batch}")
        for seats in seating:
            check_behaviour(spec.seats[seats[0]].action)

    def members(
        self, pool: RatedPool, learner: int, team: int, filled: Bool[Array, " capacity"], key: Key
    ) -> Int[Array, " drawn"]:
        if self.drawn == 0:
            return jnp.zeros(0, jnp.int32)
        first_key, tie_key = jax.random.split(key)
        weights = jnp.where(filled, 0.0, -jnp.inf)
        # Ties, as between equal policies, are broken by a little chance.
        distance = pool.notes.distance[team] + 1e-6 * jax.random.uniform(tie_key, (self.capacity,) * 2)
        first = jax.random.categorical(first_key, weights)

        def add(nearest: Float[Array, " capacity"], _: None) -> tuple[Array, Array]:
            chosen = jnp.argmax(jnp.where(filled, nearest, -1.0))
            return jnp.minimum(nearest, distance[chosen]), chosen

        _, rest = jax.lax.scan(add, distance[first], None, length=self.drawn - 1)
        return jnp.concatenate([first[None], rest]).astype(jnp.int32)

    def notes(
        self, pool: RatedPool | None, teams: tuple[Team, ...] | int, played: tuple[Trajectory, ...]
    ) -> Differences:
        if pool is None:
            assert isinstance(teams, int)
            return Differences(jnp.zeros((teams, self.capacity, self.capacity)), jnp.int32(0))
        assert not isinstance(teams, int)

        def measure() -> Float[Array, "team capacity capacity"]:
            return jnp.stack(
                [self._distances(own, past, played[0]) for own, past in zip(teams, pool.past, strict=True)]
            )

        due = pool.notes.measured < pool.stored
        distance = jax.lax.cond(due, measure, lambda: pool.notes.distance)
        return Differences(distance, pool.stored)

    def _distances(self, team: Team, past: PyTree, played: Trajectory) -> Float[Array, "capacity capacity"]:
        """Between all past selves of a team, along what its first seat saw."""
        assert team.spec is not None
        action = team.spec.seats[team.seats[0]].action
        batch = team_batch(played, team.seats[:1]).take(jnp.arange(self.probes))
        obs = jax.tree.map(lambda x: x[:, 0], batch.obs)
        resets = batch.resets[:, 0]
        done = jax.vmap(
            lambda params: behaviour_along(team.agent, params, obs, resets, action, jax.random.key(0))
        )(past)
        return distances(done, action)
