"""Opponent shaping as a policy-gradient learner plus a term: a change of the advantage."""

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.on_policy.acting import Acting
from comity.agents.on_policy.base import ActorCriticAgent, LearnerState, Shaped
from comity.agents.shaping.opponent_values import OpponentValues, Other
from comity.agents.shaping.past import Before
from comity.core.agent import Act, Agent, Context, Explained, Metrics
from comity.core.batch import TeamBatch
from comity.core.errors import require
from comity.core.game import GameSpec
from comity.core.shards import mean_over, std, variance
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
        self,
        own: Float[Array, " time"],
        ended: Bool[Array, " time"],
        other: Other,
        before: Before,
        discount: Number,
    ) -> tuple[Float[Array, " time"], Float[Array, " time"]]:
        """What my own advantages came to so far, and the term by which it shapes the other player.

        Along one stream; nothing reaches across the end of an episode. `before` is nothing unless it `lasts`.
        """

    def lasts(self) -> bool:
        """Whether what an episode came to goes on over rollouts; by default it begins with each."""
        return False

    def total_after(
        self,
        own: Float[Array, " time"],
        ended: Bool[Array, " time"],
        other: Other,
        before: Before,
        discount: Number,
    ) -> Float[Array, ""]:
        """Where it lasts: the sum with which the next rollout begins."""
        return jnp.float32(0.0)


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

        learned, metrics = self.learner.learn(state._replace(past=()), batch, read, shape, context, key)
        if self.term.lasts():
            learned = learned._replace(past=self._past_after(state, batch, read))
        return self.learner.once_started(state, learned, batch, context), metrics

    def fit(self, state: LearnerState, batch: TeamBatch) -> LearnerState:
        if not self.term.lasts():
            return state
        others = self.opponent_values.count(len(batch.joint.obs))
        return state._replace(past=jnp.zeros((others, *batch.reward.shape[1:]), jnp.float32))

    def _before(self, state: LearnerState, batch: TeamBatch, other: int) -> Before:
        """What the episodes came to before the rollout, leaves [1, seat, game], for one other player."""
        nothing = jnp.zeros((1, *batch.reward.shape[1:]), jnp.float32)
        if not self.term.lasts():
            return Before(nothing, nothing)
        return Before(state.past[other][None], nothing + batch.age.astype(jnp.float32)[None, None])

    def _past_after(
        self, state: LearnerState, batch: TeamBatch, read: CriticBatch
    ) -> Float[Array, "other seat game"]:
        """What episodes that are not over came to at the end of the rollout."""
        values = jax.lax.stop_gradient(self.learner.values(state.critic, state.policy, read))
        past = self._past_advantages(batch, read, values)

        def total_after(own: Array, ended: Array, other: Other, before: Before) -> Float[Array, " 1"]:
            return self.term.total_after(own, ended, other, before, self.learner.discount)[None]

        after = over_team(_in_stream(total_after))
        others = self.opponent_values.others(
            self.learner, state, values, read, batch, self.term.opponent_lambda
        )
        return jnp.stack(
            [
                after(past, batch.ended, other, self._before(state, batch, i))[0]
                for i, other in enumerate(others)
            ]
        )

    def _past_advantages(
        self, batch: TeamBatch, read: CriticBatch, values: CriticValues
    ) -> Float[Array, "time seat game"]:
        """Own advantages as the past counts them: only what was decided is answered."""
        past = self._own_advantages(batch, read, values, self.term.past_lambda)
        return jnp.where(batch.acts, past, 0.0)

    def _own_advantages(
        self, batch: TeamBatch, read: CriticBatch, values: CriticValues, gae_lambda: Number
    ) -> Float[Array, "time seat game"]:
        learner = self.learner
        found = learner.critic.advantages(values, read, 0, learner.discount, gae_lambda)
        return learner.normalised(found[:, jnp.asarray(self.opponent_values.places(batch))], batch.weight)

    def shaped_advantages(
        self, state: LearnerState, batch: TeamBatch, read: CriticBatch, values: CriticValues
    ) -> Shaped:
        """The learner's own advantages plus the term, [time, seat, game]. Nothing here is differentiated."""
        learner, term = self.learner, self.term
        own = self._own_advantages(batch, read, values, learner.gae_lambda)
        others, pasts, shaping = self._shaping(state, batch, read, values)
        total = sum(shaping, start=jnp.zeros_like(own))
        ended = batch.ended
        advantage = own + term.weight * total
        if term.discount_time:
            advantage = advantage * over_team(partial(time_discount, discount=learner.discount))(ended)
        answered = jnp.stack(pasts or [jnp.zeros_like(own)])
        metrics = {
            "own_advantage": std(own),
            "past_advantage": std(answered),
            "past_negative": mean_over(jnp.mean(answered < 0, dtype=jnp.float32)),
            "shaping_term": std(total),
        }
        if others:
            metrics["opponent_explained_variance"] = _explained_variance(others)
        return jax.lax.stop_gradient(Shaped(advantage, metrics))

    def _shaping(
        self, state: LearnerState, batch: TeamBatch, read: CriticBatch, values: CriticValues
    ) -> tuple[tuple[Other, ...], list[Array], list[Array]]:
        """The others, and for each of them what own advantages came to so far and how that shapes it."""
        term = self.term
        past = self._past_advantages(batch, read, values)
        shape = over_team(_in_stream(partial(term, discount=self.learner.discount)))
        others = self.opponent_values.others(self.learner, state, values, read, batch, term.opponent_lambda)
        pasts, shaping = [], []
        for i, other in enumerate(others):
            so_far, shaped = shape(past, batch.ended, other, self._before(state, batch, i))
            pasts.append(so_far)
            shaping.append(shaped)
        return others, pasts, shaping

    def explain(self, state: LearnerState, batch: TeamBatch) -> Explained:
        state = self.fit(state, batch)  # it may have learned in other numbers of games
        read = self.opponent_values.read(self.learner, state, batch)
        values = jax.lax.stop_gradient(self.learner.values(state.critic, state.policy, read))
        own = self._own_advantages(batch, read, values, self.learner.gae_lambda)
        others, pasts, _ = self._shaping(state, batch, read, values)
        nobody = jnp.zeros((0, *own.shape), own.dtype)
        advantages = jnp.stack([other.advantage for other in others]) if others else nobody
        value = values.value[..., 0][:, jnp.asarray(self.opponent_values.places(batch))]
        advantage = self.shaped_advantages(state, batch, read, values).advantage
        return Explained(value, own, advantages, jnp.stack(pasts) if pasts else nobody, advantage)

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


def _in_stream(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function along one stream, for what was before it in an axis of time of length 1."""

    def call(own: Array, ended: Array, other: Other, before: Before) -> Any:
        return function(own, ended, other, jax.tree.map(lambda x: x[0], before))

    return call


def _explained_variance(others: tuple[Other, ...]) -> Float[Array, ""]:
    """How much of the others' returns their values tell: 1 all, 0 nothing."""
    returns = jnp.stack([other.returns for other in others])
    missed = jnp.stack([other.returns - other.value for other in others])
    return 1.0 - variance(missed) / (variance(returns) + 1e-8)
