r"""Advantage Alignment (Duque et al., 2024, "Advantage Alignment Algorithms", equations 3 and 8).

.. math:: \nabla V^1 = E\Big[\sum_t \Big(A^1_t + \beta\gamma\big(\textstyle\sum_{k<t}\gamma^{t-k}
          A^1_k\big)A^2_t\Big)\nabla\log\pi^1(a_t|s_t)\Big]

An agent raises the probability of what is good for the other when the interaction was good for itself so
far, and lowers it when it was not: it answers good with good and cannot be exploited for long. Its
assumption about the others is only that they prefer what has a higher value to them.
"""

from typing import Literal

import equinox as eqx

from comity.agents.critics import Kind
from comity.agents.shaping.aligned import AlignedAgent
from comity.nets.torsos import Network
from comity.returns.alignment import Case, Past


class AdvantageAlignment(AlignedAgent):
    """The policy gradient plus the alignment term, one step per rollout."""

    network: Network = eqx.field(default_factory=Network)  # the shape of the policy
    critic_network: Network = eqx.field(default_factory=Network)  # the shape of the critic
    critic: Kind = "value"
    """V; action-value: Q, with V as its mean under the policy; after-state: V that looks ahead to before
    chance draws, so that luck is no advantage"""
    opponent_critic: Literal["own-view", "learned", "given"] = "own-view"
    """where the others' values come from: own critic on their view, learned from their observed rewards,
    or given by them"""
    learn_from: Literal["own", "all"] = "all"
    """the views that an own-view critic learns from: one's own, so that others are valued as if they were
    oneself, or all, so that they are valued as they are"""
    weight: float = 1.0  # beta, the weight of the alignment term
    past: Past = "separate"  # own past advantages: discounted (eq. 8), averaged (eq. 59) or separate
    past_discount: float = 0.9  # with past separate: further discount of past advantages
    without: tuple[Case, ...] = ()  # cases left out: cooperative, empathetic, vengeful, spiteful
    discount: float = 0.96  # what the next step's reward counts
    discount_time: bool = False  # whether step t counts discount^t, as equations 3 and 8 have it
    own_trace: float = 0.95  # lambda of own advantages: 0 is TD(0), 1 Monte-Carlo
    past_trace: float = 0.0  # lambda of own past advantages in the alignment term
    opponent_trace: float = 0.5  # lambda of the others' advantages
    critic_trace: float = 0.9  # lambda of the value critic's targets
    value_unit: float = 1.0  # what one unit of the critic is worth: the size of values, if they are large
    normalise: Literal["none", "scale", "standardise"] = "none"  # advantages by their spread, or fully
    advantage_clip: float = 0.0  # largest advantage after normalising; 0 for no limit
    past_clip: float = 0.0  # largest sum of past advantages; 0 for no limit
    goodwill: float = 0.0  # added to past advantages: how kindly others are met who did nothing yet
    entropy: float = 0.1  # weight of the entropy bonus
    final_entropy: float = 1.0  # share of the entropy weight left at the end
    learning_rate: float = 1e-3  # step size of the policy
    final_learning_rate: float = 1.0  # share of it left at the end
    critic_learning_rate: float = 1e-2  # step size of the critic
    final_critic_learning_rate: float = 1.0  # share of it left at the end
    decay_from: float = 0.5  # share of the training after which these fall to their final shares
    critic_first: float = 0.0  # share of the training in which only the critic learns
    target_rate: float = 1.0  # how fast the slow critic follows (1: no slow copy, .01: an EMA of .99)
    spread: float = 1.0  # largest standard deviation of continuous actions, before squashing
    final_spread: float = 1.0  # share of it left at the end
    max_gradient: float = 1.0  # largest norm of the gradients
