"""MAPPO: what its critic sees, and that seats which share parameters can be exchanged."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.agents.gradient.actor_critic import Scale
from comity.agents.gradient.mappo import IPPO, MAPPO, state_view, team_view
from comity.agents.streams import of_seats
from comity.core.errors import ComityError
from comity.core.types import Experience, Trajectory, as_numbers, with_everyone
from comity.nets.heads import ValueHead
from comity.nets.torsos import Network
from comity.play.matchmaking import current_occupants
from comity.play.rollout import begin, rollout
from comity.play.specs import make_game
from comity.train.experiment import make_experiment
from comity.train.loop import advance, start

SMALL = Network(kind="mlp", width=8)


def played(agent: MAPPO, name: str = "simple-spread") -> tuple[Any, Trajectory]:
    game = make_game(name, horizon=5)
    state = agent.init(jax.random.key(0), with_everyone(game, 0))
    occupants = current_occupants((agent,), (agent.params(state),), (tuple(range(len(game.seats))),))
    table = begin(game, occupants, 4, jax.random.key(1))
    return state, jax.jit(lambda t: rollout(game, occupants, t, jax.random.key(2), 8)[0])(table)


def test_the_critic_sees_everybody_with_itself_first() -> None:
    obs = tuple(jnp.full((2, 3, 1), float(seat)) for seat in range(3))
    seen = team_view(obs, (0, 2))
    assert [x[0, :, 0].tolist() for x in seen] == [[0, 0, 0, 2, 2, 2], [1, 1, 1, 0, 0, 0], [2, 2, 2, 1, 1, 1]]
    agent = MAPPO(network=SMALL, critic_network=SMALL)
    state, joint = played(agent)
    assert state.net.value_torso.layers[0].weight.shape[0] == 3 * joint.obs[0].shape[-1]
    assert state.net.policy.torso.layers[0].weight.shape[0] == joint.obs[0].shape[-1]


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
    scale = Scale.start()
    assert float(scale.spread) == 1.0
    draw = 50.0 + 4.0 * jax.random.normal(jax.random.key(0), (100, 100))
    for _ in range(3):
        scale = scale.after(draw, jnp.ones((100, 100)), 0.1)
    np.testing.assert_allclose([scale.middle, scale.spread], [50.0, 4.0], atol=0.1)
    np.testing.assert_allclose(scale.to_critic(scale.to_reward(jnp.float32(0.3))), 0.3, atol=1e-6)


def test_popart_keeps_what_the_head_says() -> None:
    head = ValueHead(5, jax.random.key(0))
    before = Scale.start().after(jnp.full((2, 2), 3.0), jnp.ones((2, 2)), 0.5)
    draw = 50.0 + 4.0 * jax.random.normal(jax.random.key(1), (20, 20))
    scale = before.after(draw, jnp.ones((20, 20)), 0.1)
    x = jax.random.normal(jax.random.key(2), (7, 5))
    said = before.to_reward(head(x))
    np.testing.assert_allclose(scale.to_reward(scale.rescaled(head, before)(x)), said, rtol=1e-4, atol=1e-3)
    assert np.abs(scale.to_reward(head(x)) - said).max() > 1.0


def test_with_one_seat_mappo_is_ppo_bit_by_bit() -> None:
    found = []
    for agent in (MAPPO(network=SMALL, critic_network=SMALL), IPPO(network=SMALL, critic_network=SMALL)):
        experiment = make_experiment(make_game("probe-choice"), agent, iterations=3, batch=8, unroll=4)
        found.append(jax.jit(lambda e=experiment: advance(e, start(e), 3))())
    for a, b in zip(jax.tree.leaves(found[0]), jax.tree.leaves(found[1]), strict=True):
        if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        np.testing.assert_array_equal(a, b)


def test_what_acts_has_no_critic() -> None:
    agent = MAPPO(network=SMALL, critic_network=SMALL)
    state, joint = played(agent)
    assert agent.params(state).value_torso is None
    assert not np.any(joint.extras[0].value)


def test_the_critic_may_see_the_games_state() -> None:
    wide = Network(kind="mlp", width=8, normalise=True)
    agent = MAPPO(network=SMALL, critic_network=wide, critic_sees="state")
    state, joint = played(agent)
    own, shown = joint.obs[0].shape[-1], as_numbers(joint.view, axes=2)
    assert state.net.value_torso.layers[0].weight.shape[0] == own + shown.shape[-1]
    obs, view = state_view(joint.obs, joint.view, (0, 2))
    np.testing.assert_array_equal(view[:, :4], shown)
    np.testing.assert_array_equal(view[:, 4:], shown)
    np.testing.assert_array_equal(obs[:, 4:], joint.obs[2])
    ended = np.asarray(joint.step.truncated)
    following = as_numbers(joint.next_view, axes=2)
    np.testing.assert_array_equal(np.asarray(following[:-1])[~ended[:-1]], np.asarray(shown[1:])[~ended[:-1]])
    assert not np.array_equal(np.asarray(following[:-1])[ended[:-1]], np.asarray(shown[1:])[ended[:-1]])
    experience = Experience((0, 1, 2), joint, jnp.float32(0.0))
    after, metrics = jax.jit(lambda s: agent.update(s, experience, jax.random.key(3)))(state)
    assert np.isfinite(metrics["value_loss"])
    assert agent.params(after).value_torso is None


def test_a_game_that_hides_its_state_is_named() -> None:
    seat = with_everyone(make_game("simple-spread"), 0)._replace(privileged=0)
    agent = MAPPO(network=SMALL, critic_network=SMALL, critic_sees="state")
    with pytest.raises(ComityError, match="critic_sees state"):
        agent.init(jax.random.key(0), seat)


@pytest.mark.parametrize("kind", ["mlp", "gru"])
def test_one_value_for_a_team_is_that_of_its_first_seat(kind: Any) -> None:
    """Computed once a game, it is what would come of showing every seat the first one's view."""
    network = Network(kind=kind, width=8, normalise=True)

    class Told(MAPPO):
        """Shows each seat the first one's view, and computes it for each."""

        def _look(self, obs: Any, view: Any, seats: tuple[int, ...]) -> Any:
            return team_view(obs, (seats[0],) * len(seats))

    found = []
    for kind_of_agent in (MAPPO, Told):
        agent = kind_of_agent(
            network=SMALL, critic_network=network, critic_sees="team", minibatches=1, epochs=2
        )
        state, joint = played(agent)
        experience = Experience((0, 1, 2), joint, jnp.float32(0.0))
        after, metrics = jax.jit(lambda s, a=agent, e=experience: a.update(s, e, jax.random.key(3)))(state)
        found.append((after.net, metrics))
        assert agent.seen(state, experience)[0].shape[1] == (4 if kind_of_agent is MAPPO else 12)
    count = found[0][0].value_torso.normaliser.count, found[1][0].value_torso.normaliser.count
    np.testing.assert_allclose(3 * count[0], count[1])
    once, each = (eqx.tree_at(lambda net: net.value_torso.normaliser.count, net, 0.0) for net, _ in found)
    for a, b in zip(jax.tree.leaves((once, found[0][1])), jax.tree.leaves((each, found[1][1])), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=2e-5)


def test_minibatches_of_a_team_are_whole_games() -> None:
    agent = MAPPO(network=SMALL, critic_network=SMALL, critic_sees="team", minibatches=2, epochs=1)
    state, joint = played(agent)
    experience = Experience((0, 1, 2), joint, jnp.float32(0.0))
    _, metrics = jax.jit(lambda s: agent.update(s, experience, jax.random.key(3)))(state)
    assert np.isfinite(metrics["loss"])
    assert of_seats(jnp.array([2, 0]), 12, 4).tolist() == [2, 0, 6, 4, 10, 8]
