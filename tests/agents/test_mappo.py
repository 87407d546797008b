"""MAPPO: what its critic sees, and that seats which share parameters can be exchanged."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.agents.on_policy.mappo import IPPO, MAPPO
from comity.core.agent import Context, add_group_axis
from comity.core.batch import TeamBatch, Trajectory, team_batch
from comity.core.errors import ComityError
from comity.core.game import as_numbers
from comity.core.matchmaker import Occupant
from comity.learn.critics import Critic
from comity.learn.statistics import ReturnNorm
from comity.learn.views import Joint, Own, State, Team, View
from comity.nets import GRU, MLP, Inputs
from comity.nets.network import Network
from comity.play.rollout import reset, rollout
from comity.play.specs import make_game
from comity.training.experiment import make_experiment
from comity.training.loop import advance, start

SMALL = MLP(width=8)
NOW = Context(jnp.float32(0.0))
VIEWS = {"own": Own(), "joint": Joint(), "team": Team(), "state": State()}


def values(view: str, network: Network = SMALL) -> Critic:
    """The critic of MAPPO with another view and network."""
    norm = ReturnNorm(return_ema=0.01)
    return Critic(network=network, view=VIEWS[view], value_coef=1.0, value_clip=0.2, norm=norm)


def played(agent: MAPPO, name: str = "simple-spread") -> tuple[Any, Trajectory]:
    game = make_game(name, horizon=5)
    seats = tuple(range(len(game.seats)))

    def run() -> tuple[Any, Trajectory]:
        state = agent.init(jax.random.key(0), game.spec, seats)
        occupants = (Occupant(seats, agent, add_group_axis(agent.behaviour(state, jnp.float32(0.0)))),)
        envs = reset(game, occupants, 4, jax.random.key(1))
        return state, rollout(game, occupants, envs, jax.random.key(2), 8)[0]

    found: tuple[Any, Trajectory] = jax.jit(run)()
    return found


def seen(view: View, obs: tuple[Any, ...], seats: tuple[int, ...]) -> Any:
    """What a view shows of made-up observations of all seats."""
    _, joint = played(MAPPO(network=SMALL, critic=values("joint")))
    return view.read(team_batch(joint._replace(obs=obs), seats))


def test_the_critic_sees_everybody_with_itself_first() -> None:
    obs = tuple(jnp.full((8, 4, 1), float(seat)) for seat in range(3))
    shown = seen(Joint(), obs, (0, 2))  # itself, its team after it, then the others
    assert [x[0, :, 0, 0].tolist() for x in shown] == [[0, 2], [2, 0], [1, 1]]
    once = seen(Team(), obs, (0, 2))
    assert [x[0, :, 0, 0].tolist() for x in once] == [[0], [2], [1]]
    agent = MAPPO(network=SMALL, critic=values("joint"))
    state, joint = played(agent)
    assert state.critic.torso.layers[0].weight.shape[0] == 3 * joint.obs[0].shape[-1]
    assert state.policy.torso.layers[0].weight.shape[0] == joint.obs[0].shape[-1]


def test_unlike_seats_are_seen_in_one_order_of_shapes() -> None:
    """A team in seats that are alike, beside others that are not: each place has one shape for all of it."""
    game = make_game("probe-odd-seats")
    spec = game.spec
    team = (0, 2) if spec.seats[0].observation == spec.seats[2].observation else (0,)
    for seat in team:
        order = spec.order(seat, team)
        assert sorted(order) == [0, 1, 2]
        assert order[0] == seat
        places = tuple(spec.seats[i].observation for i in order)
        assert places == Joint().space(spec, team)


def test_seats_that_share_parameters_can_be_exchanged() -> None:
    agent = MAPPO(network=SMALL, critic=values("joint"), minibatches=1, epochs=2)
    state, joint = played(agent)

    def turned(x: Any) -> Any:
        return x[1:] + x[:1]

    step = joint.step._replace(
        obs=turned(joint.step.obs), reward=turned(joint.step.reward), alive=turned(joint.step.alive)
    )
    other = joint._replace(
        obs=turned(joint.obs), alive=turned(joint.alive), action=turned(joint.action),
        extras=turned(joint.extras), carry=turned(joint.carry), bootstrap=turned(joint.bootstrap), step=step,
    )  # fmt: skip
    learn = jax.jit(lambda j: agent.update(state, team_batch(j, (0, 1, 2)), NOW, jax.random.key(3))[0])
    for a, b in zip(jax.tree.leaves(learn(joint)), jax.tree.leaves(learn(other)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


@pytest.mark.long
def test_with_one_seat_mappo_is_ppo_bit_by_bit() -> None:
    found = []
    for agent in (MAPPO(network=SMALL, critic=values("joint")), IPPO(network=SMALL, critic=values("own"))):
        experiment = make_experiment(make_game("probe-choice"), agent, iterations=3, batch=8, unroll=4)
        found.append(jax.jit(lambda e=experiment: advance(e, start(e), 3))())
    for a, b in zip(jax.tree.leaves(found[0]), jax.tree.leaves(found[1]), strict=True):
        if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        np.testing.assert_array_equal(a, b)


def test_what_acts_has_no_critic() -> None:
    agent = MAPPO(network=SMALL, critic=values("joint", GRU(width=8)))
    state, joint = played(agent)
    assert agent.policy(state).critic is None
    assert agent.behaviour(state, jnp.float32(0.0)).critic is None
    assert joint.extras[0].value == ()


def test_the_critic_may_see_the_games_state() -> None:
    wide = MLP(width=8, inputs=Inputs(normalise=True))
    agent = MAPPO(network=SMALL, critic=values("state", wide))
    state, joint = played(agent)
    own, shown = joint.obs[0].shape[-1], as_numbers(joint.state, axes=2)
    assert state.critic.torso.layers[0].weight.shape[0] == own + shown.shape[-1]
    obs, view = State().read(team_batch(joint, (0, 2)))
    np.testing.assert_array_equal(view[:, 0], shown)
    np.testing.assert_array_equal(view[:, 1], shown)
    np.testing.assert_array_equal(obs[:, 1], joint.obs[2])
    ended = np.asarray(joint.step.truncated)
    following = as_numbers(joint.next_state, axes=2)
    np.testing.assert_array_equal(np.asarray(following[:-1])[~ended[:-1]], np.asarray(shown[1:])[~ended[:-1]])
    assert not np.array_equal(np.asarray(following[:-1])[ended[:-1]], np.asarray(shown[1:])[ended[:-1]])
    np.testing.assert_array_equal(State().read_next(team_batch(joint, (0, 2)))[1][:, 1], following)
    batch = team_batch(joint, (0, 1, 2))
    after, metrics = jax.jit(lambda s: agent.update(s, batch, NOW, jax.random.key(3)))(state)
    assert np.isfinite(metrics["value_loss"])
    assert agent.policy(after).critic is None


def test_a_game_that_hides_its_state_is_named() -> None:
    spec = make_game("simple-spread").spec._replace(state=None)
    agent = MAPPO(network=SMALL, critic=values("state"))
    with pytest.raises(ComityError, match=r"critic\.view state"):
        agent.check(spec, (0, 1, 2))


class ToldToEach(View):
    """Shows each seat the first one's view, and computes it for each."""

    def space(self, spec: Any, seats: tuple[int, ...]) -> Any:
        return Team().space(spec, seats)

    def read(self, batch: TeamBatch) -> Any:
        return jax.tree.map(lambda x: jnp.repeat(x, len(batch.seats), axis=1), Team().read(batch))

    def read_next(self, batch: TeamBatch) -> Any:
        return jax.tree.map(lambda x: jnp.repeat(x, len(batch.seats), axis=1), Team().read_next(batch))


@pytest.mark.long
@pytest.mark.parametrize("kind", [MLP, GRU])
def test_one_value_for_a_team_is_that_of_its_first_seat(kind: Any) -> None:
    """Computed once a game, it is what would come of showing every seat the first one's view."""
    critic = values("team", kind(width=8, inputs=Inputs(normalise=True)))
    each_critic = eqx.tree_at(lambda c: c.view, critic, ToldToEach(), is_leaf=lambda x: isinstance(x, View))
    found = []
    for own, seats in ((critic, 1), (each_critic, 3)):
        agent = MAPPO(network=SMALL, critic=own, minibatches=1, epochs=2)
        state, joint = played(agent)
        batch = team_batch(joint, (0, 1, 2))
        read = agent.critic_batch(state, batch)
        said = agent.values(state.critic, state.policy, read)
        np.testing.assert_array_equal(said.value[:, 0], said.value[:, 2])
        assert said.value.shape[1] == 3
        assert jax.tree.leaves(read.inputs)[0].shape[1] == seats
        after, metrics = jax.jit(lambda s, a=agent, b=batch: a.update(s, b, NOW, jax.random.key(3)))(state)
        found.append(((after.policy, after.critic), metrics))
    count = [nets[1].torso.normaliser.count for nets, _ in found]
    np.testing.assert_allclose(3 * count[0], count[1])
    once, each = (eqx.tree_at(lambda n: n[1].torso.normaliser.count, nets, 0.0) for nets, _ in found)
    for a, b in zip(jax.tree.leaves((once, found[0][1])), jax.tree.leaves((each, found[1][1])), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=2e-5)


@pytest.mark.long
@pytest.mark.parametrize("view", ["joint", "team", "state"])
def test_minibatches_of_a_team_are_whole_games(view: str) -> None:
    """What a minibatch learns from is bit by bit what those games alone would give."""
    agent = MAPPO(network=SMALL, critic=values(view), minibatches=2, epochs=1)
    state, joint = played(agent)
    batch = team_batch(joint, (0, 1, 2))
    _, metrics = jax.jit(lambda s: agent.update(s, batch, NOW, jax.random.key(3)))(state)
    assert np.isfinite(metrics["loss"])
    games = jnp.array([2, 0])
    part = agent.critic_batch(state, batch).take(games)
    alone = agent.critic_batch(state, batch.take(games))
    for a, b in zip(jax.tree.leaves(part), jax.tree.leaves(alone), strict=True):
        np.testing.assert_array_equal(a, b)
    assert part.reward.shape == (8, 3, 2, 1)
