"""Population-based training: settings change while parameters are learned, by what members come to.

1. All members train for `interval` iterations, and are evaluated.
2. Exploit: members that do badly go on with all that a better one has learned, optimiser and memory too.
3. Explore: their settings are those of the better one, perturbed or drawn anew.

Source: Jaderberg et al., "Population Based Training of Neural Networks", 2017, arXiv:1711.09846.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import jax
import numpy as np
from jaxtyping import Float
from jaxtyping import PRNGKeyArray as Key

from comity.core.agent import Player
from comity.core.errors import ComityError, require
from comity.core.game import PerSeat
from comity.evaluate.diversity import behaviour_distances, mean_distance_to_others
from comity.training.experiment import Experiment
from comity.training.folder import RunFolder
from comity.training.hooks.evaluation import PREFIX, SELF_PLAY, Evaluation
from comity.training.loop import RunState
from comity.training.populations.base import Members, Population
from comity.training.populations.exploration import Explore, Range, draw, explored, read_ranges, with_numbers
from comity.training.populations.lineage import (
    FILE,
    Individual,
    Lineage,
    read_lineage,
    write_lineage,
)
from comity.training.populations.selection import ranking, tournament, truncation
from comity.training.run import Run


@dataclass
class PBT(Population):
    """Members that train side by side, copy each other's parameters and explore settings.

    `tune` names the settings, each as NAME or NAME:LOW:HIGH, of those that are tunable; first values are
    drawn evenly from the range on a scale of ratios. A generation is a run folder for each member,
    `generation-3/member-2`; who descends from whom is in `population.json`. Members differ in nothing but
    seeds and tunable settings, so that they also train in one program (`--executor vectorised`).
    """

    tune: tuple[str, ...] | str = ()  # settings that vary, each as NAME or NAME:LOW:HIGH
    size: int = 8  # members
    interval: int = 20  # iterations of a generation
    selection: Literal["truncation", "tournament"] = "truncation"  # who copies whom
    share: float = 0.25  # truncation: the worst share of the members copies the best share
    contenders: int = 2  # tournament: how many compete for a place
    elites: int = 1  # tournament: how many of the best keep their places
    explore: Explore = "perturb"  # new settings of who copied: perturb those of the better one, or resample
    factor: float = 1.2  # perturb: settings are multiplied or divided by it
    against: tuple[str, ...] | str = ()  # opponents in evaluations; by default a member plays itself
    episodes: int = 100  # of each evaluation
    diversity: float = 0.0  # how much behaving differently counts beside fitness, both in standard deviations

    def __post_init__(self) -> None:
        self._base: Experiment | None = None
        self._ranges: tuple[Range, ...] = ()
        self._history: list[tuple[Individual, ...]] = []
        require(self.size >= 2, "pbt.size", self.size, "at least 2")
        require(self.interval >= 1, "pbt.interval", self.interval, "at least 1")
        require(0.0 < self.share <= 0.5, "pbt.share", self.share, "above 0 and at most 0.5")
        require(1 <= self.contenders <= self.size, "pbt.contenders", self.contenders, f"1 to {self.size}")
        require(1 <= self.elites < self.size, "pbt.elites", self.elites, f"between 1 and {self.size - 1}")
        require(self.factor > 1.0, "pbt.factor", self.factor, "above 1")
        require(self.episodes >= 1, "pbt.episodes", self.episodes, "at least 1")
        require(self.diversity >= 0.0, "pbt.diversity", self.diversity, "at least 0")

    @property
    def lineage(self) -> Lineage:
        """All members so far, with their parents, settings and fitness."""
        return Lineage(tuple(self._history), self._measure())

    def members(self, experiment: Experiment) -> Members:
        texts = (self.tune,) if isinstance(self.tune, str) else self.tune
        self._ranges = read_ranges(texts, experiment)
        if not self._ranges:
            raise ComityError("pbt needs settings to explore: name them in tune, as in tune=entropy_coef.")
        names = dict.fromkeys((*experiment.tunable, *(own.name for own in self._ranges)))
        self._base = dataclasses.replace(experiment, tunable=tuple(names))
        self._evaluation.check(experiment)
        rng = np.random.default_rng(experiment.seed)
        first = [Individual(_name(0, place), None, draw(self._ranges, rng)) for place in range(self.size)]
        self._history = [tuple(first)]
        return self._experiments(first)

    def evolve(self, results: Mapping[str, Run], key: Key) -> Members:
        runs = list(results.values())
        out = runs[0].folder.parents[1]
        present = self._measured(runs, out)
        self._history[-1] = tuple(present)
        members: Members = {}
        if runs[0].experiment.iterations < self._planned.iterations:
            rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())
            following = self._next(present, rng)
            self._history.append(tuple(following))
            members = self._experiments(following)
        write_lineage(out, self.lineage)
        return members

    def start_state(self, name: str, experiment: Experiment, out: Path) -> RunState | None:
        individual = next(own for own in self._history[-1] if own.name == name)
        if individual.parent is None:
            return None
        parent = RunFolder.open(out / individual.parent)
        state, complaints = parent.restore(parent.experiment())
        if state is None:
            raise ComityError(f"{parent.path} has no checkpoint to go on from. {' '.join(complaints)}")
        key = state.key
        if not _same_place(name, individual.parent):  # a copy draws other random numbers than who it copied
            key = jax.random.fold_in(jax.random.key(experiment.seed), len(self._history))
        return state._replace(key=key, tuned=experiment.tuned())

    def outcome(self, results: Mapping[str, Run]) -> Mapping[str, Run]:
        """The last generation, the fittest first."""
        last = self._history[-1]
        order = ranking(np.asarray([np.nan if own.fitness is None else own.fitness for own in last]))
        return {last[place].name: results[last[place].name] for place in order}

    # ---- Fitness ---------------------------------------------------------------------------------------

    @property
    def _planned(self) -> Experiment:
        assert self._base is not None, "members() comes first"
        return self._base

    @property
    def _evaluation(self) -> Evaluation:
        against = (self.against,) if isinstance(self.against, str) else tuple(self.against)
        return Evaluation(against=against, episodes=self.episodes, seed=self._planned.seed)

    def _measure(self) -> str:
        names = self._evaluation.names[1:] or (SELF_PLAY,)
        return f"reward per step, evaluated with {', '.join(names)}"

    def _measured(self, runs: Sequence[Run], out: Path) -> list[Individual]:
        """The generation with its fitness; what was measured before a run was interrupted is read again."""
        present = self._history[-1]
        known = read_lineage(out).generations if (out / FILE).is_file() else ()
        place = len(self._history) - 1
        before = known[place] if place < len(known) else ()
        begun = [own._replace(fitness=None, diversity=None) for own in before]
        if begun == list(present) and all(own.fitness is not None for own in before):
            return list(before)
        # Settings that vary do not matter to how a player acts: with the same agents it is one program.
        seated = [self._players(run) for run in runs]
        evaluation = self._evaluation
        evaluation.check(self._planned)
        fitness = [self._fitness(evaluation, players) for players in seated]
        found = [own._replace(fitness=value) for own, value in zip(present, fitness, strict=True)]
        if self.diversity == 0.0:
            return found
        distance = behaviour_distances(
            self._planned.game, [players[0] for players in seated], seed=self._planned.seed
        )
        far = mean_distance_to_others(distance)
        return [own._replace(diversity=float(value)) for own, value in zip(found, far, strict=True)]

    def _players(self, run: Run) -> PerSeat[Player]:
        agents = {
            seat: agent
            for agent, seats in zip(self._planned.agents, self._planned.seating, strict=True)
            for seat in seats
        }
        return tuple(
            Player(agents[seat], player.params, player.spec, seat) for seat, player in enumerate(run.players)
        )

    def _fitness(self, evaluation: Evaluation, players: PerSeat[Player]) -> float:
        found = evaluation.measure(self._planned, players)
        names = evaluation.names[1:] or (SELF_PLAY,)
        return float(np.mean([found[PREFIX + name] for name in names]))

    # ---- The next generation ---------------------------------------------------------------------------

    def _next(self, present: Sequence[Individual], rng: np.random.Generator) -> list[Individual]:
        parents = self._parents(self._selected_by(present), rng)
        generation = len(self._history)
        following = []
        for place, parent in enumerate(parents):
            values = present[parent].settings
            if parent != place:
                values = explored(values, self._ranges, self.explore, self.factor, rng)
            following.append(Individual(_name(generation, place), present[parent].name, values))
        return following

    def _selected_by(self, present: Sequence[Individual]) -> Float[np.ndarray, " member"]:
        """Fitness, and diversity as far as it counts."""
        fitness = np.asarray([own.fitness for own in present], np.float64)
        if self.diversity == 0.0:
            return fitness
        far = np.asarray([own.diversity for own in present], np.float64)
        return _standardised(fitness) + self.diversity * _standardised(far)

    def _parents(self, fitness: Float[np.ndarray, " member"], rng: np.random.Generator) -> list[int]:
        if self.selection == "truncation":
            found = truncation(fitness, self.share, rng)
        else:
            found = tournament(fitness, self.contenders, self.elites, rng)
        return [int(parent) for parent in found]

    def _experiments(self, members: Sequence[Individual]) -> Members:
        base = self._planned
        length = min(len(self._history) * self.interval, base.iterations)
        return {
            own.name: dataclasses.replace(
                with_numbers(base, own.settings).with_iterations(length),
                seed=base.seed + place,
                chunk=min(base.chunk, self.interval),
            )
            for place, own in enumerate(members)
        }


def _name(generation: int, place: int) -> str:
    return f"generation-{generation:03d}/member-{place}"


def _same_place(name: str, other: str) -> bool:
    return name.rpartition("/")[2] == other.rpartition("/")[2]


def _standardised(values: Float[np.ndarray, " member"]) -> Float[np.ndarray, " member"]:
    """In standard deviations from the mean; 0 where all are equal."""
    spread = float(np.nanstd(values))
    return (values - np.nanmean(values)) / spread if spread > 0 else np.zeros_like(values)
