"""A whole MAPPO update beside skrl's, on the same data: parameters, losses and learning rate to 1e-5.

The recording is that of `benchmarks/peers/record_skrl.py` with skrl 2.1.1 and torch 2.13.0. Where skrl is
installed (`pip install "comity[peers]"`) it is recorded anew and compared. docs/teams.md has the settings.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.agents.on_policy.acting import Extras
from comity.agents.on_policy.kl import KLRule
from comity.agents.on_policy.mappo import MAPPO
from comity.core.agent import Context
from comity.core.batch import TeamBatch, Trajectory, team_batch
from comity.core.game import GameSpec, Seat, TimeStep
from comity.core.spaces import Box, Discrete
from comity.learn.critics import Critic
from comity.learn.optimisers import Adam
from comity.learn.views import Joint
from comity.nets import MLP

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "data" / "skrl" / "mappo.npz"
SMALL = MLP(width=8, depth=1)


def agent(**changes: Any) -> MAPPO:
    """MAPPO with skrl's settings."""
    critic = {"value_coef": 2 * 2.5, "value_clip": 0.2, "loss": "clipped"} | changes.pop("critic", {})
    optimiser = {"learning_rate": 1e-3, "max_grad_norm": 0.5, "epsilon": 1e-8} | changes.pop("optimiser", {})
    settings = {"epochs": 8, "minibatches": 2, "entropy_coef": 0.0} | changes
    return MAPPO(
        network=SMALL,
        critic=Critic(view=Joint(), **critic),  # values as they are, not normalised
        optimiser=Adam(**optimiser),
        discount=0.99,
        gae_lambda=0.95,
        normalise_advantages="unbiased",
        minibatch_order="in-order",
        **settings,
    )


CASES = {
    "defaults": agent(),
    "adapts": agent(
        epochs=4,
        entropy_coef=0.01,
        critic={"value_coef": 2.0, "value_clip": 0.0, "loss": "squared"},
        optimiser={"learning_rate": 3e-3, "max_grad_norm": 0.0},
        kl=KLRule(target=0.002, rule="adapt-epoch", min_pace=1e-6 / 3e-3, max_pace=1e-2 / 3e-3),
    ),
    "stops": agent(
        minibatches=6,
        entropy_coef=0.02,
        critic={"value_clip": 0.02},
        optimiser={"learning_rate": 3e-3, "max_grad_norm": 10.0},
        kl=KLRule(target=0.0005, rule="stop-epoch", stop_at=1.0),
    ),
}


def recording(name: str, path: Path = RECORDED) -> dict[str, np.ndarray]:
    with np.load(path) as arrays:
        return {key.removeprefix(f"{name}/"): arrays[key] for key in arrays if key.startswith(f"{name}/")}


def spec(data: dict[str, np.ndarray]) -> GameSpec:
    continuous = "before/policy/log_std" in data
    seat = Seat("agent", Box((3,)), Box((4,)) if continuous else Discrete(4))
    return GameSpec((seat, seat), None, None, "", True)


def batch(data: dict[str, np.ndarray]) -> TeamBatch:
    """The recorded rollout, as the first of two seats learns from it."""
    reward, done = jnp.asarray(data["reward"]), jnp.asarray(data["terminated"])
    there = jnp.ones_like(done)
    choices = "before/policy/log_std" not in data
    action = jnp.asarray(data["action"][..., 0].astype(np.int32) if choices else data["action"])
    extras = Extras(action, jnp.asarray(data["log_prob"])[..., 0], (), (), ())
    obs, following = ([jnp.asarray(data[key][:, i]) for i in (0, 1)] for key in ("obs", "next_obs"))
    answer = TimeStep(tuple(following), (reward, reward), done, jnp.asarray(data["truncated"]), (there,) * 2)
    carry = (agent().network.build(Box((3,)), jax.random.key(0)).initial_carry(), ())
    played = Trajectory(
        tuple(obs), (there,) * 2, (action,) * 2, (extras,) * 2, (carry,) * 2, answer, (extras,) * 2,
        (), (), jnp.zeros(reward.shape[1], jnp.int32),
    )  # fmt: skip
    return team_batch(played, (0,))


def trained(state: Any) -> list[Any]:
    """What the optimiser moves, in the order of `NAMES`."""
    policy, critic = state.policy, state.critic
    layers = (policy.torso.layers[0], policy.head.linear, critic.torso.layers[0], critic.head)
    arrays = [x for layer in layers for x in (layer.weight, layer.bias)]
    return arrays if policy.head.log_std is None else [*arrays, policy.head.log_std]


PARTS = ("net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias")
NAMES = [*(f"policy/{part}" for part in PARTS), *(f"value/{part}" for part in PARTS), "policy/log_std"]


def recorded(data: dict[str, np.ndarray], when: str) -> dict[str, np.ndarray]:
    """skrl's parameters by name; its weights are transposed."""
    return {name: data[f"{when}/{name}"].T for name in NAMES if f"{when}/{name}" in data}


def beginning(learner: MAPPO, data: dict[str, np.ndarray]) -> Any:
    """The state of a learner with the recorded parameters."""
    state = learner.init(jax.random.key(0), spec(data), (0,))
    return eqx.tree_at(trained, state, [jnp.asarray(x) for x in recorded(data, "before").values()])


@pytest.mark.parametrize("name", CASES)
def test_an_update_is_that_of_skrl(name: str) -> None:
    data, learner = recording(name), CASES[name]

    def update(state: Any) -> Any:
        return learner.update(state, batch(data), Context(jnp.float32(0.0)), jax.random.key(0))

    after, metrics = jax.jit(update)(beginning(learner, data))
    before, expected = recorded(data, "before"), recorded(data, "after")
    assert len(trained(after)) == len(expected)
    for found, part in zip(trained(after), expected, strict=True):
        np.testing.assert_allclose(found, expected[part], atol=1e-5, err_msg=part)
        assert np.abs(expected[part] - before[part]).max() > 5e-4, part  # 50 times the tolerance
    rate = learner.optimiser.learning_rate * after.pace
    np.testing.assert_allclose(rate, data["learning_rate"], rtol=1e-5)
    if name == "stops":  # some steps were left out, not only the last ones
        assert 0 < float(metrics["steps_taken"]) < 1
        return
    np.testing.assert_allclose(metrics["policy_loss"], data["policy_loss"], atol=1e-5)
    value_loss = learner.critic.value_coef * metrics["value_loss"]
    np.testing.assert_allclose(value_loss, data["value_loss"], rtol=1e-5)
    assert (name == "adapts") == ("std" in metrics)
    assert (name == "adapts") == bool(after.pace != 1.0)


def test_the_recording_is_what_skrl_does(tmp_path: Path) -> None:
    """Only where skrl is installed: what is recorded anew is what was recorded."""
    pytest.importorskip("skrl", reason='skrl is not installed: pip install "comity[peers]"')
    script = ROOT / "benchmarks" / "peers" / "record_skrl.py"
    subprocess.run([sys.executable, str(script), str(tmp_path / "new.npz")], check=True)
    for name in CASES:
        again = recording(name, tmp_path / "new.npz")
        for key, x in recording(name).items():
            np.testing.assert_allclose(again[key], x, atol=1e-6, err_msg=f"{name}/{key}")
