"""A best response, learned: one learner in one seat, fixed players drawn from mixtures in all the others.

The opponents of seat s are players with shares. In every iteration each group of games draws one player
for each of these seats, independently between seats, so that the learner faces the product of the
mixtures, as it would in the empirical game.
"""

from collections.abc import Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.agent import Agent, Player, add_group_axis, stack
from comity.core.errors import ComityError, require
from comity.core.game import Environment, GameSpec
from comity.core.matchmaker import Lineup, Matchmaker, Occupant, Team
from comity.play.mixed import MixedAgent, MixedParams, mix
from comity.play.opponents.seating import systematic
from comity.training import loop
from comity.training.driver import drive, start_any_seed
from comity.training.experiment import Experiment
from comity.training.hooks.base import ActiveRun
from comity.training.hooks.finite import FiniteCheck

Opponents = Mapping[int, Sequence[tuple[float, Player]]]  # for every other seat: shares and players
LEAST_SLOTS = 8  # mixtures of up to this many players share one compiled program


class AgainstMixtures(Matchmaker):
    """Opponents are drawn from fixed mixtures, in groups that each face an equal slice of the batch.

    The shares of a mixture are met as exactly as the number of groups allows: draws are systematic (evenly
    spaced with one random shift) and then shuffled, so that seats stay independent.
    """

    members: tuple[MixedParams, ...]  # for each opponent's seat, leaves [players, ...]
    shares: tuple[Float[Array, " players"], ...]
    groups: int = 16  # how many draws are made in one iteration

    def check(self, spec: GameSpec, seating: tuple[tuple[int, ...], ...], batch: int) -> None:
        require(batch % self.groups == 0, "batch", batch, f"a multiple of the {self.groups} groups")

    def init(self, policies: tuple[PyTree, ...]) -> PyTree:
        return ()

    def remember(self, pool: PyTree, policies: tuple[PyTree, ...], iteration: Array) -> PyTree:
        return pool

    def lineups(self, pool: PyTree, teams: tuple[Team, ...], key: Key) -> tuple[Lineup, ...]:
        learner = next(i for i, team in enumerate(teams) if team.agent.learns)
        own_key = jax.random.fold_in(key, 0)
        occupants = [
            Occupant(teams[learner].seats, teams[learner].agent, add_group_axis(teams[learner].behaviour))
        ]
        others = [i for i in range(len(teams)) if i != learner]
        for i, members, shares in zip(others, self.members, self.shares, strict=True):
            index = systematic(shares, self.groups, jax.random.fold_in(own_key, i))
            drawn = jax.tree.map(lambda x, index=index: x[index], members)
            occupants.append(Occupant(teams[i].seats, teams[i].agent, drawn))
        return (Lineup(tuple(occupants), ((learner, teams[learner].seats),)),)


def best_response(
    game: Environment,
    agent: Agent,
    seat: int,
    opponents: Opponents,
    *,
    iterations: int = 300,
    batch: int = 128,
    unroll: int | None = None,
    groups: int = 16,
    seed: int = 0,
) -> Player:
    """Trains `agent` in `seat` against mixtures of fixed players in all other seats.

    `opponents[s]` are (share, player) pairs whose shares add up to 1. Nothing is written.
    """
    experiment = response_experiment(
        game,
        agent,
        seat,
        opponents,
        iterations=iterations,
        batch=batch,
        unroll=unroll,
        groups=groups,
        seed=seed,
    )
    run = ActiveRun(experiment, [FiniteCheck()])
    drive([run], [start_any_seed(experiment)])
    if run.ending is not None and run.ending.error is not None:
        raise run.ending.error
    return loop.players(experiment, run.state)[seat]


def learned_response(
    agent: Agent, *, iterations: int = 300, batch: int = 128
) -> Callable[[Environment, int, Opponents, int], Player]:
    """A way to find best responses, by training `agent`: a function of a game, seat, opponents and seed."""

    def respond(game: Environment, seat: int, opponents: Opponents, seed: int) -> Player:
        return best_response(game, agent, seat, opponents, iterations=iterations, batch=batch, seed=seed)

    return respond


def response_experiment(
    game: Environment,
    agent: Agent,
    seat: int,
    opponents: Opponents,
    *,
    iterations: int = 300,
    batch: int = 128,
    unroll: int | None = None,
    groups: int = 16,
    seed: int = 0,
) -> Experiment:
    """The experiment whose player in `seat` becomes a best response.

    Mixtures are filled up to a power of 2 with players of share 0, the learner's kind among them, so that one
    compiled program serves while a population grows by learners of this kind.
    """
    _check(game, agent, seat, opponents)
    others = [s for s in range(len(game.seats)) if s != seat]
    crowds: dict[int, MixedAgent] = {}
    members, shares = [], []
    for s in others:
        met = [player for _, player in opponents[s]] + _blank_learner(agent, game.spec, s)
        size = max(LEAST_SLOTS, 1 << (len(met) - 1).bit_length())
        crowds[s], each = mix(met + met[:1] * (size - len(met)))
        members.append(stack(each))
        weights = np.zeros(size, np.float32)
        weights[: len(opponents[s])] = [share for share, _ in opponents[s]]
        shares.append(jnp.asarray(weights))
    return Experiment(
        game=game,
        agents=tuple(crowds.get(s, agent) for s in range(len(game.seats))),
        seating=tuple((s,) for s in range(len(game.seats))),
        matchmaker=AgainstMixtures(tuple(members), tuple(shares), groups),
        iterations=iterations,
        batch=batch,
        unroll=unroll if unroll is not None else (game.horizon or 32),
        chunk=iterations,  # one call: there is nothing to log or to save in between
        seed=seed,
    )


def _check(game: Environment, agent: Agent, seat: int, opponents: Opponents) -> None:
    seats = len(game.seats)
    require(0 <= seat < seats, "seat", seat, f"between 0 and {seats - 1}")
    if not agent.learns:
        raise ComityError(
            f"{type(agent).__name__} does not learn: a best response needs a learner, such as a2c."
        )
    wanted = [s for s in range(seats) if s != seat]
    require(sorted(opponents) == wanted, "opponents", sorted(opponents), f"given for the seats {wanted}")
    for s, mixture in opponents.items():
        shares = [share for share, _ in mixture]
        fits = bool(shares) and min(shares) >= -1e-9 and abs(sum(shares) - 1.0) < 1e-6
        require(fits, f"the shares in seat {s}", shares, "at least 0 and add up to 1")


def _blank_learner(agent: Agent, spec: GameSpec, seat: int) -> list[Player]:
    """A player of the learner's kind that is never drawn, if the learner could sit there."""
    try:
        agent.check(spec, (seat,))
    except ComityError:
        return []
    shapes = jax.eval_shape(lambda: agent.policy(agent.init(jax.random.key(0), spec, (seat,))))
    return [Player(agent, jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes))]
