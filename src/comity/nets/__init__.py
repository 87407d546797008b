"""Networks: torsos, memory, heads. All take arrays with any leading axes and work on the last one."""

from comity.nets.convolutional import Convolutional
from comity.nets.encoder import Encoder
from comity.nets.flat import Flat
from comity.nets.gru import GRU
from comity.nets.gtrxl import GTrXL
from comity.nets.inputs import Inputs
from comity.nets.lstm import LSTM
from comity.nets.mlp import MLP
from comity.nets.network import Network
from comity.nets.tabular import Tabular
from comity.nets.torso import Torso, TorsoCarry

__all__ = [
    "GRU",
    "LSTM",
    "MLP",
    "Convolutional",
    "Encoder",
    "Flat",
    "GTrXL",
    "Inputs",
    "Network",
    "Tabular",
    "Torso",
    "TorsoCarry",
]
