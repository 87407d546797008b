"""MAPPO: what its critic sees, and that seats which share parameters can be exchanged."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from comity.agents.gradient.mappo import MAPPO, Scale, team_view
from comity.core.types import Experience, Trajectory, with_everyone
from comity.nets.torsos import Network
from comity.play.matchmaking import current_occupants
from comity.play.rollout import begin, rollout
from comity.play.specs import make_game

SMALL = Network(kind="mlp", width=8)


def played(agent: MAPPO, name: str = "simple-spread") -> tuple[Any, Trajectory]:
    game = make_game(name, horizon=5)
    state = agent.init(jax.random.key(0), with_everyone(game.seats, 0))
    occupants = current_occupants((agent,), (agent.params(state),), (tuple(range(len(game.seats))),))
    table = begin(game, occupants, 4, jax.random.key(1))
    return state, jax.jit(lambda t: rollout(game, occupants, t, jax.random.key(2), 8)[0])(table)


def test_the_critic_sees_everybody_with_itself_first() -> None:
    obs = tuple(jnp.full((2, 3, 1), float(seat)) for seat in range(3))
    seen = team_view(obs, (0, 2))
    assert [x[0, :, 0].tolist() for x in seen] == [[0, 0, 0, 2, 2, 2], [1, 1, 1, 0, 0, 0], [2, 2, 2, 1, 1, 1]]
    agent = MAPPO(network=SMALL, critic_network=SMALL)
    state, joint = played(agent)
    assert state.critic.torso.layers[0].weight.shape[0] == 3 * joint.obs[0].shape[-1]
    assert state.policy.torso.layers[0].weight.shape[0] == joint.obs[0].shape[-1]


def test_seats_that_share_parameters_can_be_exchanged() -> None:
    agent = MAPPO(network=SMALL, critic_network=SMALL, minibatches=1, epochs=2)
    state, joint = played(agent)

    def turned(x: Any) -> Any:
        return x[1:] + x[:1]

    step = joint.step._replace(
        obs=turned(joint.step.obs), reward=turned(joint.step.reward), alive=turned(joint.step.alive)
    )
    other = joint._replace(
        obs=turned(joint.obs), alive=turned(joint.alive), action=turned(joint.action),
        extras=turned(joint.extras), carry=turned(joint.carry), successor=turned(joint.successor), step=step,
    )  # fmt: skip
    learn = jax.jit(
        lambda j: agent.update(state, Experience((0, 1, 2), j, jnp.float32(0.0)), jax.random.key(3))[0]
    )
    for a, b in zip(jax.tree.leaves(learn(joint)), jax.tree.leaves(learn(other)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_values_are_learned_in_units_of_their_spread() -> None:
    zero = jnp.float32(0.0)
    scale = Scale(zero, zero, zero)
    assert float(scale.spread) == 1.0
    draw = 50.0 + 4.0 * jax.random.normal(jax.random.key(0), (100, 100))
    for _ in range(3):
        scale = scale.after(draw, jnp.ones((100, 100)), 0.1)
    np.testing.assert_allclose([scale.middle, scale.spread], [50.0, 4.0], atol=0.1)
