"""Proximal learning with opponent-learning awareness (Zhao et al., 2022, arXiv:2210.10125): POLA-DiCE.

LOLA depends on how policies are parametrised: the same step of the parameters is a small or a huge change of
what is done. POLA measures steps by how much behaviour changes (KL), both its own and those that it imagines
of the others, and takes several steps before it looks at the world again.
"""

import math
from typing import Literal

import equinox as eqx

from comity.agents.shaping.dice_lookahead import DiceLookahead
from comity.core.errors import require
from comity.nets.torsos import Network


class POLA(DiceLookahead):
    """Several proximal steps per iteration, each through some proximal steps of the others' learning."""

    network: Network = eqx.field(default_factory=Network)  # the shape of the policy
    critic_network: Network = eqx.field(default_factory=Network)  # the shape of the critic
    opponents: Literal["given", "modelled"] = "given"
    """where the others' policies come from: their own parameters, or a model learned from what they do"""
    inner_steps: int = 2  # how many steps of learning the others are imagined to take
    inner_learning_rate: float = 10.0  # how long such a step is, on values per step
    inner_penalty: float = 0.1  # what a change of the others' policy costs them (KL)
    inner_reach: float = 0.0  # largest change (KL) of another's policy in one imagined step; 0: no limit
    shaping_weight: float = 1.0  # how much it counts that the others learn from what I do; 1 in the paper
    outer_steps: int = 4  # own steps per iteration, each after a new look ahead
    penalty: float = 1.0  # what a change of the own policy costs (KL)
    discount: float = 0.96  # what the next step's reward counts
    trace: float = 0.95  # lambda of advantages
    dice_trace: float = 1.0  # how a value's dependence on earlier acts fades; below 1 less noise, some bias
    entropy: float = 0.0  # weight of the entropy bonus
    final_entropy: float = 1.0  # share of it left at the end, reached linearly
    learning_rate: float = 3e-3  # step size of the policy
    final_learning_rate: float = 1.0  # share of it left at the end, reached linearly
    critic_learning_rate: float = 1e-2  # step size of the critic
    model_learning_rate: float = 1e-2  # step size of the model of the others
    max_gradient: float = 1.0  # largest norm of the gradients

    def __check_init__(self) -> None:
        require(self.outer_steps >= 1, "outer_steps", self.outer_steps, "at least 1")
        for name in ("inner_penalty", "inner_reach", "penalty", "shaping_weight"):
            require(0 <= getattr(self, name) < math.inf, name, getattr(self, name), "finite, at least 0")

    @property
    def penalties(self) -> tuple[float, float]:
        return self.penalty, self.inner_penalty

    @property
    def reach(self) -> float:
        return self.inner_reach

    @property
    def emphasis(self) -> float:
        return self.shaping_weight

    @property
    def passes(self) -> int:
        return self.outer_steps
