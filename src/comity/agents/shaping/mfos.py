"""Model-free opponent shaping (Lu et al., 2022, arXiv:2205.01447): PPO on a meta-game.

In the meta-game (`games/meta.py`) a step is an episode in which the co-players learn. An agent that maximises
its reward there, by plain PPO, has to find out how its policies change what the others learn: it shapes them
without knowing their parameters' derivatives, and may well extort naive learners. It assumes that the others'
learning can be played through again and again.
"""

import equinox as eqx

from comity.agents.gradient.ppo import PPO
from comity.nets.torsos import Network


class MFOS(PPO):
    """PPO with settings for meta-games: a long view, little noise, and several passes over each rollout."""

    network: Network = eqx.field(default_factory=Network)  # the shape of policy and critic
    learning_rate: float = 1e-3  # Adam's step size
    final_learning_rate: float = 0.1  # share of the learning rate left at the end, reached linearly
    discount: float = 0.99  # what the next inner episode's reward counts
    epochs: int = 4  # passes over each rollout
    minibatches: int = 4  # parts of a rollout, each of whole sequences
    entropy: float = 0.001  # weight of the entropy bonus
