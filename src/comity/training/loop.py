"""The jitted training loop: rollouts, memories, updates and opponents for many iterations in one call."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.scripted.base import Random
from comity.core.agent import Agent, Context, Metrics, Player, add_group_axis
from comity.core.batch import TeamBatch, Trajectory, team_batch
from comity.core.game import PerSeat
from comity.core.matchmaker import Lineup, Occupant, Team
from comity.core.memory import PRIORITIES
from comity.play.outcomes import mean_outcomes, outcome_metrics
from comity.play.rollout import EnvBatch, reset, reset_done, rollout, simulator
from comity.training.experiment import Experiment
from comity.training.metrics import UPDATES
from comity.training.play_metrics import Returns, measure_play, no_returns, play_metrics


class RunState(NamedTuple):
    """All that a run is: saved whole, and enough to go on bit by bit.

    `learners`, `memories` and `tuned` have one entry per team, `envs` and `returns` one per lineup. `tuned`
    are the settings that may change during the run, by name; they stand in for those of the experiment.
    `returns` is what each seat has earned so far in the episodes under way.
    """

    iteration: Int[Array, ""]
    key: Key
    learners: tuple[PyTree, ...]
    memories: tuple[PyTree, ...]
    pool: PyTree
    envs: tuple[EnvBatch, ...]
    returns: tuple[Returns, ...]
    tuned: tuple[dict[str, Float[Array, ""]], ...]


def start(
    experiment: Experiment,
    seed: Array | int | None = None,
    policies: tuple[PyTree | None, ...] | None = None,
) -> RunState:
    """The state before the first iteration.

    `seed` stands in for the experiment's own, `policies`, one per team, for those that agents begin with.
    """
    seed = experiment.seed if seed is None else seed
    key, learner_key, env_key = jax.random.split(jax.random.key(seed), 3)
    spec = experiment.game.spec
    learners = tuple(
        agent.init(jax.random.fold_in(learner_key, i), spec, seats)
        for i, (agent, seats) in enumerate(zip(experiment.agents, experiment.seating, strict=True))
    )
    if policies is not None:
        given = zip(experiment.agents, learners, policies, strict=True)
        learners = tuple(state if own is None else adopt(agent, state, own) for agent, state, own in given)
    pool = experiment.matchmaker.init(_policies(experiment, learners))
    lineups = _lineups(experiment, learners, pool, jax.random.fold_in(key, 0), jnp.float32(0.0))
    envs = [
        reset(experiment.game, lineup.occupants, experiment.batch, jax.random.fold_in(env_key, number))
        for number, lineup in enumerate(lineups)
    ]
    returns = [no_returns(experiment) for _ in envs]
    if experiment.warm_up:
        learners, envs, returns = _warm_up(
            experiment, lineups, learners, envs, jax.random.fold_in(env_key, len(envs))
        )
    learners, memories = _fit(experiment, lineups, learners, tuple(envs))
    return RunState(
        jnp.int32(0), key, learners, memories, pool, tuple(envs), tuple(returns), experiment.tuned()
    )


def adopt(agent: Agent, state: PyTree, policy: PyTree) -> PyTree:
    """A learner's new state with another policy, wherever its parameters stand in it (as in slow copies)."""
    before, after = jax.tree.leaves(agent.policy(state)), jax.tree.leaves(policy)
    given = {id(old): new for old, new in zip(before, after, strict=True)}
    return jax.tree.map(lambda leaf: given.get(id(leaf), leaf), state)


def advance(experiment: Experiment, state: RunState, count: int) -> tuple[RunState, Metrics]:
    """`count` iterations, and their metrics with leaves [count]."""
    experiment = experiment.with_tuned(state.tuned)
    if not experiment.game.resumable:
        nothing = tuple(no_returns(experiment) for _ in state.envs)
        state = state._replace(envs=_new_episodes(experiment, state), returns=nothing)
    return jax.lax.scan(lambda s, _: iterate(experiment, s), state, None, length=count)


def iterate(experiment: Experiment, state: RunState) -> tuple[RunState, Metrics]:
    """One iteration: play, learn, remember."""
    key = jax.random.fold_in(state.key, state.iteration)
    match_key, play_key, learn_key = jax.random.split(key, 3)
    progress = _progress(experiment, state)
    teams = _teams(experiment, state.learners, progress)
    lineups = experiment.matchmaker.lineups(state.pool, teams, match_key)
    metrics: Metrics = {}
    learners, memories, envs, measured = list(state.learners), list(state.memories), [], []
    trajectories: list[Trajectory] = []
    outcomes: list[Metrics] = []
    for number, lineup in enumerate(lineups):
        played, after = rollout(
            experiment.game, lineup.occupants, state.envs[number], jax.random.fold_in(play_key, number),
            experiment.unroll,
        )  # fmt: skip
        envs.append(after)
        trajectories.append(played)
        measured.append(measure_play(played, state.returns[number]))
        learning = tuple(seat for _, own in lineup.learning for seat in own)
        outcomes.append(outcome_metrics(experiment.game, played, learning))
        for i, seats in lineup.learning:
            agent = experiment.agents[i]
            batch = team_batch(played, seats)
            if not agent.memory.transient and _learns_elsewhere(i, lineups):
                # In its memory this rollout does not go on where the one before it ended.
                batch = batch.replace(resets=batch.resets.at[0].set(True))
            context = _context(experiment, agent, progress, lineup)
            learners[i], memories[i], report = _learn(
                agent, learners[i], memories[i], batch, context, _learner_key(learn_key, i, number, lineups)
            )
            prefix = f"{experiment.game.seats[experiment.seating[i][0]].name}/" if len(learners) > 1 else ""
            metrics |= {f"{prefix}{name}": value for name, value in report.items()}
    metrics = {**play_metrics(experiment, lineups, measured), **mean_outcomes(outcomes), **metrics}
    policies = _policies(experiment, tuple(learners))
    metrics["finite"] = _all_finite(policies).astype(jnp.float32)
    pool = experiment.matchmaker.observe(state.pool, lineups, teams, tuple(trajectories))
    metrics |= experiment.matchmaker.metrics(pool)
    pool = experiment.matchmaker.remember(pool, policies, state.iteration)
    after_state = RunState(
        state.iteration + 1, state.key, tuple(learners), tuple(memories), pool, tuple(envs),
        tuple(play.returns for play in measured), state.tuned,
    )  # fmt: skip
    return after_state, metrics


def _learner_key(key: Key, learner: int, number: int, lineups: tuple[Lineup, ...]) -> Key:
    """The key of a learner's update; one that learns from several lineups draws anew in each."""
    own = jax.random.fold_in(key, learner)
    earlier = [i for lineup in lineups[:number] for i, _ in lineup.learning]
    return jax.random.fold_in(own, number) if learner in earlier else own


def _learns_elsewhere(learner: int, lineups: tuple[Lineup, ...]) -> bool:
    """Whether a team learns from more than one rollout of an iteration."""
    return sum(i == learner for lineup in lineups for i, _ in lineup.learning) > 1


def players(experiment: Experiment, state: RunState) -> PerSeat[Player]:
    """The players that a run has trained so far, one per seat."""
    by_seat: list[Player | None] = [None] * len(experiment.game.seats)
    policies = _policies(experiment, state.learners)
    spec = experiment.game.spec
    for agent, places, own in zip(experiment.agents, experiment.seating, policies, strict=True):
        for seat in places:
            by_seat[seat] = Player(agent, own, spec, seat)
    return tuple(player for player in by_seat if player is not None)


def _learn(
    agent: Agent, state: PyTree, memory: PyTree, batch: TeamBatch, context: Context, key: Key
) -> tuple[PyTree, PyTree, Metrics]:
    """The learner and its memory after a rollout, with as many updates as the memory asks for.

    With a memory that is not ready at once, the metric `updates` says how many there were; where there were
    none, the other metrics are not a number (see `comity.training.metrics`).
    """
    store = agent.memory
    memory = store.add(memory, batch)
    ready = store.ready(memory)
    if store.updates == 1 and ready is True:
        state, metrics = agent.update(state, store.sample(memory, key), context, key)
        return state, store.keep(memory), metrics

    def update(learner: tuple[PyTree, PyTree], key: Key) -> tuple[tuple[PyTree, PyTree], Metrics]:
        state, memory = learner
        sample_key, update_key = jax.random.split(key)
        sampled = store.sample(memory, sample_key)
        state, metrics = agent.update(state, sampled, context, update_key)
        if PRIORITIES in metrics:
            memory = store.prioritise(memory, sampled, metrics.pop(PRIORITIES))
        return (state, memory), {name: value.astype(jnp.float32) for name, value in metrics.items()}

    keys = jax.random.split(key, store.updates)
    shapes = jax.eval_shape(update, (state, memory), keys[0])[1]
    nothing = jax.tree.map(lambda x: jnp.full(x.shape, jnp.nan, x.dtype), shapes)

    def maybe(learner: tuple[PyTree, PyTree], key: Key) -> tuple[tuple[PyTree, PyTree], Metrics]:
        return jax.lax.cond(ready, update, lambda learner, _: (learner, nothing), learner, key)

    (state, memory), metrics = jax.lax.scan(maybe, (state, memory), keys)
    made = jnp.where(ready, jnp.float32(store.updates), jnp.float32(0.0))
    means = jax.tree.map(lambda x: x.mean(axis=0), metrics)
    return state, store.keep(memory), {**means, UPDATES: made}


def _warm_up(
    experiment: Experiment,
    lineups: tuple[Lineup, ...],
    learners: tuple[PyTree, ...],
    envs: list[EnvBatch],
    key: Key,
) -> tuple[tuple[PyTree, ...], list[EnvBatch], list[Returns]]:
    """All seats play at random; each learner observes its own rollout, then sits down with empty memories."""
    game, spec = experiment.game, experiment.game.spec
    states = list(learners)
    after_all, returns = [], []
    for number, (lineup, before) in enumerate(zip(lineups, envs, strict=True)):
        own_key = jax.random.fold_in(key, number)
        at_random = tuple(
            Occupant((i,), Random(), add_group_axis(Random().init(own_key, spec, (i,))))
            for i in range(len(game.seats))
        )
        seated = before._replace(carry=((),) * len(game.seats))
        played, after = rollout(game, at_random, seated, own_key, experiment.warm_up)
        after_all.append(after._replace(carry=before.carry))
        returns.append(measure_play(played, no_returns(experiment)).returns)
        for i, seats in lineup.learning:
            states[i] = experiment.agents[i].observe(states[i], team_batch(played, seats))
    return tuple(states), after_all, returns


def _fit(
    experiment: Experiment,
    lineups: tuple[Lineup, ...],
    learners: tuple[PyTree, ...],
    envs: tuple[EnvBatch, ...],
) -> tuple[tuple[PyTree, ...], tuple[PyTree, ...]]:
    """Learners and their memories, made for what they will be given; teams that do not learn have none."""
    states, memories = list(learners), [()] * len(experiment.agents)
    for lineup, env in zip(lineups, envs, strict=True):
        for i, seats in lineup.learning:
            agent = experiment.agents[i]
            if agent.memory.transient and type(agent).fit is Agent.fit:
                continue  # tracing a rollout only for its shapes would make every start slower

            def play(env: EnvBatch, lineup: Lineup = lineup, seats: tuple[int, ...] = seats) -> TeamBatch:
                played = rollout(experiment.game, lineup.occupants, env, jax.random.key(0), experiment.unroll)
                return team_batch(played[0], seats)

            shapes = jax.eval_shape(play, env)
            memories[i] = agent.memory.init(shapes)
            states[i] = agent.fit(states[i], shapes)
    return tuple(states), tuple(memories)


def _new_episodes(experiment: Experiment, state: RunState) -> tuple[EnvBatch, ...]:
    """New episodes everywhere, from the iteration's key: what a run does that goes on in another process."""
    key = jax.random.fold_in(jax.random.fold_in(state.key, state.iteration), 1)
    match_key, reset_key = jax.random.split(key)
    progress = _progress(experiment, state)
    lineups = _lineups(experiment, state.learners, state.pool, match_key, progress)
    return tuple(
        reset_done(experiment.game, lineup.occupants, env, jax.random.fold_in(reset_key, number))
        for number, (lineup, env) in enumerate(zip(lineups, state.envs, strict=True))
    )


def _progress(experiment: Experiment, state: RunState) -> Float[Array, ""]:
    return jnp.minimum(state.iteration.astype(jnp.float32) / experiment.schedule_length, 1.0)


def _policies(experiment: Experiment, learners: tuple[PyTree, ...]) -> tuple[PyTree, ...]:
    return tuple(agent.policy(state) for agent, state in zip(experiment.agents, learners, strict=True))


def lineups_of(experiment: Experiment, state: RunState) -> tuple[Lineup, ...]:
    """The rollouts of an iteration from a state, whose shapes are those of any other."""
    return _lineups(experiment, state.learners, state.pool, state.key, _progress(experiment, state))


def _lineups(
    experiment: Experiment, learners: tuple[PyTree, ...], pool: PyTree, key: Key, progress: Array
) -> tuple[Lineup, ...]:
    return experiment.matchmaker.lineups(pool, _teams(experiment, learners, progress), key)


def _teams(experiment: Experiment, learners: tuple[PyTree, ...], progress: Array) -> tuple[Team, ...]:
    spec = experiment.game.spec
    return tuple(
        Team(seats, agent, agent.policy(state), agent.behaviour(state, progress), spec)
        for seats, agent, state in zip(experiment.seating, experiment.agents, learners, strict=True)
    )


def _context(experiment: Experiment, agent: Agent, progress: Array, lineup: Lineup) -> Context:
    """What the learner may see beyond its batch, and nothing that it does not declare to need."""
    by_seat = {seat: occupant for occupant in lineup.occupants for seat in occupant.seats}
    everyone = [by_seat[seat] for seat in range(len(by_seat))]
    needs = agent.needs
    simulate = None
    if "simulate" in needs:
        agents = tuple(occupant.agent for occupant in everyone)
        simulate = simulator(experiment.game, agents, experiment.batch, experiment.unroll)
    return Context(
        progress,
        others=tuple(occupant.params for occupant in everyone) if "others" in needs else None,
        simulate=simulate,
        values=experiment.game.exact_returns if "values" in needs else None,
    )


def _all_finite(tree: PyTree) -> Bool[Array, ""]:
    checks = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))]
    return jnp.all(jnp.stack(checks)) if checks else jnp.bool_(True)
