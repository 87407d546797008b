"""Model-free opponent shaping (Lu et al., 2022, arXiv:2205.01447): PPO on a meta-game.

In the meta-game (`games/meta.py`) a step is an episode in which the co-players learn. An agent that maximises
its reward there, by plain PPO, has to find out how its policies change what the others learn: it shapes them
without knowing their parameters' derivatives, and may well extort naive learners. It assumes that the others'
learning can be played through again and again.
"""

from comity.agents.on_policy.ppo import PPO
from comity.learn.schedules import Decay


class MFOS(PPO):
    """PPO with settings for meta-games: a long view, little noise, and several passes over each rollout."""

    schedule: Decay = Decay(final_learning_rate=0.1)  # what is left of rates and bonuses at the end
    discount: float = 0.99  # what the next inner episode's reward counts
    epochs: int = 4  # passes over each rollout
    minibatches: int = 4  # parts of a rollout, each of whole games
    entropy_coef: float = 0.001  # weight of the entropy bonus
