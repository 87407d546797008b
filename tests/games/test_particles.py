"""The multi-particle games beside MPE2: the same state and the same actions give the same episode."""

import importlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.core.errors import ComityError
from comity.core.game import Environment
from comity.core.spaces import Discrete
from comity.games.particles.physics import ParticleState
from comity.play.specs import make_game

GAMES = {
    "simple-spread": "simple_spread_v3",
    "simple-reference": "simple_reference_v3",
    "simple-speaker-listener": "simple_speaker_listener_v4",
    "simple-tag": "simple_tag_v3",
    "simple-adversary": "simple_adversary_v3",
    "simple-push": "simple_push_v3",
    "simple-world-comm": "simple_world_comm_v3",
    "simple-crypto": "simple_crypto_v3",
}
STEPS = 25


def original(name: str, **settings: Any) -> Any:
    module = importlib.import_module(f"mpe2.{GAMES[name]}")
    return module.parallel_env(max_cycles=STEPS, **settings)


def goals_of(name: str, world: Any) -> list[int]:
    """What MPE2 drew at the start, as numbers of landmarks."""
    place = {id(landmark): i for i, landmark in enumerate(world.landmarks)}
    if name == "simple-reference":
        return [place[id(agent.goal_b)] for agent in world.agents]
    if name == "simple-speaker-listener":
        return [place[id(world.agents[0].goal_b)]]
    if name in ("simple-adversary", "simple-push"):
        return [place[id(world.agents[0].goal_a)]]
    if name == "simple-crypto":
        return [int(np.argmax(world.agents[0].goal_a.color)), int(np.argmax(world.agents[2].key))]
    return []


def state_of(name: str, game: Any, env: Any) -> ParticleState:
    world = env.unwrapped.world
    return ParticleState(
        jnp.asarray([body.state.p_pos for body in world.entities]),
        jnp.asarray([agent.state.p_vel for agent in world.agents]),
        jnp.asarray([agent.state.c for agent in world.agents]),
        jnp.asarray(goals_of(name, world), jnp.int32),
        jnp.int32(0),
    )


@pytest.mark.parametrize("continuous", [False, True], ids=["choices", "forces"])
@pytest.mark.parametrize("name", GAMES)
def test_whole_episodes_equal_mpe2(name: str, continuous: bool) -> None:
    env = original(name, continuous_actions=continuous)
    with jax.enable_x64(True):
        game: Any = make_game(name, continuous=continuous)
        step = jax.jit(game.step)
        draw = np.random.default_rng(7)
        for seed in range(4):
            seen, _ = env.reset(seed=seed)
            state = state_of(name, game, env)
            first = game.observe(state)
            for i, agent in enumerate(env.possible_agents):
                np.testing.assert_allclose(first[i], seen[agent], atol=1e-6)
            before: dict[str, Any] = {}
            for time in range(STEPS):
                actions = {agent: env.action_space(agent).sample() for agent in env.agents}
                if continuous:
                    actions = {a: draw.uniform(0, 1, x.shape) for a, x in actions.items()}
                else:
                    # Agents that walk one way for a while meet each other, and the obstacles.
                    actions = {
                        a: draw.integers(env.action_space(a).n) if time % 4 == 0 else before[a]
                        for a in actions
                    }
                before = dict(actions)
                played = tuple(jnp.asarray(actions[a]) for a in env.possible_agents)
                seen, rewards, _, truncated, _ = env.step(actions)
                state, answer = step(jax.random.key(0), state, played)
                positions = [body.state.p_pos for body in env.unwrapped.world.entities]
                np.testing.assert_allclose(state.position, positions, atol=1e-5)
                for i, agent in enumerate(env.possible_agents):
                    np.testing.assert_allclose(answer.obs[i], seen[agent], atol=1e-5)
                    np.testing.assert_allclose(answer.reward[i], rewards[agent], atol=1e-5)
                assert bool(answer.truncated) == all(truncated.values()) == (time == STEPS - 1)


@pytest.mark.parametrize("name", GAMES)
def test_seats_have_the_names_and_spaces_of_mpe2(name: str) -> None:
    env, game = original(name), make_game(name)
    assert [seat.name for seat in game.seats] == env.possible_agents
    for seat in game.seats:
        space = env.observation_space(seat.name)
        assert seat.observation.shape == space.shape  # type: ignore[union-attr]
        assert isinstance(seat.action, Discrete)
        assert seat.action.n == env.action_space(seat.name).n


def random_return(game: Environment, episodes: int) -> np.ndarray:
    """Mean over episodes of the sum of rewards of each seat, everybody acting at random."""

    def episode(key: jax.Array) -> jax.Array:
        def step(state: Any, step_key: jax.Array) -> tuple[Any, jax.Array]:
            keys = jax.random.split(step_key, len(game.seats) + 1)
            actions = tuple(
                jax.random.randint(k, (), 0, seat.action.n)  # type: ignore[union-attr]
                for k, seat in zip(keys[1:], game.seats, strict=True)
            )
            state, answer = game.step(keys[0], state, actions)
            return state, jnp.stack(answer.reward)

        start, play = jax.random.split(key)
        return jax.lax.scan(step, game.reset(start)[0], jax.random.split(play, STEPS))[1].sum(axis=0)

    totals = jax.jit(jax.vmap(episode))(jax.random.split(jax.random.key(0), episodes))
    return np.asarray(totals.mean(axis=0))


def test_random_play_has_the_known_returns() -> None:
    """Measured on MPE2 1.1.1: spread -79.9 +- .5 in all (older convention -235), listener -40.1 +- .5."""
    spread = random_return(make_game("simple-spread"), 4000).sum()
    np.testing.assert_allclose(spread, -79.9, atol=3.0)
    np.testing.assert_allclose(2 * spread - 75, -235, atol=6.0)
    np.testing.assert_allclose(random_return(make_game("simple-speaker-listener"), 4000), -40.1, atol=2.5)
    tag = random_return(make_game("simple-tag"), 4000)
    np.testing.assert_allclose(tag[:3], 4.1, atol=1.0)
    np.testing.assert_allclose(tag[3], -16.7, atol=2.0)


def test_each_game_names_what_it_cannot_be() -> None:
    with pytest.raises(ComityError, match="local_ratio"):
        make_game("simple-spread", local_ratio=2.0)
    with pytest.raises(ComityError, match="adversaries"):
        make_game("simple-tag", adversaries=0)
