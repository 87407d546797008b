"""Networks: torsos, memory, heads. All take arrays with any leading axes and work on the last one."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from comity.nets.convolutional import Convolutional as Convolutional
    from comity.nets.encoder import Encoder as Encoder
    from comity.nets.flat import Flat as Flat
    from comity.nets.gru import GRU as GRU
    from comity.nets.gtrxl import GTrXL as GTrXL
    from comity.nets.inputs import Inputs as Inputs
    from comity.nets.lstm import LSTM as LSTM
    from comity.nets.mlp import MLP as MLP
    from comity.nets.network import Network as Network
    from comity.nets.tabular import Tabular as Tabular
    from comity.nets.torso import Torso as Torso
    from comity.nets.torso import TorsoCarry as TorsoCarry

_PUBLIC = {
    "GRU": "gru",
    "LSTM": "lstm",
    "MLP": "mlp",
    "Convolutional": "convolutional",
    "Encoder": "encoder",
    "Flat": "flat",
    "GTrXL": "gtrxl",
    "Inputs": "inputs",
    "Network": "network",
    "Tabular": "tabular",
    "Torso": "torso",
    "TorsoCarry": "torso",
}

__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    """Loads a network when it is asked for: an agent with one kind does not wait for the others."""
    if name in _PUBLIC:
        value = getattr(importlib.import_module(f"comity.nets.{_PUBLIC[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'comity.nets' has no attribute {name!r}")
