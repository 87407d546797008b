"""Opponent shaping as a policy-gradient learner plus a term: a change of the advantage."""

import math
from abc import abstractmethod
from functools import partial
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.on_policy.acting import Acting
from comity.agents.on_policy.base import ActorCriticAgent, LearnerState, Shaped
from comity.agents.shaping.opponent_values import OpponentValues, Other
from comity.core.agent import Act, Agent, Context, Metrics
from comity.core.batch import TeamBatch
from comity.core.errors import require
from comity.core.game import GameSpec
from comity.core.tunable import Number
from comity.learn.advantages import over_team
from comity.learn.critic_values import CriticBatch, CriticValues
from comity.returns.alignment import time_discount


class Term(eqx.Module):
    """What a learner that shapes one other player adds to its advantages."""

    weight: float = 1.0  # beta, the weight of the term
    past_lambda: float = 0.95  # lambda of own past advantages in the term: 0 is TD(0), 1 Monte-Carlo
    opponent_lambda: float = 0.95  # lambda of the others' advantages
    discount_time: bool = False  # whether step t counts discount^t

    tunable: ClassVar[tuple[str, ...]] = ("weight", "past_lambda", "opponent_lambda")

    def __check_init__(self) -> None:
        require(math.isfinite(self.weight), "term.weight", self.weight, "a finite number")
        for name in ("past_lambda", "opponent_lambda"):
            share = getattr(self, name)
            require(0.0 <= share <= 1.0, f"term.{name}", share, "between 0 and 1")

    @abstractmethod
    def __call__(
        self, own: Float[Array, " time"], ended: Bool[Array, " time"], other: Other, discount: Number
    ) -> tuple[Float[Array, " time"], Float[Array, " time"]]:
        """What my own advantages came to so far, and the term by which it shapes the other player.

        Along one stream; nothing reaches across the end of an episode.
        """


class ShapingAgent(Agent):
    """A learner by policy gradient whose advantages have a term of the others' advantages."""

    learner: eqx.AbstractVar[ActorCriticAgent]
    term: eqx.AbstractVar[Term]
    opponent_values: eqx.AbstractVar[OpponentValues]

    def __check_init__(self) -> None:
        self.opponent_values.check(self.learner)

    def update(
        self, state: LearnerState, batch: TeamBatch, context: Context, key: Key
    ) -> tuple[LearnerState, Metrics]:
        read = self.opponent_values.read(self.learner, state, batch)

        def shape(values: CriticValues) -> Shaped:
            return self.shaped_advantages(state, batch, read, values)

        return self.learner.learn(state, batch, read, shape, context, key)

    def shaped_advantages(
        self, state: LearnerState, batch: TeamBatch, read: CriticBatch, values: CriticValues
    ) -> Shaped:
        """The learner's own advantages plus the term, [time, seat, game]. Nothing here is differentiated."""
        learner, term, opponents = self.learner, self.term, self.opponent_values
        places = jnp.asarray(opponents.places(batch))

        def advantages(gae_lambda: Number) -> Float[Array, "time seat game"]:
            found = learner.critic.advantages(values, read, 0, learner.discount, gae_lambda)
            return learner.normalised(found[:, places], batch.weight)

        own, past = advantages(learner.gae_lambda), advantages(term.past_lambda)
        past = jnp.where(batch.acts, past, 0.0)  # only what was decided is answered
        ended = batch.ended
        so_far, total = jnp.zeros_like(own), jnp.zeros_like(own)
        for other in opponents.others(learner, state, values, read, batch, term.opponent_lambda):
            so_far, shaping = over_team(partial(term, discount=learner.discount))(past, ended, other)
            total = total + shaping
        advantage = own + term.weight * total
        if term.discount_time:
            advantage = advantage * over_team(partial(time_discount, discount=learner.discount))(ended)
        metrics = {
            "own_advantage": jnp.std(own),
            "past_advantage": jnp.std(so_far),
            "past_negative": jnp.mean(so_far < 0, dtype=jnp.float32),
            "shaping_term": jnp.std(total),
        }
        return jax.lax.stop_gradient(Shaped(advantage, metrics))

    # ---- All else is the learner's ---------------------------------------------------------------------

    def check(self, spec: GameSpec, seats: tuple[int, ...]) -> None:
        self.learner.check(spec, seats)

    def init(self, key: Key, spec: GameSpec, seats: tuple[int, ...]) -> LearnerState:
        return self.learner.init_with(key, spec, seats, self.opponent_values.outputs)

    def policy(self, state: LearnerState) -> Acting:
        return self.opponent_values.acting(self.learner, state, learning=False)

    def behaviour(self, state: LearnerState, progress: Float[Array, ""]) -> Acting:
        return self.opponent_values.acting(self.learner, state, learning=True)

    def initial_carry(self, params: Acting) -> PyTree:
        return self.learner.initial_carry(params)

    def act(self, params: Acting, carry: PyTree, obs: PyTree, key: Key) -> Act:
        return self.learner.act(params, carry, obs, key)

    def most_likely(self, params: Acting, carry: PyTree, obs: PyTree, key: Key) -> Act:
        return self.learner.most_likely(params, carry, obs, key)

    def action_probabilities(
        self, params: Acting, carry: PyTree, obs: PyTree, choices: int
    ) -> Float[Array, " choices"]:
        return self.learner.action_probabilities(params, carry, obs, choices)

    def observe(self, state: LearnerState, batch: TeamBatch) -> LearnerState:
        return self.learner.observe(state, batch)
