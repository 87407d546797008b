"""Player files: a trained agent with the spec of its game in one small array file, so that it acts anywhere.

What such a file is about, beside its arrays (the parameters that act):

    agent     the agent's name and settings
    spec      what the seats of its game see and do (`comity.core.spec_data`)
    seats     the seats it was trained in
    game      the game's name and settings, for information: read only when somebody asks for the game
    metadata  how it came to be: iteration, seed, run
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import jax

from comity.core.agent import Player
from comity.core.errors import ComityError, require
from comity.core.files import fill, load_arrays, save_arrays
from comity.core.game import Environment, GameSpec
from comity.core.spec_data import spec_data, spec_from_data
from comity.play.specs import agent_data, agent_from_data, game_data, game_from_data

PLAYER_FORMAT = "comity-player"
FIELDS = ("agent", "spec", "seats", "game", "metadata")


class SavedPlayer(NamedTuple):
    """What a player file holds."""

    player: Player
    spec: GameSpec
    seats: tuple[int, ...]  # where it was trained
    metadata: dict[str, Any]
    game_data: dict[str, Any]

    @property
    def seat(self) -> int:
        """The first of its seats."""
        return self.seats[0]

    def game(self) -> Environment:
        """The game it was trained in; raises where that is not installed, or code that is not trusted."""
        return game_from_data(self.game_data)


def save_player(
    path: Path, player: Player, game: Environment, seats: int | tuple[int, ...], metadata: dict[str, Any]
) -> None:
    """Writes a player file. `seats` are those it was trained in, which all see and do the same."""
    places = (seats,) if isinstance(seats, int) else tuple(seats)
    about = {
        "agent": agent_data(player.agent),
        "spec": spec_data(game.spec),
        "seats": list(places),
        "game": game_data(game),
        "metadata": metadata,
    }
    save_arrays(path, PLAYER_FORMAT, about, player.params)


def read_player(path: Path) -> SavedPlayer:
    """Reads a player file; everything in it is checked, nothing in it is executed."""
    content = load_arrays(path, PLAYER_FORMAT)
    about = content.about
    if not isinstance(about, dict) or not set(FIELDS) <= set(about):
        raise ComityError(f"{path} is damaged: a player file says its {', '.join(FIELDS)}.")
    spec = spec_from_data(about["spec"], f"{path}: spec")
    seats = _read_seats(about["seats"], spec, f"{path}: seats")
    for name in ("game", "metadata"):
        require(isinstance(about[name], dict), f"{path}: {name}", about[name], "an object")
    agent = agent_from_data(about["agent"], spec.family, f"{path}: agent")
    agent.check(spec, seats)
    template = jax.eval_shape(lambda: agent.policy(agent.init(jax.random.key(0), spec, seats)))
    player = Player(agent, fill(template, content.arrays, str(path)), spec, seats[0], path.stem)
    return SavedPlayer(player, spec, seats, about["metadata"], about["game"])


def _read_seats(data: Any, spec: GameSpec, path: str) -> tuple[int, ...]:
    count = len(spec.seats)
    fits = (
        isinstance(data, list)
        and 1 <= len(data) <= count
        and all(isinstance(seat, int) and not isinstance(seat, bool) and 0 <= seat < count for seat in data)
        and len(set(data)) == len(data)
    )
    require(fits, path, json.dumps(data)[:80], f"different numbers of seats, from 0 to {count - 1}")
    spaces = {(seat.observation, seat.action) for seat in spec.team(tuple(data))}
    require(len(spaces) == 1, path, data, "seats that see and do the same")
    return tuple(data)
