"""An experiment is a value: a game, who learns in it, who meets whom, how long. It fits in a JSON file."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from comity.core.agent import Agent
from comity.core.display import brief
from comity.core.errors import ComityError, require, unknown_name
from comity.core.game import Environment
from comity.core.matchmaker import Matchmaker
from comity.core.tunable import Number, tunable_settings, with_tunable
from comity.play.matchmaking import SelfPlay
from comity.play.specs import (
    agent_data,
    agent_from_data,
    game_data,
    game_from_data,
    matchmaker_data,
    matchmaker_from_data,
)

LONG_EPISODE = 500  # steps that an episode may last in a game that does not say how long it is
SIZES = ("iterations", "batch", "unroll", "chunk", "seed", "warm_up", "schedule_iterations")


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
    schedule_iterations: int | None = None  # over how many iterations schedules run; by default all
    tunable: tuple[str, ...] = ()  # settings of agents that may change during the run: "term.weight"

    def __repr__(self) -> str:
        agents = ", ".join(brief(agent) for agent in self.agents)
        return (
            f"<Experiment: {agents} in {brief(self.game)}, {self.iterations:,} iterations, seed {self.seed}>"
        )

    def __check_init__(self) -> None:
        require(self.iterations >= 1, "iterations", self.iterations, "at least 1")
        require(self.batch >= 1, "batch", self.batch, "at least 1")
        require(self.unroll >= 1, "unroll", self.unroll, "at least 1")
        require(self.chunk >= 1, "chunk", self.chunk, "at least 1")
        require(self.warm_up >= 0, "warm_up", self.warm_up, "at least 0")
        length = self.schedule_length
        require(length >= 1, "schedule_iterations", length, "at least 1")
        require(0 <= self.seed < 2**31, "seed", self.seed, "between 0 and 2147483647")
        for name in SIZES:
            size = getattr(self, name)
            require(size is None or size < 2**31, name, size, "at most 2147483647")
        seats = self.game.seats
        taken = sorted(seat for places in self.seating for seat in places)
        if len(self.agents) != len(self.seating) or taken != list(range(len(seats))):
            raise ComityError(
                f"The game has {len(seats)} seats, from 0 to {len(seats) - 1}, and each must be filled once: "
                f"{_seating_in_words(self.seating)}."
            )
        spec = self.game.spec
        for agent, places in zip(self.agents, self.seating, strict=True):
            agent.check(spec, places)
            for place in places:
                if _shape(seats[place]) != _shape(seats[places[0]]):
                    raise ComityError(
                        f"The seats {seats[places[0]].name!r} and {seats[place].name!r} see or do different "
                        f"things, so one agent's parameters cannot serve both: give each its own."
                    )
        self.matchmaker.check(spec, self.seating, self.batch)
        possible = {name for agent in self.agents for name in tunable_settings(agent)}
        for name in self.tunable:
            if name not in possible:
                raise unknown_name("tunable setting", name, sorted(possible))

    @property
    def schedule_length(self) -> int:
        """The iterations after which schedules have run out, also if the run goes on longer."""
        return self.iterations if self.schedule_iterations is None else self.schedule_iterations

    def with_iterations(self, iterations: int, schedule_iterations: int | None = None) -> "Experiment":
        """The same experiment, longer or shorter; schedules stay as planned unless given anew."""
        length = self.schedule_length if schedule_iterations is None else schedule_iterations
        planned = None if length == iterations else length
        return dataclasses.replace(self, iterations=iterations, schedule_iterations=planned)

    def tuned(self) -> tuple[dict[str, Float[Array, ""]], ...]:
        """The tunable numbers of each agent as arrays: what a run begins with."""
        return tuple(
            {
                name: jnp.float32(number)
                for name, number in tunable_settings(agent).items()
                if name in self.tunable
            }
            for agent in self.agents
        )

    def with_agents(self, agents: tuple[Agent, ...]) -> "Experiment":
        """The same experiment with other agents in the same seats."""
        return dataclasses.replace(self, agents=agents)

    def with_tuned(self, numbers: tuple[Mapping[str, Number], ...]) -> "Experiment":
        """The same experiment with other numbers in its agents, which are taken as they are."""
        agents = tuple(with_tunable(agent, own) for agent, own in zip(self.agents, numbers, strict=True))
        changed: Experiment = eqx.tree_at(lambda experiment: experiment.agents, self, agents)
        return changed

    def to_data(self) -> dict[str, Any]:
        """The experiment as JSON data."""
        optional = {"schedule_iterations": self.schedule_iterations, "tunable": list(self.tunable) or None}
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
            **{name: value for name, value in optional.items() if value is not None},
        }

    @classmethod
    def from_data(cls, data: Any) -> "Experiment":
        """The experiment that JSON data stand for; every value is checked."""
        fields = ("game", "agents", "seating", "matchmaker", *SIZES, "tunable")
        if not isinstance(data, dict):
            raise ComityError("An experiment must be an object with a game, agents and so on.")
        data = {"warm_up": 0, "schedule_iterations": None, "tunable": [], **data}
        for name in data:
            if name not in fields:
                raise unknown_name("setting of an experiment", name, fields)
        missing = [name for name in fields if name not in data]
        if missing:
            raise ComityError(f"The experiment lacks {', '.join(missing)}.")
        check_sizes(data)
        game = game_from_data(data["game"])
        require(isinstance(data["agents"], list), "agents", data["agents"], "a list of agents")
        agents = tuple(
            agent_from_data(agent, game.family, f"agents[{i}]") for i, agent in enumerate(data["agents"])
        )
        return cls(
            game=game,
            agents=agents,
            seating=checked_seating(data["seating"]),
            matchmaker=matchmaker_from_data(data["matchmaker"]),
            tunable=checked_names(data["tunable"]),
            **{name: data[name] for name in SIZES},
        )


def check_sizes(data: Mapping[str, Any]) -> None:
    """Raises unless all sizes in data are whole numbers; those that are None are left to be chosen."""
    for name in SIZES:
        given = data.get(name)
        is_whole = isinstance(given, int) and not isinstance(given, bool)
        optional = given is None and (name not in data or name == "schedule_iterations")
        require(is_whole or optional, name, given, "a whole number")


def checked_seating(data: Any) -> tuple[tuple[int, ...], ...]:
    """Which seats each agent sits in, from a list of lists."""
    well_formed = isinstance(data, list) and all(
        isinstance(places, list) and places and all(isinstance(seat, int) for seat in places)
        for places in data
    )
    require(well_formed, "seating", data, "a list of lists of seat numbers")
    return tuple(tuple(places) for places in data)


def checked_names(data: Any) -> tuple[str, ...]:
    """Names of tunable settings, from a list."""
    well_formed = isinstance(data, list) and all(isinstance(name, str) for name in data)
    require(well_formed, "tunable", data, "a list of names of settings")
    return tuple(data)


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
    schedule_iterations: int | None = None,
    tunable: tuple[str, ...] = (),
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
    if chunk is None:
        # A game that cannot be saved begins new episodes at every chunk, which should see some of them end.
        least = 1 if game.resumable else -(-2 * (game.horizon or LONG_EPISODE) // unroll)
        chunk = min(max(iterations // 200, least), max(50, least), iterations)
    return Experiment(
        game=game,
        agents=agents,
        seating=seating,
        matchmaker=SelfPlay() if matchmaker is None else matchmaker,
        iterations=iterations,
        batch=batch,
        unroll=unroll,
        chunk=chunk,
        seed=seed,
        warm_up=warm_up,
        schedule_iterations=schedule_iterations,
        tunable=tunable,
    )


def _seating_in_words(seating: tuple[tuple[int, ...], ...]) -> str:
    """Who sits where, as a sentence says it."""
    places = [
        f"agent {number} has " + ("seat " if len(own) == 1 else "seats ") + " and ".join(map(str, own))
        for number, own in enumerate(seating, 1)
    ]
    return ", ".join(places)


def _shape(seat: Any) -> tuple[Any, Any]:
    return seat.observation, seat.action
