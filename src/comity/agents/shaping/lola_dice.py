"""LOLA by sampling (Foerster et al., 2018, arXiv:1709.04326 and arXiv:1802.05098): LOLA-DiCE.

For neural policies in any game with discrete actions: the others' learning and what it is worth are estimated
from games that are played for the purpose. Assumes that the others are naive learners with a known step, and
that their parameters are known (`opponents given`) or can be modelled from what they do (`modelled`).
"""

from typing import Literal

import equinox as eqx

from comity.agents.shaping.dice_lookahead import DiceLookahead
from comity.nets.torsos import Network


class LOLADice(DiceLookahead):
    """One step of gradient ascent per iteration through some steps of the others' learning."""

    network: Network = eqx.field(default_factory=Network)  # the shape of the policy
    critic_network: Network = eqx.field(default_factory=Network)  # the shape of the critic
    opponents: Literal["given", "modelled"] = "given"
    """where the others' policies come from: their own parameters, or a model learned from what they do"""
    inner_steps: int = 1  # how many steps of learning the others are imagined to take
    inner_learning_rate: float = 10.0  # how long such a step is, on values per step
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
