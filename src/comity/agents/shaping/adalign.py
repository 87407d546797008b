r"""Advantage Alignment (Duque et al., 2024, "Advantage Alignment Algorithms", equations 3 and 8).

.. math:: \nabla V^1 = E\Big[\sum_t \Big(A^1_t + \beta\gamma\big(\textstyle\sum_{k<t}\gamma^{t-k}
          A^1_k\big)A^2_t\Big)\nabla\log\pi^1(a_t|s_t)\Big]

An agent raises the probability of what is good for the other when the interaction was good for itself so
far, and lowers it when it was not: it answers good with good and cannot be exploited for long. Its
assumption about the others is only that they prefer what has a higher value to them.
"""

import math
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from comity.agents.on_policy.a2c import A2C
from comity.agents.shaping.base import ShapingAgent, Term
from comity.agents.shaping.opponent_values import OpponentValues, Other, OwnView
from comity.agents.shaping.past import Before, Discounted, Past, Separate
from comity.core.errors import require
from comity.core.tunable import Number
from comity.learn.critics import Critic
from comity.learn.optimisers import Adam
from comity.learn.schedules import Decay
from comity.returns.alignment import CASES, Case, alignment


class Alignment(Term):
    """Own past advantages times the other's present advantage."""

    past: Past = Discounted()  # how own past advantages are summed
    masked_cases: tuple[Case, ...] = ()  # cases left out: cooperative, empathetic, vengeful, spiteful
    past_clip: float = 0.0  # largest sum of past advantages; 0: no limit
    goodwill: float = 0.0  # added to past advantages: how kindly others are met who did nothing yet
    lasting: bool = False  # whether the past goes on over rollouts that are shorter than episodes
    attributed: bool = False
    """whether the past is kept for each other player: what I gained or lost while that one gained"""

    tunable: ClassVar[tuple[str, ...]] = (*Term.tunable, "goodwill")

    def __check_init__(self) -> None:
        for case in self.masked_cases:
            require(case in CASES, "term.masked_cases", case, f"one of {', '.join(CASES)}")
        require(self.past_clip >= 0, "term.past_clip", self.past_clip, "at least 0")
        require(math.isfinite(self.goodwill), "term.goodwill", self.goodwill, "a finite number")

    def __call__(
        self,
        own: Float[Array, " time"],
        ended: Bool[Array, " time"],
        other: Other,
        before: Before,
        discount: Number,
    ) -> tuple[Float[Array, " time"], Float[Array, " time"]]:
        so_far = self.past(self._felt(own, other), ended, discount, before)
        if self.past_clip > 0:
            so_far = jnp.clip(so_far, -self.past_clip, self.past_clip)
        so_far = so_far + self.goodwill
        return so_far, alignment(so_far, other.advantage, self.masked_cases)

    def lasts(self) -> bool:
        return self.lasting

    def total_after(
        self,
        own: Float[Array, " time"],
        ended: Bool[Array, " time"],
        other: Other,
        before: Before,
        discount: Number,
    ) -> Float[Array, ""]:
        return self.past.total_after(self._felt(own, other), ended, discount, before)

    def _felt(self, own: Float[Array, " time"], other: Other) -> Float[Array, " time"]:
        """Own advantages as far as they are the other's doing."""
        return own * jnp.maximum(other.advantage, 0.0) if self.attributed else own


LEARNER = A2C(
    critic=Critic(learning_rate=1e-2, value_coef=1.0, td_lambda=0.9, loss="huber"),
    optimiser=Adam(epsilon=1e-6),
    schedule=Decay(decay_from=0.5, max_std=1.0),
    entropy_coef=0.1,
)
TERM = Alignment(past_lambda=0.0, opponent_lambda=0.5, past=Separate())  # as in the published Coin Game


class AdvantageAlignment(ShapingAgent):
    """The policy gradient plus the alignment term, one step per rollout."""

    learner: A2C = LEARNER  # the policy gradient
    term: Alignment = TERM  # what is added to its advantages
    opponent_values: OpponentValues = OwnView()  # where the others' values come from

    spreads: ClassVar[bool] = True
