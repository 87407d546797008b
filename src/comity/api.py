"""The library in a few functions: train, load a player, play a league."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax

from comity.agents.registry import is_scripted
from comity.core.errors import ComityError
from comity.core.types import Agent, Environment, Matchmaker, PerSeat, Player
from comity.evaluate.league import League, play_league
from comity.play.player_file import read_player
from comity.play.specs import make_agent, make_game
from comity.play.zoo import PREFIX, zoo_file
from comity.train.experiment import make_experiment
from comity.train.folder import RunFolder
from comity.train.runner import Options, Run, create, run


def train(
    game: Environment,
    agents: Agent | tuple[Agent, ...],
    *,
    iterations: int = 1000,
    batch: int = 256,
    seed: int = 0,
    matchmaker: Matchmaker | None = None,
    out: str | Path | None = None,
    **sizes: Any,
) -> Run:
    """Trains agents in a game and returns the run: its players, metrics and folder.

    One agent fills all seats; several fill them one by one. `sizes` are further settings of the
    experiment (`unroll`, `chunk`, `share`). Without `out`, the run folder is a temporary one.
    """
    experiment = make_experiment(
        game, agents, iterations=iterations, batch=batch, seed=seed, matchmaker=matchmaker, **sizes
    )
    folder = Path(tempfile.mkdtemp(prefix="comity-")) / "run" if out is None else Path(out)
    return run(create(experiment, folder, "comity.train"), Options())


def load_player(source: str | Path, game: Environment | None = None, seat: int = 0) -> Player:
    """A player from a run folder, a player file, the zoo, or the name of a scripted player.

    A scripted player is made for a game; if none is given, for the prisoner's dilemma. In a run folder
    with several players, `seat` chooses among them.
    """
    name = str(source)
    if name.startswith(PREFIX):
        return read_player(zoo_file(name)).player
    if is_scripted(name):
        return scripted_player(name, game, seat)
    path = Path(source)
    if path.is_dir():
        saved = [read_player(file) for file in RunFolder.open(path).player_files()]
        if not saved:
            raise ComityError(f"{path} has no players yet: let the run finish, or stop it with Ctrl-C.")
        return next((found for found in saved if found.seat == seat), saved[0]).player
    if path.is_file():
        return read_player(path).player
    if game is not None and not path.suffix and "/" not in name:
        make_agent(name, game)  # a name that is nearly that of a scripted player: suggest it
    raise ComityError(f"{name!r} is neither a run folder, nor a player file, nor the name of a player.")


def scripted_player(name: str, game: Environment | None = None, seat: int = 0) -> Player:
    """A scripted player for a seat of a game, by default the prisoner's dilemma."""
    game = make_game("prisoners-dilemma") if game is None else game
    agent = make_agent(name, game)
    place = game.seats[min(seat, len(game.seats) - 1)]
    agent.check(place)
    return Player(agent, agent.params(agent.init(jax.random.key(0), place)))


def league(
    game: Environment,
    players: Mapping[str, str | Path | Player | Run] | Sequence[str | Path],
    *,
    episodes: int = 100,
    horizon: int | None = None,
    seed: int = 0,
) -> League:
    """Plays every player against every player and returns what each earns per step.

    Players are given by name: scripted players, run folders, player files, runs or players.
    """
    if not isinstance(players, Mapping):
        players = {Path(source).name: source for source in players}
    everyone = {name: _as_players(source, game) for name, source in players.items()}
    return play_league(game, everyone, episodes, horizon, seed)


def load_players(source: str | Path, game: Environment) -> PerSeat[Player]:
    """Who a source is in each seat of a game: a run with a player per seat gives each seat its own."""
    return tuple(load_player(source, game, seat) for seat in range(len(game.seats)))


def _as_players(source: str | Path | Player | Run, game: Environment) -> PerSeat[Player]:
    if isinstance(source, Player):
        return (source,) * len(game.seats)
    return source.players if isinstance(source, Run) else load_players(source, game)
