r"""Learning with opponent Q-learning awareness (Aghajohari et al., 2024, "LOQA", ICLR).

.. math:: \nabla V^1 = E\Big[\sum_t A^1_t\big(\nabla\log\pi^1(a_t|s_t)
          + \nabla\log\hat\pi^2(b_t|s_t)\big)\Big],\qquad \hat\pi^2(b|s) \propto \exp(Q^2(s,b)/\tau)

An agent assumes that the others play a softmax over their action values, which depend on what it does itself
later: so it learns to make those of their actions worth more to them that were good for it. The equations,
and why no graph of all pairs of steps is needed, are in `returns/opponent_q.py`.
"""

import math
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from comity.agents.shaping.actor_critic import Other, ShapingActorCritic
from comity.core.errors import require
from comity.nets.torsos import Network
from comity.returns.advantages import past_sum
from comity.returns.opponent_q import (
    FORMS,
    Form,
    dice_pull,
    loaded_dice_pull,
    n_step_pull,
    n_step_returns,
    softmax_share,
)


class LOQA(ShapingActorCritic):
    """An actor-critic that differentiates through the others' softmax over their action values."""

    network: Network = eqx.field(default_factory=Network)  # the shape of the policy
    critic_network: Network = eqx.field(default_factory=Network)  # the shape of the critic of actions
    opponent_critic: Literal["own-view", "given"] = "own-view"
    """where the others' action values come from: own critic on their view, or given by them"""
    learn_from: Literal["own", "all"] = "all"
    """the views that an own-view critic learns from: one's own, so that others are valued as if they were
    oneself, or all, so that they are valued as they are"""
    form: Form = "loaded-dice"
    """how the others' returns are made differentiable: dice, n-step (a return of n steps and then the
    critic's value, by dice), or loaded-dice (through advantages)"""
    steps: int = 8  # with form n-step: the n
    action_discount: float = 1.0  # with dice and n-step: how a reward's dependence on earlier acts fades
    temperature: float = 1.0  # of the others' softmax over their action values
    partition: Literal["differentiated", "constant"] = "differentiated"
    """whether the gradient goes through the softmax's sum; constant gives Advantage Alignment"""
    weight: float = 1.0  # of the shaping term; 1 in the paper
    past_discount: float = 1.0  # with loaded-dice: further discount of own past advantages; 1 in the paper
    goodwill: float = 0.0  # with loaded-dice: added to past advantages, how kindly others are met at first
    discount: float = 0.96  # what the next step's reward counts
    discount_time: bool = False  # whether step t counts discount^t
    own_trace: float = 0.95  # lambda of own advantages: 0 is TD(0), 1 Monte-Carlo
    past_trace: float = 0.0  # lambda of own past advantages in the shaping term
    opponent_trace: float = 0.5  # lambda of the others' advantages
    critic_trace: float = 0.0  # lambda of the critic's targets: 0 is SARSA
    normalise: Literal["none", "scale", "standardise"] = "none"  # advantages by their spread, or fully
    advantage_clip: float = 0.0  # largest advantage after normalising; 0 for no limit
    entropy: float = 0.1  # weight of the entropy bonus
    final_entropy: float = 1.0  # share of the entropy weight left at the end
    learning_rate: float = 1e-3  # step size of the policy
    final_learning_rate: float = 1.0  # share of it left at the end
    critic_learning_rate: float = 1e-2  # step size of the critic
    final_critic_learning_rate: float = 1.0  # share of it left at the end
    decay_from: float = 0.5  # share of the training after which these fall to their final shares
    critic_first: float = 0.0  # share of the training in which only the critic learns
    target_rate: float = 0.05  # how fast the slow critic follows (1: no slow copy, .01: an EMA of .99)
    max_gradient: float = 1.0  # largest norm of the gradients

    def __check_init__(self) -> None:
        require(self.form in FORMS, "form", self.form, f"one of {', '.join(FORMS)}")
        require(self.steps >= 1, "steps", self.steps, "at least 1")
        require(self.temperature > 0, "temperature", self.temperature, "above 0")
        for name in ("action_discount", "past_discount", "critic_trace"):
            share = getattr(self, name)
            require(0.0 <= share <= 1.0, name, share, "between 0 and 1")
        require(math.isfinite(self.goodwill), "goodwill", self.goodwill, "a finite number")

    @property
    def action_trace(self) -> float:
        return self.critic_trace

    def pull(
        self, own: Float[Array, "time stream"], ended: Bool[Array, "time stream"], other: Other
    ) -> tuple[Float[Array, "time stream"], Float[Array, "time stream"]]:
        return jax.vmap(self._pull_stream, in_axes=1, out_axes=1)(own, ended, other)

    def _pull_stream(
        self, own: Float[Array, " time"], ended: Bool[Array, " time"], other: Other
    ) -> tuple[Float[Array, " time"], Float[Array, " time"]]:
        strength = own / self.temperature
        if self.partition == "differentiated":
            estimate = self._estimate(ended, other)
            strength = strength * (1.0 - softmax_share(estimate, other.each, other.action, self.temperature))
        so_far = past_sum(strength, ended, self.discount)
        if self.form == "loaded-dice":
            decay = self.discount * self.past_discount
            pull = loaded_dice_pull(strength, other.advantage, ended, decay)
            return so_far, pull + self.goodwill * other.advantage
        if self.form == "dice":
            return so_far, dice_pull(strength, other.reward, ended, self.discount, self.action_discount)
        return so_far, n_step_pull(
            strength, other.reward, other.next_value, ended, self.discount, self.steps, self.action_discount
        )

    def _estimate(self, ended: Bool[Array, " time"], other: Other) -> Float[Array, " time"]:
        """The value of what the other did, from what was played."""
        if self.form == "loaded-dice":
            return other.returns
        if self.form == "dice":
            nothing = jnp.zeros_like(other.reward)
            return n_step_returns(other.reward, nothing, ended, self.discount, ended.shape[0])
        return n_step_returns(other.reward, other.next_value, ended, self.discount, self.steps)
