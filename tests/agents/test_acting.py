"""How actor-critics act: the most likely action, what is saved, and memories that last over rollouts."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.agents.on_policy.ppo import PPO
from comity.agents.shaping.opponent_values import Given
from comity.core.agent import add_group_axis
from comity.core.batch import TeamBatch, Trajectory, team_batch
from comity.core.matchmaker import Occupant
from comity.learn.critic_values import CriticValues
from comity.learn.critics import Critic
from comity.nets import GRU, MLP
from comity.play.rollout import reset, rollout
from comity.play.specs import make_game
from tests.agents.shaped import plain, shaken, shaken_critic

NOW = jnp.float32(0.0)


@pytest.mark.long
@pytest.mark.parametrize("game", ["prisoners-dilemma", "probe-target"])
def test_the_most_likely_action_is_the_mode(game: str) -> None:
    agent = PPO(network=MLP(width=8), critic=Critic(network=MLP(width=8)))
    env = make_game(game)
    state = agent.init(jax.random.key(0), env.spec, (0,))
    params = agent.policy(state._replace(policy=shaken(state.policy, 1, 0.2)))
    carry = agent.initial_carry(params)
    obs = env.reset(jax.random.key(2))[1][0]
    _, distribution = params.policy.step(carry[0], obs)
    keys = jax.random.split(jax.random.key(3), 20)
    likely = jax.vmap(lambda key: agent.most_likely(params, carry, obs, key).action)(keys)
    mode = params.policy.head.shape_action(distribution.action(distribution.mode()))
    for action in likely:
        np.testing.assert_array_equal(action, mode)
    drawn = jax.vmap(lambda key: agent.act(params, carry, obs, key).action)(keys)
    assert len(np.unique(np.asarray(drawn))) > 1


def test_critics_play_along_only_while_learning_and_only_where_it_serves() -> None:
    spec = make_game("prisoners-dilemma").spec
    for critic, along in (
        (Critic(network=GRU(width=4)), True),
        (Critic(network=GRU(width=4), persistent=False), False),
        (Critic(network=MLP(width=4)), False),
        (Critic(shared=True), True),  # its value costs nothing while acting
    ):
        agent = PPO(network=GRU(width=4), critic=critic)
        state = agent.init(jax.random.key(0), spec, (0,))
        assert (agent.behaviour(state, NOW).critic is not None) == along
        assert agent.policy(state).critic is None
    # Values that are given to others are part of what is saved.
    giving = plain(opponent_values=Given())
    state = giving.init(jax.random.key(0), spec, (0,))
    assert giving.policy(state).critic is not None


@pytest.mark.long
@pytest.mark.parametrize("persistent", [True, False])
def test_a_critics_memory_lasts_over_rollouts(persistent: bool) -> None:
    """Rollouts of 3 steps in an episode of 9 are valued as one of 9, where the memory is kept."""
    game = make_game("prisoners-dilemma", horizon=9)
    agent = PPO(network=MLP(width=4), critic=Critic(network=GRU(width=4), persistent=persistent))
    state = agent.init(jax.random.key(0), game.spec, (0, 1))
    state = state._replace(critic=shaken_critic(state.critic, 2))
    occupants = (Occupant((0, 1), agent, add_group_axis(agent.behaviour(state, NOW))),)

    def says(batch: TeamBatch) -> CriticValues:
        return agent.values(state.critic, state.policy, agent.critic_batch(state, batch))

    envs = reset(game, occupants, 2, jax.random.key(1))
    parts: list[Trajectory] = []
    for i in range(3):
        part, envs = rollout(game, occupants, envs, jax.random.key(10 + i), 3)
        parts.append(part)
    starts: dict[str, Any] = {"carry": parts[0].carry, "age": parts[0].age}
    steps = [{n: x for n, x in part._asdict().items() if n not in starts} for part in parts]
    whole = Trajectory(**jax.tree.map(lambda *x: jnp.concatenate(x), *steps), **starts)
    long = says(team_batch(whole, (0, 1)))
    short = [says(team_batch(part, (0, 1))) for part in parts]
    joined: CriticValues = jax.tree.map(lambda *x: jnp.concatenate(x), *short)
    np.testing.assert_allclose(joined.value[:3], long.value[:3], rtol=1e-4, atol=1e-5)
    same = np.allclose(joined.value, long.value, rtol=1e-4, atol=1e-5)
    assert same == persistent
    assert np.allclose(joined.next_value, long.next_value, rtol=1e-4, atol=1e-5) == persistent
