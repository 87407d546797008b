"""Players by name: scripted ones, the zoo's, and those of files and run folders."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax

from comity.core.agent import Player
from comity.core.errors import ComityError, bad_value, require
from comity.core.game import Environment, GameSpec
from comity.play.player_file import SavedPlayer, read_player
from comity.play.specs import agent_from_data, make_agent, make_game
from comity.play.zoo import PREFIX, zoo_file


def scripted_player(name: str, game: Environment | None = None, seat: int = 0) -> Player:
    """A scripted player, or one of your own, for a seat of a game, by default the prisoner's dilemma."""
    game = make_game("prisoners-dilemma") if game is None else game
    agent = make_agent(name, game)
    if agent.learns:
        raise ComityError(f"{name} learns: train it first, and give the run folder or the player file.")
    spec, seats = game.spec, (min(seat, len(game.seats) - 1),)
    agent.check(spec, seats)
    return Player(agent, agent.policy(agent.init(jax.random.key(0), spec, seats)), spec, seats[0], name)


def fixed_player(source: str, spec: GameSpec, seat: int) -> Player:
    """A player that does not learn, for a seat of a game of which only the spec is known.

    The name of a scripted player, with settings after it as in `generous-tit-for-tat,generosity=0.1`; one of
    the zoo; a player file; a run folder.
    """
    path = Path(source)
    if source.startswith(PREFIX):
        player = zoo_player(source)
    elif path.is_dir():
        files = sorted(path.glob("*.safetensors")) or sorted((path / "players").glob("*.safetensors"))
        player = player_for(files, seat, path)
    elif path.is_file():
        player = read_player(path).player
    else:
        name, *settings = source.split(",")
        pairs = [setting.partition("=") for setting in settings]
        if not all(equals for _, equals, _ in pairs):
            raise bad_value(
                "players", source, "a player, with settings as in generous-tit-for-tat,generosity=0.1"
            )
        data = {field.replace("-", "_"): _value(value) for field, _, value in pairs}
        agent = agent_from_data({"name": name, **data}, spec.family, source)
        if agent.learns:
            raise ComityError(f"{source} learns: train it first, and give the run folder or the player file.")
        agent.check(spec, (seat,))
        with jax.ensure_compile_time_eval():
            params = agent.policy(agent.init(jax.random.key(0), spec, (seat,)))
        player = Player(agent, params, spec, seat)
    check_fits(spec, source, player, seat)
    return player


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def zoo_player(name: str) -> Player:
    """A trained player of the zoo, by its name `zoo:GAME/AGENT/SEED`."""
    return read_player(zoo_file(name)).player


def player_for(files: Sequence[Path], seat: int, where: Path, game: Environment | None = None) -> Player:
    """The player of a seat among the files of a run.

    Who was trained in the seat; else who was trained where one sees and does the same. Of one player alone,
    who lets it play says whether it can.
    """
    saved = [read_player(file) for file in files]
    if not saved:
        raise ComityError(f"{where} has no players yet: let the run finish, or stop it with Ctrl-C.")
    found = _trained_for(saved, game, seat, where)
    if seat in found.seats:
        found.player.seat = seat
    return found.player


def _trained_for(saved: list[SavedPlayer], game: Environment | None, seat: int, where: Path) -> SavedPlayer:
    if len(saved) == 1:
        return saved[0]
    for found in saved:
        if seat in found.seats:
            return found
    seats = saved[0].spec.seats if game is None else game.seats
    require(0 <= seat < len(seats), "seat", seat, f"between 0 and {len(seats) - 1}")
    place = seats[seat]
    for found in saved:
        own = found.spec.seats[found.seat]
        if (own.observation, own.action) == (place.observation, place.action):
            return found
    raise ComityError(
        f"{where} has no player for the seat {place.name!r}: nobody was trained there, or where one sees and "
        f"does the same."
    )


def check_player(game: Environment, name: str, player: Player, seat: int) -> None:
    """Raises if a player cannot sit in a seat of a game; `name` is how messages call it."""
    check_fits(game.spec, name, player, seat)


def check_fits(spec: GameSpec, name: str, player: Player, seat: int) -> None:
    """The same for a game of which only the spec is known."""
    try:
        player.agent.check(spec, (seat,))
    except ComityError as error:
        raise ComityError(f"{name} cannot play in this game: {error}") from None
    template = jax.eval_shape(
        lambda: player.agent.policy(player.agent.init(jax.random.key(0), spec, (seat,)))
    )
    shapes = [leaf.shape for leaf in jax.tree.leaves(template)]
    if shapes != [leaf.shape for leaf in jax.tree.leaves(player.params)]:
        raise ComityError(
            f"{name} was trained in a game of another shape and cannot play in this one, in the seat "
            f"{spec.seats[seat].name!r}."
        )
