"""The jitted training loop: rollouts, updates and opponents for many iterations in one compiled call."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.scripted.base import Random
from comity.core.types import Experience, Occupant, PerSeat, Player, Trajectory, lead, with_everyone
from comity.play.rollout import Table, begin, begin_again, rollout, simulator
from comity.train.experiment import Experiment


class RunState(NamedTuple):
    """All that a run is: saved whole, and enough to go on bit by bit."""

    iteration: Int[Array, ""]
    key: Key
    learners: tuple[PyTree, ...]
    pool: PyTree
    tables: tuple[Table, ...]


def start(experiment: Experiment, seed: Array | int | None = None) -> RunState:
    """The state before the first iteration; `seed` stands in for the experiment's own."""
    seed = experiment.seed if seed is None else seed
    key, learner_key, table_key = jax.random.split(jax.random.key(seed), 3)
    learners = tuple(
        agent.init(jax.random.fold_in(learner_key, i), with_everyone(experiment.game, places[0]))
        for i, (agent, places) in enumerate(zip(experiment.agents, experiment.seating, strict=True))
    )
    params = _params(experiment, learners)
    pool = experiment.matchmaker.init(params)
    tables = []
    for table, learner in enumerate(_tables(experiment)):
        occupants, _ = _seat(experiment, pool, params, learner, jax.random.fold_in(key, 0))
        start_key = jax.random.fold_in(table_key, table)
        tables.append(begin(experiment.game, occupants, experiment.batch, start_key))
    if experiment.warm_up:
        played = [
            _at_random(experiment, table, jax.random.fold_in(start_key, i)) for i, table in enumerate(tables)
        ]
        tables = [table for _, table in played]
        learners = tuple(
            agent.watch(state, Experience(places, played[0][0], jnp.float32(0.0)))
            for agent, state, places in zip(experiment.agents, learners, experiment.seating, strict=True)
        )
    return RunState(jnp.int32(0), key, learners, pool, tuple(tables))


def advance(experiment: Experiment, state: RunState, count: int) -> tuple[RunState, dict[str, Array]]:
    """`count` iterations, and their metrics with leaves [count]."""
    if not experiment.game.resumable:
        state = state._replace(tables=_tables_anew(experiment, state))
    return jax.lax.scan(lambda s, _: iterate(experiment, s), state, None, length=count)


def iterate(experiment: Experiment, state: RunState) -> tuple[RunState, dict[str, Array]]:
    """One iteration: play, learn, remember."""
    key = jax.random.fold_in(state.key, state.iteration)
    seat_key, play_key, learn_key = jax.random.split(key, 3)
    params = _params(experiment, state.learners)
    progress = state.iteration.astype(jnp.float32) / experiment.iterations
    metrics: dict[str, Array] = {}
    learners = list(state.learners)
    tables = []
    for table, learner in enumerate(_tables(experiment)):
        table_key = jax.random.fold_in(play_key, table)
        occupants, learning = _seat(
            experiment, state.pool, params, learner, jax.random.fold_in(seat_key, table)
        )
        played, after = rollout(experiment.game, occupants, state.tables[table], table_key, experiment.unroll)
        tables.append(after)
        metrics |= _play_metrics(experiment, played, learner, learning)
        for i in range(len(learners)) if experiment.matchmaker.joint else (learner,):
            agent = experiment.agents[i]
            if not agent.learns:
                continue
            seats = experiment.seating[i] if experiment.matchmaker.joint else learning
            experience = _experience(experiment, i, seats, played, progress, occupants)
            learners[i], report = agent.update(
                state.learners[i], experience, jax.random.fold_in(learn_key, i)
            )
            prefix = f"{_label(experiment, i)}/" if len(learners) > 1 else ""
            metrics |= {f"{prefix}{name}": value for name, value in report.items()}
    new_params = _params(experiment, tuple(learners))
    metrics["finite"] = _all_finite(new_params).astype(jnp.float32)
    pool = experiment.matchmaker.remember(state.pool, new_params, state.iteration)
    return RunState(state.iteration + 1, state.key, tuple(learners), pool, tuple(tables)), metrics


def players(experiment: Experiment, state: RunState) -> PerSeat[Player]:
    """The players that a run has trained so far, one per seat."""
    by_seat: list[Player | None] = [None] * len(experiment.game.seats)
    params = _params(experiment, state.learners)
    for agent, places, own in zip(experiment.agents, experiment.seating, params, strict=True):
        for seat in places:
            by_seat[seat] = Player(agent, own)
    return tuple(player for player in by_seat if player is not None)


def _at_random(experiment: Experiment, table: Table, key: Key) -> tuple[Trajectory, Table]:
    """The warm-up: all seats play at random, then the learners sit down with empty memories."""
    game = experiment.game
    drawn = tuple(
        Occupant((i,), Random(), lead(Random().init(key, seat))) for i, seat in enumerate(game.seats)
    )
    seated = table._replace(carry=((),) * len(game.seats))
    played, after = rollout(game, drawn, seated, key, experiment.warm_up)
    return played, after._replace(carry=table.carry)


def _tables(experiment: Experiment) -> list[int]:
    """The learners for which a rollout is played: one for all, or one each."""
    if experiment.matchmaker.joint:
        return [0]
    return [i for i, agent in enumerate(experiment.agents) if agent.learns]


def _tables_anew(experiment: Experiment, state: RunState) -> tuple[Table, ...]:
    """New episodes everywhere, from the iteration's key: what a run does that goes on in another process."""
    key = jax.random.fold_in(state.key, state.iteration)
    params = _params(experiment, state.learners)
    tables = []
    for i, (table, learner) in enumerate(zip(state.tables, _tables(experiment), strict=True)):
        seat_key, begin_key = jax.random.split(jax.random.fold_in(jax.random.fold_in(key, 1), i))
        occupants, _ = _seat(experiment, state.pool, params, learner, seat_key)
        tables.append(begin_again(experiment.game, occupants, table, begin_key))
    return tuple(tables)


def _params(experiment: Experiment, learners: tuple[PyTree, ...]) -> tuple[PyTree, ...]:
    return tuple(agent.params(state) for agent, state in zip(experiment.agents, learners, strict=True))


def _seat(
    experiment: Experiment, pool: PyTree, params: tuple[PyTree, ...], learner: int, key: Key
) -> tuple[tuple[Occupant, ...], tuple[int, ...]]:
    return experiment.matchmaker.seat(pool, experiment.agents, params, experiment.seating, learner, key)


def _experience(
    experiment: Experiment,
    learner: int,
    seats: tuple[int, ...],
    played: Trajectory,
    progress: Array,
    occupants: tuple[Occupant, ...],
) -> Experience:
    """What the learner may see, and nothing that it does not declare to need."""
    needs = experiment.agents[learner].needs
    others = simulate = None
    if "others" in needs:
        others = tuple(
            occupant.params
            for seat in range(len(experiment.game.seats))
            for occupant in occupants
            if seat in occupant.seats
        )
    if "simulate" in needs:
        by_seat = {seat: occupant.agent for occupant in occupants for seat in occupant.seats}
        agents = tuple(by_seat[seat] for seat in range(len(experiment.game.seats)))
        simulate = simulator(experiment.game, agents, experiment.batch, experiment.unroll)
    values = experiment.game.exact_values if "values" in needs else None
    return Experience(seats, played, progress, others, simulate, values)


def _play_metrics(
    experiment: Experiment, played: Trajectory, learner: int, learning: tuple[int, ...]
) -> dict[str, Array]:
    """Mean reward per step: overall for learners that share parameters, else seat by seat.

    Where the length of episodes varies, also how many ended.
    """
    rewards = [reward.mean() for reward in played.step.reward]
    if experiment.game.horizon is None:
        ends = (played.step.terminated | played.step.truncated).astype(jnp.float32)
        return _reward_metrics(experiment, rewards, learner, learning) | {"episodes": ends.sum()}
    return _reward_metrics(experiment, rewards, learner, learning)


def _reward_metrics(
    experiment: Experiment, rewards: list[Array], learner: int, learning: tuple[int, ...]
) -> dict[str, Array]:
    joint = experiment.matchmaker.joint
    if len(experiment.agents) == 1:
        own = jnp.stack([rewards[seat] for seat in (experiment.seating[0] if joint else learning)]).mean()
        if joint:
            return {"reward": own}
        others = [reward for seat, reward in enumerate(rewards) if seat not in learning]
        return {"reward": own, "opponents_reward": jnp.stack(others).mean()}
    if joint:
        return {f"reward/{seat.name}": r for seat, r in zip(experiment.game.seats, rewards, strict=True)}
    return {f"reward/{_label(experiment, learner)}": jnp.stack([rewards[seat] for seat in learning]).mean()}


def _label(experiment: Experiment, learner: int) -> str:
    """A name for a learner in metrics: that of its first seat."""
    return experiment.game.seats[experiment.seating[learner][0]].name


def _all_finite(tree: PyTree) -> Bool[Array, ""]:
    checks = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))]
    return jnp.all(jnp.stack(checks)) if checks else jnp.bool_(True)
