r"""Multi-agent PPO (Yu et al., 2022, arXiv:2103.01955), and its independent form.

Policies act on their own observations. In MAPPO the value that their advantages are measured against reads
the observations of all seats, one's own first (`critic.view joint`), the same once for the whole team
(`team`), or one's own and the game's state (`state`); it is used in training only, so players remain
decentralised. In IPPO it reads one's own. Values are learned normalised.
"""

from comity.agents.on_policy.ppo import PPO
from comity.learn.critics import Critic
from comity.learn.optimisers import Adam
from comity.learn.statistics import ReturnNorm
from comity.learn.views import Joint

OWN = Critic(value_coef=1.0, value_clip=0.2, norm=ReturnNorm(return_ema=0.01))
JOINT = Critic(view=Joint(), value_coef=1.0, value_clip=0.2, norm=ReturnNorm(return_ema=0.01))


class IPPO(PPO):
    """PPO for each seat by itself, with the settings of MAPPO."""

    critic: Critic = OWN  # what advantages are measured from
    optimiser: Adam = Adam(max_grad_norm=10.0)  # how the parameters follow gradients
    discount: float = 0.99  # what the next step's reward counts
    epochs: int = 4  # passes over each rollout
    minibatches: int = 1  # parts of a rollout, each of whole games


class MAPPO(IPPO):
    """PPO with a centralised critic. With one seat it is PPO: there is nobody else to see."""

    critic: Critic = JOINT  # what advantages are measured from
