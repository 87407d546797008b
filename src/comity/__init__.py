"""Comity: train agents that cooperate without being exploited, and prove it.

import comity

game = comity.make_game("prisoners-dilemma")
agent = comity.make_agent("ppo")
run = comity.train(game, agent, iterations=200, out="runs/ppo")
table = comity.league(game, {"ppo": run, "tit-for-tat": "tit-for-tat"})
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from comity.api import exploit as exploit
    from comity.api import league as league
    from comity.api import load_player as load_player
    from comity.api import psro as psro
    from comity.api import replay as replay
    from comity.api import scripted_player as scripted_player
    from comity.api import sweep as sweep
    from comity.api import train as train
    from comity.comparing import compare as compare
    from comity.core.agent import Player as Player
    from comity.core.errors import ComityError as ComityError
    from comity.play.export import export_player as export_player
    from comity.play.specs import make_agent as make_agent
    from comity.play.specs import make_game as make_game
    from comity.play.specs import make_matchmaker as make_matchmaker
    from comity.training.experiment import Experiment as Experiment
    from comity.training.experiment import make_experiment as make_experiment

__version__ = "0.2.0"

_PUBLIC = {
    "ComityError": "comity.core.errors",
    "compare": "comity.comparing",
    "Experiment": "comity.training.experiment",
    "Player": "comity.core.agent",
    "exploit": "comity.api",
    "export_player": "comity.play.export",
    "league": "comity.api",
    "load_player": "comity.api",
    "make_agent": "comity.play.specs",
    "make_experiment": "comity.training.experiment",
    "make_game": "comity.play.specs",
    "make_matchmaker": "comity.play.specs",
    "psro": "comity.api",
    "replay": "comity.api",
    "scripted_player": "comity.api",
    "sweep": "comity.api",
    "train": "comity.api",
}

__all__ = ["__version__", *_PUBLIC]  # noqa: PLE0604 - names resolved on first use


def __getattr__(name: str) -> Any:
    """Loads what is asked for when it is asked for, so that importing Comity is quick."""
    if name in _PUBLIC:
        value = getattr(importlib.import_module(_PUBLIC[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'comity' has no attribute {name!r}")
