"""TarMAC (Das et al., 2019, arXiv:1810.11187): a team whose seats attend to each other's messages."""

from comity.agents.communication.base import TalkingTeam
from comity.agents.on_policy.ppo import PPO
from comity.nets.mlp import MLP
from comity.nets.network import Network
from comity.nets.talk import Talk, TarMACTalk


class TarMAC(TalkingTeam, PPO):
    """PPO for a team whose seats ask, and attend to the messages that fit."""

    network: Network = MLP(width=64)  # the shape of the policy
    talk: Talk = TarMACTalk()  # how the seats tell each other what they know
