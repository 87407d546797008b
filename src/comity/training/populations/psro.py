"""Policy-space response oracles with learners: populations grown by learned best responses.

The algorithm is that of `comity.theory`; what players earn is measured by `comity.evaluate`; here are the
runs in between, one best response per seat and round.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray as Key

from comity.core.agent import Agent, Player
from comity.core.errors import ComityError, require
from comity.core.game import Environment, PerSeat
from comity.evaluate.exploitability import Meetings
from comity.theory.empirical.psro import (
    MetaSolver,
    Psro,
    Response,
    named_meta_solver,
    nash_meta,
    psro_rounds,
)
from comity.theory.normal_form import Profile
from comity.training.best_response import Opponents, response_experiment
from comity.training.executors.in_process import InProcess
from comity.training.experiment import Experiment, make_experiment
from comity.training.populations.base import Members, Population, train_population
from comity.training.run import Run


@dataclass
class ResponseOracles(Population):
    """One population of players per seat; a generation is a best response in each seat.

    Payoffs are rewards per step, measured in `episodes` episodes for each profile; `tolerance` should not be
    smaller than their noise. The learner in a seat is the agent of the experiment that sits there.
    """

    initial: Any = None  # in Python, the first players of each seat; by default an untrained learner in each
    rounds: int = 6  # at most so many generations
    tolerance: float = 0.02  # the loop ends when no best response gains more than this per step
    meta_solver: Any = "nash"  # nash, uniform, last, alpha-rank or regret-matching; in Python also a function
    episodes: int = 256  # in which the payoffs of each profile are measured
    _result: "Psro[Player] | None" = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        require(self.tolerance >= 0.0, "tolerance", self.tolerance, "at least 0")
        require(self.rounds >= 1, "rounds", self.rounds, "at least 1")
        require(self.episodes >= 1, "episodes", self.episodes, "at least 1")
        named = isinstance(self.meta_solver, str)
        self._solver: MetaSolver = named_meta_solver(self.meta_solver) if named else self.meta_solver

    @property
    def result(self) -> Psro[Player]:
        """Where the loop ended; `gains` fall as the populations approach an equilibrium."""
        if self._result is None:
            raise ComityError("The populations are still growing: train them to their end first.")
        return self._result

    def members(self, experiment: Experiment) -> Members:
        game, seed = experiment.game, experiment.seed
        self._experiment = experiment
        self._agents = {
            s: agent
            for agent, seats in zip(experiment.agents, experiment.seating, strict=True)
            for s in seats
        }
        initial = self.initial
        if initial is None:
            initial = tuple([_untrained(self._agents[s], game, s, seed)] for s in range(len(game.seats)))
        require(len(initial) == len(game.seats), "initial", len(initial), f"{len(game.seats)}, one per seat")
        self._meetings = Meetings(game, self.episodes, seed)
        self._seeds = itertools.count(seed)
        self._round = 0
        self._loop = psro_rounds(self._payoff, initial, self._solver, self.rounds, self.tolerance)
        return self._generation(*next(self._loop))

    def evolve(self, results: Mapping[str, Run], key: Key) -> Members:
        answers = []
        for seat, run in enumerate(results.values()):
            fresh = run.players[seat]
            answers.append(Response(fresh, self._earned(seat, fresh)))
        try:
            return self._generation(*self._loop.send(answers))
        except StopIteration as end:
            self._result = end.value
            return {}

    def _generation(self, populations: PerSeat[tuple[Player, ...]], strategies: Profile) -> Members:
        self._round += 1
        self._mixtures = [
            [(float(p), player) for p, player in zip(strategy, players, strict=True)]
            for strategy, players in zip(strategies, populations, strict=True)
        ]
        game, base = self._experiment.game, self._experiment
        return {
            f"round-{self._round}-seat-{seat}": response_experiment(
                game,
                self._agents[seat],
                seat,
                self._opponents(seat),
                iterations=base.iterations,
                batch=base.batch,
                unroll=base.unroll,
                seed=next(self._seeds),
            )
            for seat in range(len(populations))
        }

    def _opponents(self, seat: int) -> Opponents:
        return {s: mixture for s, mixture in enumerate(self._mixtures) if s != seat}

    def _payoff(self, profile: tuple[Player, ...]) -> Sequence[float]:
        payoffs: list[float] = self._meetings.earned(profile).mean(axis=1).tolist()
        return payoffs

    def _earned(self, seat: int, fresh: Player) -> float:
        """What a response earns in its seat against the others' mixtures."""
        opponents = self._opponents(seat)
        earned = 0.0
        for index in np.ndindex(*(len(mixture) for mixture in opponents.values())):
            met = [mixture[k] for mixture, k in zip(opponents.values(), index, strict=True)]
            share = float(np.prod([p for p, _ in met]))
            if share > 1e-6:
                others = iter(player for _, player in met)
                seated = tuple(fresh if s == seat else next(others) for s in range(len(self._mixtures)))
                earned += share * self._payoff(seated)[seat]
        return earned


def psro(
    game: Environment,
    agent: Agent,
    *,
    initial: PerSeat[Sequence[Player]] | None = None,
    rounds: int = 6,
    tolerance: float = 0.02,
    meta_solver: MetaSolver = nash_meta,
    iterations: int = 300,
    batch: int = 128,
    episodes: int = 256,
    seed: int = 0,
) -> Psro[Player]:
    """Grows one population per seat: in each round `agent` learns to answer the others' meta-strategy.

    `initial[s]` are the first players of seat s; by default one untrained learner in each seat. The loop ends
    when no answer gains more than `tolerance` per step.
    """
    population = ResponseOracles(initial, rounds, tolerance, meta_solver, episodes)
    experiment = make_experiment(game, agent, share=False, iterations=iterations, batch=batch, seed=seed)
    train_population(population, experiment, InProcess())
    return population.result


def _untrained(agent: Agent, game: Environment, seat: int, seed: int) -> Player:
    agent.check(game.spec, (seat,))
    key = jax.random.fold_in(jax.random.key(seed), seat)
    return Player(agent, agent.policy(agent.init(key, game.spec, (seat,))), game.spec, seat)
