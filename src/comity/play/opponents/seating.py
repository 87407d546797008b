"""Who sits where in the rollout of one learner among opponents that were drawn, and how draws are made."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.agent import Agent, add_group_axis, communicates
from comity.core.errors import ComityError, require
from comity.core.game import GameSpec
from comity.core.matchmaker import Drawn, Lineup, Occupant, Team

Seating = tuple[tuple[int, ...], ...]
# Of a team in some seats, with a key: the agent, its parameters [groups, ...], and who was drawn [groups].
Draw = Callable[[int, tuple[int, ...], Key], tuple[Agent, PyTree, Int[Array, " groups"]]]


def check_opponents(spec: GameSpec, seating: Seating, batch: int, groups: int, learning_seats: int) -> None:
    """Raises unless the batch can be cut into groups, and seats are left for opponents."""
    require(batch % groups == 0, "groups", groups, f"a divisor of the batch of {batch}")
    seats = len(spec.seats)
    if seats == 1:
        raise ComityError("A game of one seat has no opponents to draw.")
    if len(seating) == 1:
        allowed = f"less than the {seats} seats of the game"
        require(learning_seats < seats, "learning_seats", learning_seats, allowed)


def learner_lineups(
    teams: tuple[Team, ...], learning_seats: int, key: Key, draw: Callable[[int], Draw]
) -> tuple[Lineup, ...]:
    """One lineup for each learner, as it is now among opponents; `draw(learner)` draws those it meets.

    A team of all seats learns in the first `learning_seats` of them, other teams in all of theirs.
    """
    learners = [i for i, team in enumerate(teams) if team.agent.learns]
    return tuple(
        _lineup(teams, learner, learning_seats, jax.random.fold_in(key, number), draw(learner))
        for number, learner in enumerate(learners)
    )


def _lineup(teams: tuple[Team, ...], learner: int, learning_seats: int, key: Key, draw: Draw) -> Lineup:
    own = teams[learner]
    learning = own.seats[:learning_seats] if len(teams) == 1 else own.seats
    occupants = [Occupant(learning, own.agent, add_group_axis(own.behaviour))]
    drawn = []
    for other, team in enumerate(teams):
        rest = tuple(seat for seat in team.seats if seat not in learning)
        # Seats that communicate are one opponent; others are each one of their own.
        for seats in [rest] if rest and communicates(team.agent) else [(seat,) for seat in rest]:
            agent, params, member = draw(other, seats, jax.random.fold_in(key, seats[0]))
            occupants.append(Occupant(seats, agent, params))
            drawn.append(Drawn(seats, other, member))
    return Lineup(tuple(occupants), ((learner, learning),), tuple(drawn))


def systematic(shares: Float[Array, " members"], count: int, key: Key) -> Int[Array, " count"]:
    """`count` indices, index i about `count * shares[i]` times, in random order.

    The draws are evenly spaced with one random shift and then shuffled: shares are met as exactly as the
    number of draws allows, and draws for several seats stay independent.
    """
    shift_key, order_key = jax.random.split(key)
    points = (jnp.arange(count, dtype=jnp.float32) + jax.random.uniform(shift_key)) / count
    # The last member with a share takes what rounding leaves above the sum of all shares.
    last = jnp.max(jnp.where(shares > 0, jnp.arange(shares.size), 0))
    index = jnp.searchsorted(jnp.cumsum(shares), points, side="right")
    return jax.random.permutation(order_key, jnp.minimum(index, last))


def by_weight(
    weights: Float[Array, " members"], filled: Bool[Array, " members"], count: int, key: Key
) -> Int[Array, " count"]:
    """Draws in proportion to weights among those that are there; evenly where all weights are 0."""
    wanted = jnp.where(filled, weights, 0.0)
    total = wanted.sum()
    there = filled.astype(jnp.float32)
    shares = jnp.where(total > 0, wanted / jnp.maximum(total, 1e-30), there / there.sum())
    return systematic(shares, count, key)


def with_present(member: Int[Array, " drawn"], groups: int) -> Int[Array, " groups"]:
    """The draws with the present self (-1) in the groups before them."""
    return jnp.concatenate([jnp.full(groups - member.shape[0], -1, member.dtype), member])
