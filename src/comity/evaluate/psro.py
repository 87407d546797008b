"""Populations grown by best responses, and what a fresh best response gains: with any way to learn one.

Both take `respond(game, seat, opponents, seed)`, which returns a player for the seat that answers mixtures
of fixed players in all other seats. `comity.psro` fills it in with a learner.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from comity.core.errors import ComityError, require
from comity.core.types import Environment, PerSeat, Player
from comity.evaluate.statistics import Interval, bootstrap_mean
from comity.play.crowd import gather
from comity.play.match import play
from comity.theory.normal_form import Profile
from comity.theory.psro import MetaSolver, Psro, Response, nash_meta, psro

Opponents = Mapping[int, Sequence[tuple[float, Player]]]  # for every other seat: shares and players
BestResponse = Callable[[Environment, int, Opponents, int], Player]


class Exploitability(NamedTuple):
    """What freshly trained best responses gain by replacing a player, seat by seat, per step.

    `gain[s].mean` is `answer[s] - payoff[s]`; the interval is a 95% bootstrap interval over episodes. A
    learner may fail to find the best answer, so a gain is a lower bound of the true exploitability.
    """

    payoff: PerSeat[float]  # what the players earn among themselves
    answer: PerSeat[float]  # what the response earns in each seat against the others
    gain: PerSeat[Interval]
    mean: Interval  # of the gain over seats
    responses: PerSeat[Player]

    @property
    def largest(self) -> float:
        """The gain in the seat where it is largest, at least 0: how far the players are from equilibrium."""
        return max(0.0, *(gain.mean for gain in self.gain))


def exploitability(
    game: Environment,
    players: PerSeat[Player],
    respond: BestResponse,
    *,
    episodes: int = 256,
    seed: int = 0,
) -> Exploitability:
    """Trains a best response in each seat against the players in the others, and measures its gain."""
    seats = range(len(game.seats))
    require(len(players) == len(seats), "players", len(players), f"{len(seats)}, one per seat")
    meetings = _Meetings(game, episodes, seed)
    base = meetings.earned(players)
    answers, responses = [], []
    for seat in seats:
        opponents = {s: [(1.0, players[s])] for s in seats if s != seat}
        fresh = respond(game, seat, opponents, seed + seat)
        seated = tuple(fresh if s == seat else players[s] for s in seats)
        answers.append(meetings.earned(seated)[seat])
        responses.append(fresh)
    gains = [answer - base[s] for s, answer in enumerate(answers)]
    return Exploitability(
        payoff=tuple(float(x) for x in base.mean(axis=1)),
        answer=tuple(float(x.mean()) for x in answers),
        gain=tuple(bootstrap_mean(gain) for gain in gains),
        mean=bootstrap_mean(np.mean(gains, axis=0)),
        responses=tuple(responses),
    )


def grow_populations(
    game: Environment,
    initial: PerSeat[Sequence[Player]],
    respond: BestResponse,
    *,
    rounds: int = 6,
    tolerance: float = 0.02,
    meta_solver: MetaSolver = nash_meta,
    episodes: int = 256,
    seed: int = 0,
) -> Psro[Player]:
    """Policy-space response oracles with players: see `comity.theory.psro` for the loop.

    Payoffs are rewards per step, measured in `episodes` episodes for each profile; `tolerance` should not
    be smaller than their noise. `gains` of the result falls as the populations approach an equilibrium.
    """
    require(len(initial) == len(game.seats), "initial", len(initial), f"{len(game.seats)}, one per seat")
    require(tolerance >= 0.0, "tolerance", tolerance, "at least 0")
    meetings = _Meetings(game, episodes, seed)
    seeds = itertools.count(seed)

    def payoff(profile: tuple[Player, ...]) -> Sequence[float]:
        return meetings.earned(profile).mean(axis=1).tolist()

    def answer(
        seat: int, populations: tuple[tuple[Player, ...], ...], strategies: Profile
    ) -> Response[Player]:
        mixtures = {
            s: [(float(p), player) for p, player in zip(strategies[s], populations[s], strict=True)]
            for s in range(len(populations))
            if s != seat
        }
        fresh = respond(game, seat, mixtures, next(seeds))
        earned = 0.0
        for index in np.ndindex(*(len(mixture) for mixture in mixtures.values())):
            met = [mixture[k] for mixture, k in zip(mixtures.values(), index, strict=True)]
            share = float(np.prod([p for p, _ in met]))
            if share > 1e-6:
                others = iter(player for _, player in met)
                seated = tuple(fresh if s == seat else next(others) for s in range(len(populations)))
                earned += share * payoff(seated)[seat]
        return Response(fresh, earned)

    return psro(payoff, answer, initial, meta_solver, rounds, tolerance)


class _Meetings:
    """Measures what players earn when they meet.

    Every seat is taken by a crowd of all kinds of players that it has seen, so that one compiled program
    serves for all profiles.
    """

    def __init__(self, game: Environment, episodes: int, seed: int) -> None:
        require(episodes >= 1, "episodes", episodes, "at least 1")
        if game.horizon is None:
            raise ComityError("This game has no fixed length: give it a horizon.")
        self._game, self._episodes, self._length = game, episodes, game.horizon
        self._key, self._count = jax.random.key(seed), 0
        self._kinds: list[list[Player]] = [[] for _ in game.seats]

    def earned(self, players: Sequence[Player]) -> Float[np.ndarray, "seats episodes"]:
        """Reward per step of each seat in each episode."""
        seated = []
        for kinds, player in zip(self._kinds, players, strict=True):
            crowd, members = gather([*kinds, player])
            if len(crowd.kinds) > len(kinds):
                kinds.append(player)
            seated.append(Player(crowd, members[-1]))
        self._count += 1
        key = jax.random.fold_in(self._key, self._count)
        step = play(self._game, tuple(seated), key, self._episodes, self._length).step
        return np.stack([np.asarray(reward, np.float64).mean(axis=0) for reward in step.reward])
