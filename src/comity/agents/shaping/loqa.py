r"""Learning with opponent Q-learning awareness (Aghajohari et al., 2024, "LOQA", ICLR).

.. math:: \nabla V^1 = E\Big[\sum_t A^1_t\big(\nabla\log\pi^1(a_t|s_t)
          + \nabla\log\hat\pi^2(b_t|s_t)\big)\Big],\qquad \hat\pi^2(b|s) \propto \exp(Q^2(s,b)/\tau)

An agent assumes that the others play a softmax over their action values, which depend on what it does itself
later: so it learns to make those of their actions worth more to them that were good for it. The equations,
and why no graph of all pairs of steps is needed, are in `returns/opponent_q.py`.
"""

import math
from typing import ClassVar, Literal

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from comity.agents.on_policy.a2c import A2C
from comity.agents.shaping.base import ShapingAgent, Term
from comity.agents.shaping.opponent_values import Learned, OpponentValues, Other, OwnView
from comity.agents.shaping.past import Before
from comity.core.errors import require
from comity.core.tunable import Number
from comity.learn.critics import Critic
from comity.learn.optimisers import Adam
from comity.learn.schedules import Decay
from comity.returns.advantages import past_sum
from comity.returns.opponent_q import (
    Form,
    dice_term,
    loaded_dice_term,
    n_step_returns,
    n_step_term,
    softmax_share,
)


class OpponentQ(Term):
    """The gradient through the other's softmax over its action values, as a change of the advantage."""

    past_lambda: float = 0.0  # lambda of own past advantages in the term: 0 is TD(0), 1 Monte-Carlo
    opponent_lambda: float = 0.5  # lambda of the others' advantages
    form: Form = "loaded-dice"
    """how the others' returns are made differentiable: dice, n-step (a return of n steps and then the
    critic's value, by dice), or loaded-dice (through advantages)"""
    steps: int = 8  # with form n-step: the n
    action_discount: float = 1.0  # with dice and n-step: how a reward's dependence on earlier acts fades
    temperature: float = 1.0  # of the others' softmax over their action values
    partition: Literal["differentiated", "constant"] = "differentiated"
    """whether the gradient goes through the softmax's sum; constant gives Advantage Alignment"""
    past_discount: float = 1.0  # with loaded-dice: further discount of own past advantages; 1 in the paper
    goodwill: float = 0.0  # with loaded-dice: added to past advantages, how kindly others are met at first

    tunable: ClassVar[tuple[str, ...]] = (*Term.tunable, "temperature", "past_discount", "goodwill")

    def __check_init__(self) -> None:
        require(self.steps >= 1, "term.steps", self.steps, "at least 1")
        require(self.temperature > 0, "term.temperature", self.temperature, "above 0")
        for name in ("action_discount", "past_discount"):
            share = getattr(self, name)
            require(0.0 <= share <= 1.0, f"term.{name}", share, "between 0 and 1")
        require(math.isfinite(self.goodwill), "term.goodwill", self.goodwill, "a finite number")

    def __call__(
        self,
        own: Float[Array, " time"],
        ended: Bool[Array, " time"],
        other: Other,
        before: Before,
        discount: Number,
    ) -> tuple[Float[Array, " time"], Float[Array, " time"]]:
        strength = own / self.temperature
        if self.partition == "differentiated":
            estimate = self._estimate(ended, other, discount)
            strength = strength * (1.0 - softmax_share(estimate, other.each, other.action, self.temperature))
        so_far = past_sum(strength, ended, discount)
        if self.form == "loaded-dice":
            term = loaded_dice_term(strength, other.advantage, ended, discount * self.past_discount)
            return so_far, term + self.goodwill * other.advantage
        if self.form == "dice":
            return so_far, dice_term(strength, other.reward, ended, discount, self.action_discount)
        return so_far, n_step_term(
            strength, other.reward, other.next_value, ended, discount, self.steps, self.action_discount
        )

    def _estimate(self, ended: Bool[Array, " time"], other: Other, discount: Number) -> Float[Array, " time"]:
        """The value of what the other did, from what was played."""
        if self.form == "loaded-dice":
            return other.returns
        if self.form == "dice":
            nothing = jnp.zeros_like(other.reward)
            return n_step_returns(other.reward, nothing, ended, discount, ended.shape[0])
        return n_step_returns(other.reward, other.next_value, ended, discount, self.steps)


LEARNER = A2C(
    critic=Critic(
        kind="action-value", learning_rate=1e-2, value_coef=1.0, td_lambda=0.0, target_tau=0.05, loss="huber"
    ),
    optimiser=Adam(epsilon=1e-6),
    schedule=Decay(decay_from=0.5),
    entropy_coef=0.1,
)


class LOQA(ShapingAgent):
    """An actor-critic that differentiates through the others' softmax over their action values."""

    learner: A2C = LEARNER  # the policy gradient, with a critic of actions
    term: OpponentQ = OpponentQ()  # what is added to its advantages
    opponent_values: OpponentValues = OwnView()  # where the others' action values come from

    def __check_init__(self) -> None:
        kind = self.learner.critic.kind
        require(kind == "action-value", "learner.critic.kind", kind, "action-value")
        learned = isinstance(self.opponent_values, Learned)
        require(not learned, "opponent_values", "learned", "own-view or given: sums tell nothing of actions")
