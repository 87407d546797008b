"""Turn-based games: a seat that waits does not learn from it, and what it earns belongs to its last move."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from comity.agents.on_policy.a2c import A2C
from comity.agents.on_policy.acting import Extras
from comity.agents.on_policy.ppo import PPO
from comity.core.batch import TeamBatch, Trajectory, team_batch
from comity.core.game import TimeStep
from comity.learn.critic_values import CriticValues
from comity.learn.critics import Critic
from comity.learn.optimisers import Adam
from comity.play.specs import make_game
from tests.agents.shaped import NOW, TABLE, plain_learner, quick_jit

TURNS, GAMES = 4, 3
SPEC = make_game("prisoners-dilemma").spec


def trajectory(
    obs: Array, following: Array, action: Array, reward: Array, ended: Array, acts: Array, turns: bool
) -> Trajectory:
    """One seat's play, [time, game], by a policy that draws evenly."""
    time, games = obs.shape
    next_acts = jnp.concatenate([acts[1:], jnp.ones_like(acts[:1])])
    alive = jnp.ones_like(ended)
    even = jnp.full((time, games), jnp.log(0.5))
    extras = Extras(action, even, jnp.full((time, games, 2), 0.5), (), ())
    step = TimeStep(
        (following,), (reward,), ended, jnp.zeros_like(ended), (alive,), (next_acts,) if turns else ()
    )
    nothing = jnp.zeros((time, games))
    memory = TABLE.build(SPEC.seats[0].observation, jax.random.key(0)).initial_carries(games)
    return Trajectory(
        (obs,), (alive,), (action,), (extras,), ((memory, ()),), step, (extras,), nothing, nothing,
        jnp.zeros(games, jnp.int32), (acts,) if turns else (),
    )  # fmt: skip


def both_ways() -> tuple[TeamBatch, TeamBatch]:
    """The same play twice: each move followed by a step of waiting, and with the waiting merged away."""
    keys = jax.random.split(jax.random.key(0), 4)
    states = jax.random.randint(keys[0], (TURNS + 1, GAMES), 0, 4)
    action = jax.random.randint(keys[1], (TURNS, GAMES), 0, 2)
    reward = jax.random.normal(keys[2], (2 * TURNS, GAMES))
    over = jnp.zeros((TURNS, GAMES), jnp.bool_).at[1, 0].set(True)  # one game ends early
    waiting = jnp.full((TURNS, GAMES), 4, states.dtype)  # what is seen while waiting

    def woven(move: Array, wait: Array) -> Array:
        return jnp.stack([move, wait], axis=1).reshape(2 * TURNS, GAMES)

    yes, no = jnp.ones((TURNS, GAMES), jnp.bool_), jnp.zeros((TURNS, GAMES), jnp.bool_)
    long = trajectory(
        woven(states[:-1], waiting), woven(waiting, states[1:]), woven(action, jnp.zeros_like(action)),
        reward, woven(no, over), woven(yes, no), True,
    )  # fmt: skip
    merged = reward.reshape(TURNS, 2, GAMES).sum(axis=1)
    short = trajectory(states[:-1], states[1:], action, merged, over, yes, False)
    return team_batch(long, (0,)), team_batch(short, (0,))


def values(learner: A2C, batch: TeamBatch) -> tuple[CriticValues, Array]:
    state = learner.init(jax.random.key(1), SPEC, (0,))
    read = learner.critic_batch(state, batch)
    said = learner.values(state.critic, state.policy, read)
    return said, learner.critic.advantages(said, read, 0, learner.discount, learner.gae_lambda)


def test_what_is_earned_while_waiting_belongs_to_the_last_move() -> None:
    learner = plain_learner(A2C, critic=Critic(network=TABLE, td_lambda=0.9))
    long, short = both_ways()
    (said, waited), (plain, merged) = (values(learner, batch) for batch in (long, short))
    np.testing.assert_allclose(waited[::2], merged, rtol=1e-4, atol=1e-5)
    assert np.abs(merged).max() > 0.1
    # The critic's targets of moves are the same too.
    state = learner.init(jax.random.key(1), SPEC, (0,))
    targets = [
        learner.critic.targets(x, x, learner.critic_batch(state, batch), learner.discount).chosen
        for x, batch in ((said, long), (plain, short))
    ]
    np.testing.assert_allclose(targets[0][::2], targets[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [A2C, PPO])
def test_the_policy_learns_from_moves_only(kind: type[A2C] | type[PPO]) -> None:
    """With the critic apart, the policy after an update is that of the game without the waiting."""
    settings = {"epochs": 1, "minibatches": 1} if kind is PPO else {}
    critic = Critic(network=TABLE, learning_rate=1e-2)
    learner = plain_learner(
        kind, critic=critic, entropy_coef=0.1, optimiser=Adam(max_grad_norm=0.0),
        normalise_advantages="batch", **settings,
    )  # fmt: skip
    state = learner.init(jax.random.key(1), SPEC, (0,))
    learn = quick_jit(lambda batch: learner.update(state, batch, NOW, jax.random.key(2))[0].policy)
    long, short = (learn(batch) for batch in both_ways())
    np.testing.assert_allclose(long.head.linear.weight, short.head.linear.weight, rtol=1e-4, atol=1e-6)
    assert np.abs(long.head.linear.weight - state.policy.head.linear.weight).max() > 1e-4
    # What was seen while waiting changed nothing.
    np.testing.assert_array_equal(long.head.linear.weight[4], state.policy.head.linear.weight[4])
