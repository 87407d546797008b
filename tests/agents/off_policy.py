"""Small batches with known answers for learners of action values."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from comity.core.agent import Agent, Context
from comity.core.batch import TeamBatch, Trajectory
from comity.core.game import GameSpec, Seat, TimeStep
from comity.core.spaces import Box, Discrete

NON_MONOTONIC = np.array([[8.0, -12.0, -12.0], [-12.0, 0.0, 0.0], [-12.0, 0.0, 0.0]])
RISKY = np.array([[0.0, 1.0], [1.0, 8.0]])
TWO = (0, 1)


def spec_of(observations: int, actions: int) -> GameSpec:
    """Two seats that see one of some places and do one of some actions; the state is one number."""
    seats = tuple(Seat(f"player-{i}", Discrete(observations), Discrete(actions)) for i in range(2))
    return GameSpec(seats, Box((observations,)), None, "test", True)


def batch_of(
    place: Any, actions: Any, reward: Any, next_place: Any, terminated: Any, places: int
) -> TeamBatch:
    """Single steps of two seats that see the same and are paid the same: arrays [step], actions [step, 2]."""
    steps = len(place)

    def both(x: Any, dtype: Any) -> Array:
        return jnp.broadcast_to(jnp.asarray(x, dtype), (1, 2, steps))

    no, yes = jnp.zeros((1, 2, steps), jnp.bool_), jnp.ones((1, 2, steps), jnp.bool_)
    return TeamBatch(
        obs=both(place, jnp.int32),
        next_obs=both(next_place, jnp.int32),
        action=jnp.asarray(actions, jnp.int32).T[None],
        extras=(),
        bootstrap=(),
        reward=both(reward, jnp.float32),
        terminated=both(terminated, jnp.bool_),
        truncated=no,
        resets=no,
        alive=yes,
        acts=yes,
        next_acts=yes,
        carry=(),
        state=jax.nn.one_hot(jnp.asarray(place)[None], places, dtype=jnp.float32),
        next_state=jax.nn.one_hot(jnp.asarray(next_place)[None], places, dtype=jnp.float32),
        age=jnp.zeros(steps, jnp.int32),
        everyone=None,
        seats=TWO,
    )


def with_everyone(batch: TeamBatch) -> TeamBatch:
    """The batch with the trajectory of its two seats, for learners that look at the others."""

    def each(x: Any) -> Any:
        return x[:, 0], x[:, 1]

    nothing = ((), ())
    ends = batch.terminated[:, 0], batch.truncated[:, 0]
    step = TimeStep(each(batch.next_obs), each(batch.reward), *ends, each(batch.alive))
    joint = Trajectory(
        each(batch.obs), each(batch.alive), each(batch.action), nothing, nothing, step, nothing, batch.state,
        batch.next_state, batch.age,
    )  # fmt: skip
    return batch.replace(everyone=joint)


def matrix_game(payoffs: np.ndarray) -> TeamBatch:
    """Every joint action of a common payoff once: uniform play."""
    joint = np.array(list(np.ndindex(payoffs.shape)))
    count = len(joint)
    nothing = np.zeros(count, int)
    return batch_of(nothing, joint, payoffs.reshape(-1), nothing, np.ones(count, bool), 1)


def two_step() -> TeamBatch:
    """Every joint action in each of the three places of the two-step game once."""
    joint = np.array(list(np.ndindex(2, 2)))
    place = np.repeat([0, 1, 2], 4)
    actions = np.tile(joint, (3, 1))
    reward = np.concatenate([np.zeros(4), np.full(4, 7.0), RISKY.reshape(-1)])
    following = np.where(place == 0, 1 + actions[:, 0], place)
    return batch_of(place, actions, reward, following, place > 0, 3)


def learned(agent: Agent, batch: TeamBatch, spec: GameSpec, updates: int, seed: int = 0) -> Any:
    """The state after so many updates on one and the same batch."""
    state = agent.init(jax.random.key(seed), spec, TWO)

    @eqx.filter_jit
    def learn(state: Any, keys: Any) -> Any:
        def step(state: Any, key: Any) -> tuple[Any, None]:
            return agent.update(state, batch, Context(jnp.float32(0.0)), key)[0], None

        return jax.lax.scan(step, state, keys)[0]

    return learn(state, jax.random.split(jax.random.key(seed + 1), updates))
