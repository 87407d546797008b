"""Player files: a trained agent, with the game it was trained in, in one small array file."""

from pathlib import Path
from typing import Any, NamedTuple

import jax

from comity.core.errors import ComityError
from comity.core.files import fill, load_arrays, save_arrays
from comity.core.types import Environment, Player, with_everyone
from comity.play.specs import agent_data, agent_from_data, game_data, game_from_data

PLAYER_FORMAT = "comity-player"


class SavedPlayer(NamedTuple):
    """What a player file holds: the player, its game, its seat and notes on how it came to be."""

    player: Player
    game: Environment
    seat: int
    notes: dict[str, Any]


def save_player(path: Path, player: Player, game: Environment, seat: int, notes: dict[str, Any]) -> None:
    """Writes a player file."""
    about = {"agent": agent_data(player.agent), "game": game_data(game), "seat": seat, "notes": notes}
    save_arrays(path, PLAYER_FORMAT, about, player.params)


def read_player(path: Path) -> SavedPlayer:
    """Reads a player file; everything in it is checked, nothing in it is executed."""
    content = load_arrays(path, PLAYER_FORMAT)
    about = content.about
    if not isinstance(about, dict) or not {"agent", "game", "seat", "notes"} <= set(about):
        raise ComityError(f"{path} is damaged: it does not say which agent and game it is about.")
    game = game_from_data(about["game"], f"{path}: game")
    agent = agent_from_data(about["agent"], game.family, f"{path}: agent")
    seat = about["seat"]
    if not isinstance(seat, int) or not 0 <= seat < len(game.seats):
        raise ComityError(f"{path} is damaged: seat {seat!r} does not exist in its game.")
    place = with_everyone(game, seat)
    agent.check(place)
    template = jax.eval_shape(lambda: agent.params(agent.init(jax.random.key(0), place)))
    return SavedPlayer(Player(agent, fill(template, content.arrays, str(path))), game, seat, about["notes"])
