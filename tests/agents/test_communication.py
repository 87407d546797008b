"""Teams that talk, as agents: they act and learn together, their gates are choices, and talk pays where it
must."""

import sys
from pathlib import Path
from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.core.agent import Context, add_group_axis, communicates
from comity.core.batch import team_batch
from comity.core.errors import ComityError
from comity.core.game import Environment
from comity.core.matchmaker import Occupant
from comity.core.trust import trust
from comity.learn.talking import Gated
from comity.nets.distributions import Categorical
from comity.play.rollout import reset, rollout
from comity.play.specs import make_agent, make_game
from comity.training.experiment import make_experiment
from comity.training.options import Options
from comity.training.runner import create, run
from tests.docs.pages import files

KEY = jax.random.key(0)
NAMES = ("commnet", "tarmac", "ic3net", "talking-a2c")
SMALL = {"network.width": 8, "critic.network": "mlp", "critic.network.width": 8}


def played(agent: Any, game: Environment, batch: int = 4, steps: int = 4) -> tuple[Any, Any]:
    seats = tuple(range(len(game.seats)))
    state = agent.init(KEY, game.spec, seats)
    occupants = (Occupant(seats, agent, add_group_axis(agent.behaviour(state, jnp.float32(0.0)))),)
    joint = rollout(game, occupants, reset(game, occupants, batch, KEY), KEY, steps)[0]
    return state, team_batch(joint, seats)


@pytest.mark.parametrize("name", NAMES)
def test_what_was_played_is_what_is_learned_from(name: str) -> None:
    """The log-probabilities of the rollout, [seat] at a time, are those of the unrolled policy; and it
    learns."""
    agent = make_agent(name, network="mlp", **SMALL)
    assert communicates(agent)
    state, batch = played(agent, make_game("simple-spread"))
    policy = state.policy
    distribution = policy.unroll(batch.carry[0], batch.obs, batch.resets)
    np.testing.assert_allclose(distribution.log_prob(batch.extras.raw), batch.extras.log_prob, atol=1e-5)
    after, metrics = eqx.filter_jit(agent.update)(state, batch, Context(jnp.float32(0.0)), KEY)
    changed = [
        bool((a != b).any())
        for a, b in zip(jax.tree.leaves(after.policy.talk), jax.tree.leaves(state.policy.talk), strict=True)
    ]
    assert all(changed)
    assert all(np.isfinite(value) for value in metrics.values())


def test_gates_are_choices() -> None:
    """The probability of an act is that of the gate times that of the action where these spoke."""
    agent = make_agent("ic3net", network="mlp", **SMALL)
    state, batch = played(agent, make_game("simple-spread"))
    distribution = state.policy.unroll(batch.carry[0], batch.obs, batch.resets)
    assert isinstance(distribution, Gated)
    action, gates = batch.extras.raw
    assert 0.2 < float(gates.mean()) < 0.8
    expected = distribution.gates.log_prob(gates) + distribution.given(gates).log_prob(action)
    np.testing.assert_allclose(distribution.log_prob(batch.extras.raw), expected)
    shut, opened = (cast(Categorical, distribution.given(jnp.full_like(gates, flag))) for flag in (0, 1))
    assert not np.allclose(shut.logits, opened.logits)
    moved: Any = state.policy.after_talk(
        state.policy.torso.unroll(batch.carry[0], batch.obs, batch.resets)[0],
        batch.obs,
        jnp.zeros_like(gates),
    )
    np.testing.assert_allclose(moved.logits, shut.logits)


def test_a_talking_team_refuses_numbers_that_are_not_there() -> None:
    agent = make_agent("tarmac", **{"talk.audience.presence": 99})
    game = make_game("simple-spread")
    with pytest.raises(ComityError, match="audience"):
        agent.check(game.spec, (0, 1, 2))


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in NAMES if name != "ic3net"])  # see docs/communication.md
def test_talk_pays_where_it_must(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the game of docs/extending.md silent players earn a third."""
    page = Path(__file__).parents[2] / "docs" / "extending.md"
    (tmp_path / "whispers.py").write_text(files(page)["whispers.py"])
    monkeypatch.syspath_prepend(str(tmp_path))
    trust("whispers:Whispers")
    monkeypatch.delitem(sys.modules, "whispers", raising=False)
    game = make_game("whispers:Whispers")
    settings: Any = {
        "network": "mlp",
        "network.width": 32,
        "optimiser.learning_rate": 0.01,
        "entropy_coef": 0.02,
    }
    agent = make_agent(name, **settings, **{"critic.network": "mlp", "critic.network.width": 16})
    experiment = make_experiment(game, agent, iterations=250, batch=64, unroll=1)
    trained = run(create(experiment, tmp_path / "run"), Options(tensorboard=False))
    assert trained.metrics[-1]["reward"] > 0.85
