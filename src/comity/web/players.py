"""Games and players that a page may name: registered games, scripted players, the zoo, runs in the folder.

Nothing here loads code that a request names: `MODULE:CLASS` and files elsewhere are for the command line.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from comity.agents.registry import AGENTS, ANY_FAMILY, SCRIPTED
from comity.core.agent import Agent, Player
from comity.core.errors import ComityError, unknown_name
from comity.core.game import Environment, PerSeat, Seat
from comity.evaluate.reasons import Learner
from comity.games.registry import GAMES
from comity.play.asking import check_playable
from comity.play.loading import check_player, scripted_player, zoo_player
from comity.play.specs import game_data, game_from_data, make_game, with_settings
from comity.play.zoo import PREFIX, zoo_names
from comity.training.folder import RunFolder
from comity.training.load import load_player
from comity.web.catalogue import Catalogue
from comity.web.places import OutsideError, Root

HIDDEN_GAMES = ("probe-", "matrix-game", "meta-game", "learner-game")  # not offered to people


class Casting:
    """Finds who plays what."""

    def __init__(self, root: Root, catalogue: Catalogue) -> None:
        self._root, self._catalogue = root, catalogue

    def game(self, source: str, horizon: int | None = None) -> Environment:
        """A registered game by its name, or the game of a run in the folder."""
        if ":" not in source and source in GAMES:
            game = make_game(source)
        else:
            try:
                game = game_from_data(self._catalogue.run(source)[1]["game"])
            except OutsideError:
                raise unknown_name("game", source[:100], GAMES.rows()) from None
        if horizon is None or "horizon" not in {field.name for field in dataclasses.fields(game)}:
            return game
        return with_settings(game, {"horizon": horizon}, "game")

    def player(self, source: str, game: Environment, seat: int) -> Player:
        """The player that a source names, if it can sit there."""
        if source.startswith(PREFIX):
            player = zoo_player(source)
        elif source in scripted_names(game.family):
            player = scripted_player(source, game, seat)
        else:
            try:
                player = load_player(self._root.find(source), game, seat)
            except OutsideError:
                raise unknown_name("player", source[:100], scripted_names(game.family)) from None
        check_player(game, source, player, seat)
        return player

    def seated(self, sources: Sequence[str], game: Environment, seats: Sequence[int]) -> PerSeat[Player]:
        """The players of some seats: one source serves them all, several one each."""
        chosen = one_for_each(sources, len(seats))
        return tuple(self.player(source, game, seat) for source, seat in zip(chosen, seats, strict=True))

    def pairs(self, source: str) -> bool:
        """Whether two people can play a game."""
        seats = self.game(source).seats
        return len(seats) == 2 and all(_playable(seat) for seat in seats)

    def cast(
        self, sources: Sequence[str], game: Environment
    ) -> tuple[PerSeat[Player], dict[int, tuple[str, Learner]]]:
        """The players of all seats, and the learners among them whose critic is known.

        The player of a run with a checkpoint is the one in it, so that it fits the critic, whose memory
        follows its play.
        """
        whole = one_for_each(sources, len(game.seats))
        learners = self.learners(whole)
        players = []
        for seat, source in enumerate(whole):
            if seat not in learners:
                players.append(self.player(source, game, seat))
                continue
            agent, state, _ = learners[seat][1]
            player = Player(agent, agent.policy(state), game.spec, seat, source)
            check_player(game, source, player, seat)
            if type(agent).explain is not Agent.explain:
                player.params = agent.behaviour(state, jnp.float32(1.0))
            players.append(player)
        return tuple(players), learners

    def learners(self, sources: Sequence[str]) -> dict[int, tuple[str, Learner]]:
        """For each seat whose player is that of a run with a checkpoint: its name, and what it learned."""
        read: dict[str, list[Learner]] = {}
        found = {}
        for seat, source in enumerate(sources):
            if source not in read:
                read[source] = self._learners(source)
            fitting = [own for own in read[source] if seat in own.seats] or read[source][:1]
            if fitting:
                found[seat] = (source, fitting[0])
        return found

    def _learners(self, source: str) -> list[Learner]:
        """Everybody who learns in a run, with all that the newest checkpoint has of them."""
        try:
            path = self._catalogue.run(source)[0]
            folder = RunFolder.open(path)
            experiment = folder.experiment()
            state, _ = folder.restore(experiment)
        except (OutsideError, ComityError):
            return []
        if state is None:
            return []
        agents = experiment.with_tuned(state.tuned).agents
        rows = zip(agents, state.learners, experiment.seating, strict=True)
        return [Learner(agent, own, tuple(seats)) for agent, own, seats in rows if agent.learns]

    def listing(self) -> dict[str, Any]:
        """The games that are offered, with the players that can play them."""
        games = {name: row.summary for name, row in GAMES.rows().items() if not name.startswith(HIDDEN_GAMES)}
        return {
            "games": [{"name": name, "summary": summary} for name, summary in games.items()],
            "zoo": zoo_names(),
        }

    def about(self, source: str) -> dict[str, Any]:
        """What can be said of a game before it is played: its seats, and who plays in it."""
        game = self.game(source)
        name = game_data(game)["name"]
        text = " ".join((type(game).__doc__ or "").split("\n\n")[0].split())
        if ":math:" in text or not text:
            text = GAMES.rows()[name].summary if name in GAMES else ""
        runs = [entry for entry in self._catalogue.entries() if entry["kind"] == "run"]
        return {
            "name": source,
            "about": text,
            "horizon": game.horizon,
            "seats": [{"name": seat.name, "playable": _playable(seat)} for seat in game.seats],
            "scripted": scripted_names(game.family),
            "zoo": zoo_names(name),
            "runs": [entry["path"] for entry in runs if entry["game"] == name],
            "learners": {agent: row.summary for agent, row in AGENTS.rows().items()},
        }


def one_for_each(sources: Sequence[str], seats: int) -> list[str]:
    """A source for each seat: the only one for all of them, or one each."""
    if len(sources) not in (1, seats):
        raise ComityError(f"Give one player for all {seats} seats, or one for each of them.")
    return list(sources) * (seats if len(sources) == 1 else 1)


def _playable(seat: Seat) -> bool:
    try:
        check_playable(seat)
    except ComityError:
        return False
    return True


def scripted_names(family: str) -> dict[str, str]:
    """The scripted players of a family of games, with what they do."""
    own = SCRIPTED.get(family)
    rows = {**(own.rows() if own else {}), **ANY_FAMILY.rows()}
    return {name: row.summary for name, row in rows.items()}
