"""An experiment is a value: a game, who learns in it, who meets whom, how long. It fits in a JSON file."""

from typing import Any

import equinox as eqx

from comity.core.errors import ComityError, require, unknown_name
from comity.core.types import Agent, Environment, Matchmaker
from comity.play.matchmaking import SelfPlay
from comity.play.specs import (
    agent_data,
    agent_from_data,
    game_data,
    game_from_data,
    matchmaker_data,
    matchmaker_from_data,
)


class Experiment(eqx.Module):
    """What to train.

    `seating` says which seats each agent sits in: seats of one agent share its parameters.
    """

    game: Environment
    agents: tuple[Agent, ...]
    seating: tuple[tuple[int, ...], ...]
    matchmaker: Matchmaker = SelfPlay()
    iterations: int = 1000  # rollouts, each followed by an update of every learner
    batch: int = 256  # games played side by side
    unroll: int = 16  # steps played in each iteration
    chunk: int = 10  # iterations in one compiled call; logs and checkpoints fall between calls
    seed: int = 0  # everything random follows from it
    warm_up: int = 0  # steps played at random before training: games fall out of step, normalisers begin

    def __check_init__(self) -> None:
        require(self.iterations >= 1, "iterations", self.iterations, "at least 1")
        require(self.batch >= 1, "batch", self.batch, "at least 1")
        require(self.unroll >= 1, "unroll", self.unroll, "at least 1")
        require(self.chunk >= 1, "chunk", self.chunk, "at least 1")
        require(self.warm_up >= 0, "warm_up", self.warm_up, "at least 0")
        require(0 <= self.seed < 2**31, "seed", self.seed, "between 0 and 2147483647")
        seats = self.game.seats
        taken = sorted(seat for places in self.seating for seat in places)
        if len(self.agents) != len(self.seating) or taken != list(range(len(seats))):
            raise ComityError(
                f"The game has {len(seats)} seats; {len(self.agents)} agents with the seating {self.seating} "
                f"do not fill each of them once."
            )
        for agent, places in zip(self.agents, self.seating, strict=True):
            for place in places:
                agent.check(seats[place])
                if _shape(seats[place]) != _shape(seats[places[0]]):
                    raise ComityError(
                        f"The seats {seats[places[0]].name!r} and {seats[place].name!r} see or do different "
                        f"things, so one agent's parameters cannot serve both: give each its own."
                    )
        self.matchmaker.check(seats, self.seating, self.batch)

    def to_data(self) -> dict[str, Any]:
        """The experiment as JSON data."""
        return {
            "game": game_data(self.game),
            "agents": [agent_data(agent) for agent in self.agents],
            "seating": [list(places) for places in self.seating],
            "matchmaker": matchmaker_data(self.matchmaker),
            "iterations": self.iterations,
            "batch": self.batch,
            "unroll": self.unroll,
            "chunk": self.chunk,
            "seed": self.seed,
            "warm_up": self.warm_up,
        }

    @classmethod
    def from_data(cls, data: Any) -> "Experiment":
        """The experiment that JSON data stand for; every value is checked."""
        fields = (
            "game", "agents", "seating", "matchmaker",
            "iterations", "batch", "unroll", "chunk", "seed", "warm_up",
        )  # fmt: skip
        if not isinstance(data, dict):
            raise ComityError("An experiment must be an object with a game, agents and so on.")
        data = {"warm_up": 0, **data}
        for name in data:
            if name not in fields:
                raise unknown_name("setting of an experiment", name, fields)
        missing = [name for name in fields if name not in data]
        if missing:
            raise ComityError(f"The experiment lacks {', '.join(missing)}.")
        for name in fields[4:]:
            is_whole = isinstance(data[name], int) and not isinstance(data[name], bool)
            require(is_whole, name, data[name], "a whole number")
        game = game_from_data(data["game"])
        require(isinstance(data["agents"], list), "agents", data["agents"], "a list of agents")
        agents = tuple(
            agent_from_data(agent, game.family, f"agents[{i}]") for i, agent in enumerate(data["agents"])
        )
        seating = data["seating"]
        well_formed = isinstance(seating, list) and all(
            isinstance(places, list) and places and all(isinstance(seat, int) for seat in places)
            for places in seating
        )
        require(well_formed, "seating", seating, "a list of lists of seat numbers")
        return cls(
            game=game,
            agents=agents,
            seating=tuple(tuple(places) for places in seating),
            matchmaker=matchmaker_from_data(data["matchmaker"]),
            **{name: data[name] for name in fields[4:]},
        )


def make_experiment(
    game: Environment,
    agents: Agent | tuple[Agent, ...],
    *,
    share: bool | None = None,
    groups: tuple[tuple[int, ...], ...] = (),
    matchmaker: Matchmaker | None = None,
    iterations: int = 1000,
    batch: int = 256,
    unroll: int | None = None,
    chunk: int | None = None,
    seed: int = 0,
    warm_up: int = 0,
) -> Experiment:
    """An experiment with what is left out chosen well.

    One agent fills all seats: with shared parameters if the game is symmetric (or as `share` says), else
    with parameters of its own in each seat. Several agents fill the seats one by one. With `groups` of seats
    there is one agent for all of them or one for each, and the seats of a group share parameters. The unroll
    is the game's horizon.
    """
    seats = len(game.seats)
    if isinstance(agents, Agent):
        agents = (agents,)
    seating: tuple[tuple[int, ...], ...]
    if groups:
        agents = agents * len(groups) if len(agents) == 1 else agents
        if len(agents) != len(groups):
            raise ComityError(
                f"There are {len(groups)} groups of seats: give 1 agent for all or {len(groups)}, "
                f"not {len(agents)}."
            )
        seating = groups
    elif len(agents) == 1 and (game.symmetric if share is None else share):
        seating = (tuple(range(seats)),)
    else:
        agents = agents * seats if len(agents) == 1 else agents
        if len(agents) != seats:
            raise ComityError(
                f"The game has {seats} seats: give 1 agent for all or {seats}, not {len(agents)}."
            )
        seating = tuple((seat,) for seat in range(seats))
    if unroll is None:
        unroll = game.horizon if game.horizon is not None else 32
    return Experiment(
        game=game,
        agents=agents,
        seating=seating,
        matchmaker=SelfPlay() if matchmaker is None else matchmaker,
        iterations=iterations,
        batch=batch,
        unroll=unroll,
        chunk=min(max(iterations // 200, 1), 50) if chunk is None else chunk,
        seed=seed,
        warm_up=warm_up,
    )


def _shape(seat: Any) -> tuple[Any, Any]:
    return seat.observation, seat.action
