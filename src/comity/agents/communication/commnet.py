"""CommNet (Sukhbaatar et al., 2016, arXiv:1605.07736): a team shares the mean of what its seats know."""

from comity.agents.communication.base import TalkingTeam
from comity.agents.on_policy.ppo import PPO
from comity.nets.mlp import MLP
from comity.nets.network import Network
from comity.nets.talk import CommNetTalk, Talk


class CommNet(TalkingTeam, PPO):
    """PPO for a team whose seats hear the mean of the others."""

    network: Network = MLP(width=64)  # the shape of the policy
    talk: Talk = CommNetTalk()  # how the seats tell each other what they know
