"""IC3Net (Singh, Jain and Sukhbaatar, 2019, arXiv:1812.09755): a team whose seats choose when to speak."""

from comity.agents.communication.base import TalkingTeam
from comity.agents.on_policy.ppo import PPO
from comity.nets.mlp import MLP
from comity.nets.network import Network
from comity.nets.talk import IC3NetTalk, Talk


class IC3Net(TalkingTeam, PPO):
    """PPO for a team whose seats open and close gates; the choice is learned as the actions are."""

    network: Network = MLP(width=64)  # the shape of the policy
    talk: Talk = IC3NetTalk()  # how the seats tell each other what they know
