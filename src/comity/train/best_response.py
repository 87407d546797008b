"""A best response, learned: one learner in one seat, fixed players drawn from mixtures in all the others.

The opponents of seat s are players with shares. In every iteration each group of games draws one player
for each of these seats, independently between seats, so that the learner faces the product of the
mixtures, as it would in the empirical game.
"""

from collections.abc import Mapping, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import ComityError, require
from comity.core.types import (
    Agent,
    Environment,
    Matchmaker,
    Occupant,
    PerSeat,
    Player,
    Seat,
    lead,
    stack,
    with_everyone,
)
from comity.play.crowd import Crowd, Member, gather
from comity.train import loop
from comity.train.experiment import Experiment

Opponents = Mapping[int, Sequence[tuple[float, Player]]]  # for every other seat: shares and players
LEAST_SLOTS = 8  # mixtures of up to this many players share one compiled program


class AgainstMixtures(Matchmaker):
    """Opponents are drawn from fixed mixtures, in groups that each face an equal slice of the batch.

    The shares of a mixture are met as exactly as the number of groups allows: draws are systematic (evenly
    spaced with one random shift) and then shuffled, so that seats stay independent.
    """

    members: tuple[Member, ...]  # for each opponent's seat, leaves [players, ...]
    shares: tuple[Float[Array, " players"], ...]
    groups: int = 16  # how many draws are made in one iteration

    @property
    def joint(self) -> bool:
        return False

    def check(self, seats: PerSeat[Seat], seating: tuple[tuple[int, ...], ...], batch: int) -> None:
        require(batch % self.groups == 0, "batch", batch, f"a multiple of the {self.groups} groups")

    def init(self, params: tuple[PyTree, ...]) -> PyTree:
        return ()

    def remember(self, pool: PyTree, params: tuple[PyTree, ...], iteration: Array) -> PyTree:
        return pool

    def seat(
        self,
        pool: PyTree,
        agents: tuple[Agent, ...],
        params: tuple[PyTree, ...],
        seating: tuple[tuple[int, ...], ...],
        learner: int,
        key: Key,
    ) -> tuple[tuple[Occupant, ...], tuple[int, ...]]:
        occupants = [Occupant(seating[learner], agents[learner], lead(params[learner]))]
        others = [i for i in range(len(seating)) if i != learner]
        for i, members, shares in zip(others, self.members, self.shares, strict=True):
            index = _systematic(shares, self.groups, jax.random.fold_in(key, i))
            drawn = jax.tree.map(lambda x, index=index: x[index], members)
            occupants.append(Occupant(seating[i], agents[i], drawn))
        return tuple(occupants), seating[learner]


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

    `opponents[s]` are (share, player) pairs whose shares add up to 1. Mixtures are filled up to a power of 2
    with players of share 0, the learner's kind among them, so that one compiled program serves while a
    population grows by learners of this kind.
    """
    _check(game, agent, seat, opponents)
    others = [s for s in range(len(game.seats)) if s != seat]
    crowds: dict[int, Crowd] = {}
    members, shares = [], []
    for s in others:
        met = [player for _, player in opponents[s]] + _blank_learner(agent, with_everyone(game, s))
        size = max(LEAST_SLOTS, 1 << (len(met) - 1).bit_length())
        crowds[s], each = gather(met + met[:1] * (size - len(met)))
        members.append(stack(each))
        weights = np.zeros(size, np.float32)
        weights[: len(opponents[s])] = [share for share, _ in opponents[s]]
        shares.append(jnp.asarray(weights))
    experiment = Experiment(
        game=game,
        agents=tuple(crowds.get(s, agent) for s in range(len(game.seats))),
        seating=tuple((s,) for s in range(len(game.seats))),
        matchmaker=AgainstMixtures(tuple(members), tuple(shares), groups),
        iterations=iterations,
        batch=batch,
        unroll=unroll if unroll is not None else (game.horizon or 32),
    )
    player, finite = _jitted_train(experiment, seat, jnp.int32(seed))
    if not bool(finite):
        raise ComityError(
            "The best response's parameters became infinite while it was trained: a smaller learning rate or "
            "a smaller max_gradient usually helps."
        )
    return player


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


def _systematic(shares: Float[Array, " players"], count: int, key: Key) -> Array:
    """`count` indices, index i about `count * shares[i]` times, in random order."""
    shift_key, order_key = jax.random.split(key)
    points = (jnp.arange(count, dtype=jnp.float32) + jax.random.uniform(shift_key)) / count
    # The last player with a share takes what rounding leaves above the sum of all shares.
    last = jnp.max(jnp.where(shares > 0, jnp.arange(shares.size), 0))
    index = jnp.searchsorted(jnp.cumsum(shares), points, side="right")
    return jax.random.permutation(order_key, jnp.minimum(index, last))


def _blank_learner(agent: Agent, seat: Seat) -> list[Player]:
    """A player of the learner's kind that is never drawn, if the learner could sit there."""
    try:
        agent.check(seat)
    except ComityError:
        return []
    shapes = jax.eval_shape(lambda: agent.params(agent.init(jax.random.key(0), seat)))
    return [Player(agent, jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes))]


def _train(experiment: Experiment, seat: int, seed: Array) -> tuple[Player, Array]:
    """The player in the seat after all iterations, and whether its parameters were finite throughout."""
    state, metrics = loop.advance(experiment, loop.start(experiment, seed), experiment.iterations)
    return loop.players(experiment, state)[seat], (metrics["finite"] > 0).all()


_jitted_train = eqx.filter_jit(_train)
