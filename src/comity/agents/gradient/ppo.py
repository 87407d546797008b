r"""Proximal policy optimisation (Schulman et al., 2017, arXiv:1707.06347), for one seat or many.

.. math:: \max_\theta E_t\big[\min(\rho_t A_t, \mathrm{clip}(\rho_t, 1-\epsilon, 1+\epsilon) A_t)\big] + c_H H
          - c_V (V - G)^2 / 2, \qquad \rho_t = \pi_\theta(a_t|s_t) / \pi_{old}(a_t|s_t)
"""

from typing import Literal

import equinox as eqx

from comity.agents.gradient.proximal import Proximal
from comity.nets.torsos import Network


class PPO(Proximal):
    """Several passes over each rollout, with the change of the policy kept small."""

    network: Network = eqx.field(default_factory=Network)  # the shape of policy and critic
    learning_rate: float = 1e-3  # Adam's step size
    final_learning_rate: float = 1.0  # share of the learning rate left at the end, reached linearly
    discount: float = 0.96  # what the next step's reward counts
    trace: float = 0.95  # lambda of generalised advantage estimation
    clip: float = 0.2  # how far the probability ratio may move from 1
    value_clip: float = 0.2  # how far the value may move in one update; 0 for no limit
    epochs: int = 2  # passes over each rollout
    minibatches: int = 2  # parts of a rollout, each of whole sequences
    entropy: float = 0.01  # weight of the entropy bonus
    final_entropy: float = 1.0  # share of the entropy weight left at the end, reached linearly
    value_weight: float = 0.5  # weight of the value loss
    value_rate: float = 0.01  # how fast the running mean and spread of values follow; 0: values as they are
    popart: bool = False  # whether the value head is rescaled with them, to go on meaning the same
    max_gradient: float = 0.5  # largest norm of the gradient
    normalise_advantages: Literal["batch", "minibatch", "none"] = "batch"  # where they get mean 0, variance 1
    target_kl: float = 0.0  # KL divergence of an update that is aimed at; 0: none
    kl_rule: Literal["stop", "adapt"] = "stop"  # beyond it: end the update, or adapt the step size
