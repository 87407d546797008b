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

from comity.core.agent import Act, Agent, Simulate, communicates
from comity.core.batch import Trajectory
from comity.core.errors import ComityError, require
from comity.core.game import Environment, PerSeat
from comity.core.matchmaker import Occupant
from comity.core.shards import game_keys

GameKeys = KeyArray[Array, " game"]
Keys = PerSeat[GameKeys]
ROLLOUT = "rollout"  # names the loop over time in traced programs and in profiles


class EnvBatch(NamedTuple):
    """A batch of games under way: leaves [game, ...]; `age` is how many steps each has lasted.

    `acts` says who acts in the next step; empty where everybody always does.
    """

    state: PyTree
    obs: PerSeat[PyTree]
    alive: PerSeat[Bool[Array, " game"]]
    acts: PerSeat[Bool[Array, " game"]]
    carry: PerSeat[PyTree]
    age: Int[Array, " game"]


def reset(game: Environment, occupants: tuple[Occupant, ...], batch: int, key: Key) -> EnvBatch:
    """New games, one per batch entry, with every memory at its start."""
    _check_occupants(len(game.seats), occupants, batch)
    state, obs = jax.vmap(game.reset)(game_keys(key, batch))
    return _new_games(game, occupants, state, obs)


def reset_done(
    game: Environment,
    occupants: tuple[Occupant, ...],
    envs: EnvBatch,
    key: Key,
    done: Bool[Array, " game"] | None = None,
) -> EnvBatch:
    """New games where the old ones are done, or everywhere."""
    batch = envs.alive[0].shape[0]
    over = jnp.ones(batch, jnp.bool_) if done is None else done
    fresh = _new_games(game, occupants, *jax.vmap(game.reset_where)(game_keys(key, batch), envs.state, over))
    if done is None:
        return fresh
    return jax.tree.map(lambda new, old: _where(over, new, old), fresh, envs)


def _new_games(
    game: Environment, occupants: tuple[Occupant, ...], state: PyTree, obs: PerSeat[PyTree]
) -> EnvBatch:
    batch = jax.tree.leaves(obs)[0].shape[0]

    def in_every_game(flags: PerSeat[Array]) -> PerSeat[Array]:
        return tuple(jnp.broadcast_to(flag, (batch,)) for flag in flags)

    alive = in_every_game(jax.vmap(game.present)(state))
    acts = in_every_game(jax.vmap(game.acting)(state))
    memories = initial_carries(occupants, len(game.seats), batch)
    return EnvBatch(state, obs, alive, acts, memories, jnp.zeros(batch, jnp.int32))


def rollout(
    game: Environment, occupants: tuple[Occupant, ...], envs: EnvBatch, key: Key, length: int
) -> tuple[Trajectory, EnvBatch]:
    """Plays `length` steps and returns what happened and the games as they stand then.

    Seat i acts with a key of its own that depends only on `key`, the step and i, so the play does not
    depend on which seats share an occupant.
    """
    seats = len(game.seats)
    batch = int(envs.alive[0].shape[0])
    _check_occupants(seats, occupants, batch)

    def advance(
        envs: EnvBatch, step_input: tuple[Keys, GameKeys, tuple[Key, ...], Array]
    ) -> tuple[EnvBatch, tuple[PyTree, ...]]:
        act_keys, step_keys, (bootstrap_key, reset_key), last = step_input
        action, carry, extras = act_seats(occupants, envs.obs, envs.carry, act_keys)
        state, step = jax.vmap(game.step)(step_keys, envs.state, action)
        done = step.terminated | step.truncated
        ends = jnp.any(done) | jnp.any(jnp.stack([jnp.any(~alive) for alive in step.alive]))

        def act_again() -> PyTree:
            return act_seats(occupants, step.obs, carry, _act_keys(bootstrap_key, seats, batch))[2]

        bootstrap = jax.lax.cond(ends | last, act_again, lambda: jax.tree.map(jnp.zeros_like, extras))

        def new_games(envs: EnvBatch) -> EnvBatch:
            return reset_done(game, occupants, envs, reset_key, done)

        after = EnvBatch(state, step.obs, step.alive, step.acts, carry, envs.age + 1)
        after = jax.lax.cond(jnp.any(done), new_games, lambda envs: envs, after)
        states = jax.vmap(game.view)(envs.state), jax.vmap(game.view)(state)
        return after, (envs.obs, envs.alive, envs.acts, action, extras, step, bootstrap, states)

    # Keys that every step needs are drawn for all steps at once; the others where they are needed.
    act_key, game_key, *later_keys = jnp.moveaxis(
        jax.vmap(lambda k: jax.random.split(k, 4))(jax.random.split(key, length)), 1, 0
    )
    act_keys = jax.vmap(lambda k: _act_keys(k, seats, batch))(act_key)
    step_keys = jax.vmap(lambda k: game_keys(k, batch))(game_key)
    inputs = (act_keys, step_keys, tuple(later_keys), jnp.arange(length) == length - 1)
    with jax.named_scope(ROLLOUT):
        after, played = jax.lax.scan(advance, envs, inputs)
    obs, alive, acts, action, extras, step, bootstrap, (state, next_state) = played
    return Trajectory(
        obs, alive, action, extras, envs.carry, step, bootstrap, state, next_state, envs.age, acts
    ), after


def simulator(game: Environment, agents: PerSeat[Agent], batch: int, length: int) -> Simulate:
    """A function that plays new games, from the parameters in every seat (leaves [groups, ...]) and a key.

    A third argument puts other agents than these in the seats.
    """

    def simulate(params: PerSeat[PyTree], key: Key, others: PerSeat[Agent] | None = None) -> Trajectory:
        seated = zip(others or agents, params, strict=True)
        occupants = tuple(Occupant((seat,), agent, own) for seat, (agent, own) in enumerate(seated))
        reset_key, play_key = jax.random.split(key)
        envs = reset(game, occupants, batch, reset_key)
        return rollout(game, occupants, envs, play_key, length)[0]

    return simulate


def _act_keys(key: Key, seats: int, batch: int) -> Keys:
    """A key for each seat in each game, which depends on the seat and the game only."""
    return tuple(game_keys(jax.random.fold_in(key, seat), batch) for seat in range(seats))


def act_seats(
    occupants: tuple[Occupant, ...], obs: PerSeat[PyTree], carry: PerSeat[PyTree], keys: Keys
) -> tuple[PerSeat[PyTree], PerSeat[PyTree], PerSeat[PyTree]]:
    """Everybody acts; seats of one occupant in one call."""
    seats = len(obs)
    actions: list[PyTree] = [None] * seats
    carries: list[PyTree] = [None] * seats
    extras: list[PyTree] = [None] * seats
    for occupant in occupants:
        groups = group_count(occupant)
        out = _act_as_team(occupant.agent)(
            occupant.params,
            _group([carry[seat] for seat in occupant.seats], groups),
            _group([obs[seat] for seat in occupant.seats], groups),
            _group([keys[seat] for seat in occupant.seats], groups),
        )
        for i, seat in enumerate(occupant.seats):
            actions[seat], carries[seat], extras[seat] = jax.tree.map(lambda x, i=i: _ungroup(x[:, i]), out)
    return tuple(actions), tuple(carries), tuple(extras)


def _act_as_team(agent: Agent):  # type: ignore[no-untyped-def]
    """How a team acts in all games at once, leaves [group, seat, game of the slice, ...].

    Seats that do not communicate act as one batch of rows, which is what a processor likes best.
    """
    if not communicates(agent):
        return jax.vmap(jax.vmap(jax.vmap(agent.act, (None, 0, 0, 0)), (None, 0, 0, 0)))
    in_game = jax.vmap(agent.act_team, (None, 1, 1, 1), 1)

    def act(params: PyTree, carry: PyTree, obs: PyTree, keys: KeyArray[Array, "group seat game"]) -> Act:
        out: Act = jax.vmap(in_game)(params, carry, obs, keys)
        return out

    return act


def initial_carries(occupants: tuple[Occupant, ...], seats: int, batch: int) -> PerSeat[PyTree]:
    """Everybody's memory at the start of an episode; None in seats that nobody of these sits in."""
    memories: list[PyTree] = [None] * seats
    for occupant in occupants:
        each = batch // group_count(occupant)
        has_params = bool(jax.tree.leaves(occupant.params))
        initial = occupant.agent.initial_carry
        start = (jax.vmap(initial) if has_params else initial)(occupant.params)
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


def _group(parts: list[PyTree], groups: int) -> PyTree:
    """Per-seat batches [game, ...] as [group, seat, game of the slice, ...]."""

    def join(*leaves: Array) -> Array:
        cut = [x.reshape((groups, x.shape[0] // groups, *x.shape[1:])) for x in leaves]
        return jnp.stack(cut, axis=1)

    return jax.tree.map(join, *parts)


def _ungroup(x: Array) -> Array:
    return x.reshape((x.shape[0] * x.shape[1], *x.shape[2:]))


def _where(done: Bool[Array, " game"], new: Array, old: Array) -> Array:
    return jnp.where(done.reshape(done.shape + (1,) * (new.ndim - 1)), new, old)


def _check_occupants(seats: int, occupants: tuple[Occupant, ...], batch: int) -> None:
    taken = sorted(seat for occupant in occupants for seat in occupant.seats)
    if taken != list(range(seats)):
        raise ComityError(f"The game has the seats 0 to {seats - 1}, but the players take {taken}.")
    for occupant in occupants:
        groups = group_count(occupant)
        require(
            batch % groups == 0,
            "batch",
            batch,
            f"a multiple of {groups}: each group has as many games",
        )
