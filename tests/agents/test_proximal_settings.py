"""All that PPO can do serves Advantage Alignment too: statistics, units, divergences, minibatches, views."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.agents.on_policy.a2c import A2C
from comity.agents.on_policy.kl import KLRule
from comity.agents.on_policy.minibatches import minibatches
from comity.agents.on_policy.ppo import PPO
from comity.agents.shaping.adalign import AdvantageAlignment, Alignment
from comity.agents.shaping.loqa import LOQA
from comity.agents.shaping.opponent_values import Learned, OpponentValues
from comity.agents.shaping.proximal_adalign import ProximalAdvantageAlignment
from comity.core.batch import team_batch
from comity.core.errors import ComityError
from comity.learn.critics import Critic
from comity.learn.optimisers import Adam
from comity.learn.statistics import ReturnNorm
from comity.learn.views import Joint, State, Team
from comity.nets import MLP, Inputs
from comity.play.specs import make_game
from comity.testing import check_agent
from tests.agents.shaped import NOW, OWN_VIEW, Played, largest, played, quick_jit

pytestmark = pytest.mark.long

SMALL, SEEN = MLP(width=4), MLP(width=4, inputs=Inputs(normalise=True))
GOODS = make_game("public-goods", players=3, horizon=4)


def proximal(
    critic: dict[str, Any], opponent_values: OpponentValues = OWN_VIEW, **learner: Any
) -> ProximalAdvantageAlignment:
    settings = {"network": SMALL, "learning_rate": 1e-2, **critic}
    ppo = PPO(**{"network": SMALL, "critic": Critic(**settings), "minibatches": 1, **learner})
    return ProximalAdvantageAlignment(ppo, Alignment(), opponent_values)


def updated(agent: ProximalAdvantageAlignment, seats: tuple[int, ...] = (0, 1)) -> tuple[Played, Any, Any]:
    """What was played, the state after an update and its metrics."""
    found = played(GOODS, agent, batch=4, seats=seats)
    learn = quick_jit(lambda s, j: agent.update(s, team_batch(j, seats), NOW, jax.random.key(0)))
    return found, *learn(found.state, found.joint)


PLAIN = proximal({})
FAST = Adam(learning_rate=0.05)  # so that one step moves the policy
EMA, POPART = ReturnNorm(return_ema=0.1), ReturnNorm(return_ema=0.1, popart=True)
SETTINGS: dict[str, ProximalAdvantageAlignment] = {
    "normalised values": proximal({"norm": EMA}),
    "popart": proximal({"norm": POPART}),
    "popart, values of actions": proximal({"norm": POPART, "kind": "action-value"}),
    "observation statistics": proximal({"network": SEEN}, network=SEEN),
    "stops": proximal({}, kl=KLRule(target=1e-6), optimiser=FAST),
    "adapts": proximal({}, kl=KLRule(target=1e-6, rule="adapt"), optimiser=FAST),
    "minibatches": proximal({}, minibatches=2),
    "joint critic, learned": proximal({"view": Joint()}, Learned()),
    "team critic, learned": proximal({"view": Team()}, Learned()),
    "critic of the state, learned": proximal({"view": State()}, Learned()),
}


@pytest.mark.parametrize("way", SETTINGS)
def test_it_holds_the_contract_and_the_setting_is_felt(way: str) -> None:
    agent = SETTINGS[way]
    # In a contract the seats play with parameters of their own: from there the policy is far from the start.
    check_agent(agent, GOODS, seats=(0,) if way == "stops" else (0, 1), batch=4)
    found, after, metrics = updated(agent)
    if "values" in way or "popart" in way:
        assert float(after.critic.statistics.weight) == pytest.approx(0.1)
        assert after.critic.statistics.mean.shape == (1,)
    elif "statistics" in way:
        for torso, seats in ((after.policy.torso, 2), (after.critic.torso, 3)):  # its critic sees all views
            assert float(torso.normaliser.count) == 7 * seats * 4
    elif way == "stops":
        assert float(metrics["steps_taken"]) < 1.0
    elif way == "adapts":
        assert float(after.pace) == pytest.approx(1 / 1.5)
    elif way == "minibatches":
        counts = [int(x.optimiser[1][0].count) for x in (after, updated(PLAIN)[1])]
        assert counts == [4, 2]
    else:
        batch = team_batch(found.joint, (0, 1))
        read = agent.opponent_values.read(agent.learner, found.state, batch)
        said = agent.learner.values(found.state.critic, found.state.policy, read)
        assert said.value.shape == (7, 2, 4, 2)  # own reward, and that of the others
        np.testing.assert_allclose(read.reward.sum(axis=-1)[:, 0], sum(found.joint.step.reward), rtol=1e-5)
        alike = np.array_equal(said.value[:, 0], said.value[:, 1])
        assert alike == ("team" in way)


@pytest.mark.parametrize("kind", [AdvantageAlignment, LOQA])
def test_shaping_agents_keep_statistics_of_observations(kind: Any) -> None:
    q: Any = "action-value" if kind is LOQA else "value"
    agent = kind(learner=A2C(network=SEEN, critic=Critic(network=SEEN, kind=q, learning_rate=1e-2)))
    _, after, _ = updated(agent)
    assert float(after.policy.torso.normaliser.count) == 7 * 2 * 4
    assert float(after.critic.torso.normaliser.count) == 7 * 3 * 4


def test_an_own_view_of_others_needs_a_critic_of_own_views() -> None:
    for view in (Joint(), Team(), State()):
        with pytest.raises(ComityError, match=r"critic\.view.*learned"):
            proximal({"view": view})


def test_minibatches_take_whole_games_with_all_seats() -> None:
    found = played(GOODS, PLAIN, batch=4)
    batch = team_batch(found.joint._replace(age=jnp.arange(4, dtype=jnp.int32)), (2, 0))
    part = batch.take(jnp.array([3, 1]))
    np.testing.assert_array_equal(part.age, [3, 1])
    np.testing.assert_array_equal(part.reward, batch.reward[:, :, jnp.array([3, 1])])
    np.testing.assert_array_equal(part.obs, batch.obs[:, :, jnp.array([3, 1])])
    np.testing.assert_array_equal(part.extras.log_prob, batch.extras.log_prob[:, :, jnp.array([3, 1])])
    for own, whole in zip(jax.tree.leaves(part.carry), jax.tree.leaves(batch.carry), strict=True):
        np.testing.assert_array_equal(own, whole[:, jnp.array([3, 1])])
    for seat in range(3):  # those of the others too, so that views and values agree
        np.testing.assert_array_equal(part.joint.obs[seat], batch.joint.obs[seat][:, jnp.array([3, 1])])
    read = PLAIN.opponent_values.read(PLAIN.learner, found.state, batch).take(jnp.array([3, 1]))
    again = PLAIN.opponent_values.read(PLAIN.learner, found.state, part)
    assert eqx.tree_equal(read, again)
    assert largest(read.reward) > 0


def test_minibatches_are_whole_games_and_all_of_them() -> None:
    parts = np.asarray(minibatches(jax.random.key(0), 12, 3, 4))
    assert parts.shape == (12, 3)
    for epoch in parts.reshape(3, 12):
        assert sorted(epoch) == list(range(12))
    with pytest.raises(ComityError, match="minibatches"):
        minibatches(jax.random.key(0), 10, 1, 4)
