"""The one place where a game meets agents.

A rollout plays a batch of games for a number of steps, whoever sits where. It resets games that ended, so
episodes may be shorter or longer than the rollout, and goes on where the one before it stopped.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PyTree
from jaxtyping import Key as KeyArray
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import ComityError
from comity.core.types import Agent, Environment, Occupant, PerSeat, Simulate, Trajectory

GameKeys = KeyArray[Array, " batch"]
Keys = PerSeat[GameKeys]


class Table(NamedTuple):
    """A batch of games under way: leaves [batch, ...]; `age` is how many steps each has lasted."""

    state: PyTree
    obs: PerSeat[PyTree]
    alive: PerSeat[Bool[Array, " batch"]]
    carry: PerSeat[PyTree]
    age: Int[Array, " batch"]


def begin(game: Environment, occupants: tuple[Occupant, ...], batch: int, key: Key) -> Table:
    """New games, one per batch entry, with every memory at its start."""
    _check_occupants(len(game.seats), occupants, batch)
    state, obs = jax.vmap(game.reset)(jax.random.split(key, batch))
    return _new_table(game, occupants, state, obs)


def begin_again(
    game: Environment,
    occupants: tuple[Occupant, ...],
    table: Table,
    key: Key,
    over: Bool[Array, " batch"] | None = None,
) -> Table:
    """New games where the old ones are over, or everywhere."""
    batch = table.alive[0].shape[0]
    ended = jnp.ones(batch, jnp.bool_) if over is None else over
    fresh = _new_table(
        game, occupants, *jax.vmap(game.renew)(jax.random.split(key, batch), table.state, ended)
    )
    if over is None:
        return fresh
    return jax.tree.map(lambda new, old: _where(ended, new, old), fresh, table)


def _new_table(
    game: Environment, occupants: tuple[Occupant, ...], state: PyTree, obs: PerSeat[PyTree]
) -> Table:
    batch = jax.tree.leaves(obs)[0].shape[0]
    present = jax.vmap(game.present)(state)
    alive = tuple(jnp.broadcast_to(here, (batch,)) for here in present)
    memories = _start_memories(occupants, len(game.seats), batch)
    return Table(state, obs, alive, memories, jnp.zeros(batch, jnp.int32))


def rollout(
    game: Environment, occupants: tuple[Occupant, ...], table: Table, key: Key, length: int
) -> tuple[Trajectory, Table]:
    """Plays `length` steps and returns what happened and the games as they stand then.

    Seat i acts with a key of its own that depends only on `key`, the step and i, so the play does not
    depend on which seats share an occupant.
    """
    seats = len(game.seats)
    batch = int(table.alive[0].shape[0])
    _check_occupants(seats, occupants, batch)

    def advance(
        table: Table, step_input: tuple[Keys, GameKeys, tuple[Key, ...], Array]
    ) -> tuple[Table, tuple[PyTree, ...]]:
        act_keys, game_keys, (look_key, reset_key), last = step_input
        action, carry, extras = _act(occupants, table.obs, table.carry, act_keys)
        state, step = jax.vmap(game.step)(game_keys, table.state, action)
        done = step.terminated | step.truncated
        ends = jnp.any(done) | jnp.any(jnp.stack([jnp.any(~alive) for alive in step.alive]))

        def look() -> PyTree:
            return _act(occupants, step.obs, carry, _act_keys(look_key, seats, batch))[2]

        successor = jax.lax.cond(ends | last, look, lambda: jax.tree.map(jnp.zeros_like, extras))

        def new_games(table: Table) -> Table:
            return begin_again(game, occupants, table, reset_key, done)

        after = Table(state, step.obs, step.alive, carry, table.age + 1)
        after = jax.lax.cond(jnp.any(done), new_games, lambda table: table, after)
        views = jax.vmap(game.view)(table.state), jax.vmap(game.view)(state)
        return after, (table.obs, table.alive, action, extras, step, successor, views)

    # Keys that every step needs are drawn for all steps at once; the others where they are needed.
    act_key, game_key, *later_keys = jnp.moveaxis(
        jax.vmap(lambda k: jax.random.split(k, 4))(jax.random.split(key, length)), 1, 0
    )
    act_keys = jax.vmap(lambda k: _act_keys(k, seats, batch))(act_key)
    game_keys = jax.vmap(lambda k: jax.random.split(k, batch))(game_key)
    inputs = (act_keys, game_keys, tuple(later_keys), jnp.arange(length) == length - 1)
    after, (obs, alive, action, extras, step, successor, views) = jax.lax.scan(advance, table, inputs)
    view, next_view = views
    played = Trajectory(obs, alive, action, extras, table.carry, step, successor, view, next_view, table.age)
    return played, after


def simulator(game: Environment, agents: PerSeat[Agent], batch: int, length: int) -> Simulate:
    """A function that plays new games, from the parameters in every seat (leaves [groups, ...]) and a key.

    A third argument puts other agents than these in the seats.
    """

    def simulate(params: PerSeat[PyTree], key: Key, others: PerSeat[Agent] | None = None) -> Trajectory:
        seated = zip(others or agents, params, strict=True)
        occupants = tuple(Occupant((seat,), agent, own) for seat, (agent, own) in enumerate(seated))
        begin_key, play_key = jax.random.split(key)
        table = begin(game, occupants, batch, begin_key)
        return rollout(game, occupants, table, play_key, length)[0]

    return simulate


def _act_keys(key: Key, seats: int, batch: int) -> Keys:
    """A key for each seat in each game, which depends on the seat and the game only."""
    return tuple(jax.random.split(jax.random.fold_in(key, seat), batch) for seat in range(seats))


def _act(
    occupants: tuple[Occupant, ...], obs: PerSeat[PyTree], carry: PerSeat[PyTree], keys: Keys
) -> tuple[PerSeat[PyTree], PerSeat[PyTree], PerSeat[PyTree]]:
    """Everybody acts; seats of one occupant in one call."""
    seats = len(obs)
    actions: list[PyTree] = [None] * seats
    carries: list[PyTree] = [None] * seats
    extras: list[PyTree] = [None] * seats
    for occupant in occupants:
        groups = group_count(occupant)
        # Axes: group, seat, game of the slice.
        act = jax.vmap(jax.vmap(jax.vmap(occupant.agent.act, (None, 0, 0, 0)), (None, 0, 0, 0)))
        out = act(
            occupant.params,
            _gather([carry[seat] for seat in occupant.seats], groups),
            _gather([obs[seat] for seat in occupant.seats], groups),
            _gather([keys[seat] for seat in occupant.seats], groups),
        )
        for i, seat in enumerate(occupant.seats):
            actions[seat], carries[seat], extras[seat] = jax.tree.map(lambda x, i=i: _ungroup(x[:, i]), out)
    return tuple(actions), tuple(carries), tuple(extras)


def _start_memories(occupants: tuple[Occupant, ...], seats: int, batch: int) -> PerSeat[PyTree]:
    memories: list[PyTree] = [None] * seats
    for occupant in occupants:
        each = batch // group_count(occupant)
        has_params = bool(jax.tree.leaves(occupant.params))
        begin_all = jax.vmap(occupant.agent.start) if has_params else occupant.agent.start
        start = begin_all(occupant.params)
        if not has_params:
            start = jax.tree.map(lambda x: x[None], start)
        memory = jax.tree.map(lambda x, n=each: jnp.repeat(x, n, axis=0), start)
        for seat in occupant.seats:
            memories[seat] = memory
    return tuple(memories)


def group_count(occupant: Occupant) -> int:
    """How many sets of parameters an occupant has; one if it has no parameters at all."""
    leaves = jax.tree.leaves(occupant.params)
    return int(leaves[0].shape[0]) if leaves else 1


def _gather(parts: list[PyTree], groups: int) -> PyTree:
    """Per-seat batches [batch, ...] as [group, seat, batch / group, ...]."""

    def join(*leaves: Array) -> Array:
        cut = [x.reshape((groups, x.shape[0] // groups, *x.shape[1:])) for x in leaves]
        return jnp.stack(cut, axis=1)

    return jax.tree.map(join, *parts)


def _ungroup(x: Array) -> Array:
    return x.reshape((x.shape[0] * x.shape[1], *x.shape[2:]))


def _where(done: Bool[Array, " batch"], new: Array, old: Array) -> Array:
    return jnp.where(done.reshape(done.shape + (1,) * (new.ndim - 1)), new, old)


def _check_occupants(seats: int, occupants: tuple[Occupant, ...], batch: int) -> None:
    taken = sorted(seat for occupant in occupants for seat in occupant.seats)
    if taken != list(range(seats)):
        raise ComityError(f"The game has the seats 0 to {seats - 1}, but the players take {taken}.")
    for occupant in occupants:
        groups = group_count(occupant)
        if batch % groups:
            raise ComityError(f"A batch of {batch} games cannot be cut into {groups} equal groups.")
