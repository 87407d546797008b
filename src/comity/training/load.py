"""A player by whatever names it: a scripted player, the zoo, a player file, a run folder."""

from pathlib import Path

from comity.agents.registry import is_untrained_player
from comity.core.agent import Player
from comity.core.errors import ComityError
from comity.core.game import Environment
from comity.play.loading import player_for, scripted_player, zoo_player
from comity.play.player_file import read_player
from comity.play.specs import make_agent
from comity.play.zoo import PREFIX
from comity.training.folder import RunFolder


def load_player(source: str | Path, game: Environment | None = None, seat: int = 0) -> Player:
    """A player from a run folder, a player file, the zoo, or the name of a scripted player.

    A scripted player is made for a game; if none is given, for the prisoner's dilemma. One of your own is
    named `MODULE:CLASS`. In a run folder with several players, the one that was trained in `seat` is chosen;
    `RUN/players/best` has those that did best in evaluations. `player.act(obs)` acts, and remembers until
    `player.reset()`.
    """
    player = _find_player(source, game, seat)
    player.name = str(source)
    return player


def _find_player(source: str | Path, game: Environment | None, seat: int) -> Player:
    name = str(source)
    if name.startswith(PREFIX):
        return zoo_player(name)
    if is_untrained_player(name):
        return scripted_player(name, game, seat)
    path = Path(source)
    if path.is_dir():
        files = sorted(path.glob("*.safetensors")) or RunFolder.open(path).player_files()
        return player_for(files, seat, path, game)
    if path.is_file():
        return read_player(path).player
    if ":" in name:
        return scripted_player(name, game, seat)
    if game is not None and not path.suffix and "/" not in name:
        make_agent(name, game)  # a name that is nearly that of a scripted player: suggest it
    raise ComityError(f"{name!r} is neither a run folder, nor a player file, nor the name of a player.")
