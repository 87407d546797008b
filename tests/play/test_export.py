"""Exported players: with NumPy alone they do what they do in JAX, whatever their network, seat and action."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import comity
from comity.core.agent import Agent, Player
from comity.core.errors import ComityError
from comity.core.game import GameSpec, Seat
from comity.core.spaces import Bits, Box, Discrete, Masked, Space
from comity.nets.mlp import MLP, MLPTorso
from comity.play.export import TOLERANCE, compare, describe_player, export_player, sample_many
from comity.play.numpy_player import Player as NumpyPlayer
from comity.play.numpy_player import load
from comity.play.specs import make_agent

PLANES = Box((4, 3, 3), 0.0, 1.0)
MASKED = Masked((Box((3,), -1.0, 2.0), Discrete(4)), 5)
CHOICE = Discrete(5)
CASES: list[tuple[str, Space, Space, dict[str, Any]]] = [
    ("tabular", Discrete(5), Discrete(2), {"network": "tabular"}),
    ("mlp", Box((6,)), Box((2,), -1.0, 3.0), {"network": "mlp", "network.inputs.clock": True}),
    ("mlp-stack", Discrete(3), Box((2, 2)), {"network": "mlp", "network.encoder.stack": 3}),
    ("gru", MASKED, CHOICE, {"network": "gru", "network.after": 1, "network.inputs.normalise": True}),
    ("gru-plain", MASKED, CHOICE, {"network": "gru", "network.after": 1, "network.skip": False}),
    ("gru-overlaps", PLANES, Discrete(4), {"network": "gru", "network.encoder.overlaps": True}),
    ("lstm", Discrete(4), (Discrete(2), Discrete(3)), {"network": "lstm", "network.inputs.clock": True}),
    ("gtrxl", Box((5,)), Discrete(3), {"network": "gtrxl", "network.context": 6, "network.blocks": 2}),
    (
        "convolutional",
        Bits((5, 4, 7)),
        Discrete(3),
        {
            "network": "gru",
            "network.encoder": "convolutional",
            "network.encoder.filters": (4, 6),
            "network.encoder.step_size": 2,
        },
    ),
    ("bfloat16", Box((5,)), Discrete(3), {"network": "mlp", "network.precision": "bfloat16"}),
]


def make(agent: Agent, observation: Space, action: Space) -> Player:
    """A player whose weights are large enough that what it does depends on what it sees."""
    spec = GameSpec((Seat("here", observation, action),), None, 10, "test", True)
    params = eqx.filter_jit(lambda key: agent.policy(agent.init(key, spec, (0,))))(jax.random.key(0))
    random = np.random.default_rng(1)

    def move(x: Any) -> Any:
        noise = 0.4 * random.standard_normal(x.shape)
        positive = x.size and bool((np.asarray(x) > 0).all())  # scales and variances stay so
        return jnp.asarray(x + (np.abs(noise) if positive else noise), x.dtype)

    return Player(agent, jax.tree.map(move, params), spec, name="made")


@pytest.mark.parametrize(
    ("observation", "action", "settings"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_an_exported_player_does_what_it_does_in_jax(
    observation: Space, action: Space, settings: dict[str, Any], tmp_path: Path
) -> None:
    small = {} if settings["network"] == "tabular" else {"network.width": 8}
    player = make(make_agent("ppo", **{**small, **settings}), observation, action)
    assert export_player(player, tmp_path / "p.pyz") <= TOLERANCE
    exported = load(tmp_path / "p.pyz")
    several = sample_many(observation, 3)
    if isinstance(action, Discrete):
        assert np.ptp(exported.probabilities(several), axis=0).max() > 0.02  # else equality would say little
    together = [exported.act(several, deterministic=True) for _ in range(3)]
    for i in range(3):
        alone = exported.copy()
        for acts in together:
            own, expected = (
                jax.tree.leaves(x) for x in (alone.act(at(several, i), deterministic=True), at(acts, i))
            )
            np.testing.assert_allclose(own, expected, atol=1e-5)


def at(tree: Any, i: int) -> Any:
    return jax.tree.map(lambda x: x[i], tree)


def test_a_difference_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    player = make(make_agent("ppo", network="tabular"), Discrete(3), Discrete(2))
    about, arrays = describe_player(player)
    wrong = {name: x + np.eye(3, 2, dtype=np.float32) for name, x in arrays.items()}
    assert compare(player, NumpyPlayer(about, wrong)) > 0.01
    monkeypatch.setattr("comity.play.export.describe_player", lambda player: (about, wrong))
    with pytest.raises(ComityError, match="the difference between NumPy and JAX"):
        export_player(player, tmp_path / "p.pyz")
    assert not (tmp_path / "p.pyz").exists()


def test_exact_learners_are_tables() -> None:
    player = comity.load_player("zoo:prisoners-dilemma/adalign/0")
    logits = make_player_of_kind("lola", player)
    assert compare(logits, NumpyPlayer(*describe_player(logits))) <= TOLERANCE


def make_player_of_kind(name: str, like: Player) -> Player:
    assert like.spec is not None
    agent = make_agent(name)
    return Player(agent, agent.policy(agent.init(jax.random.key(2), like.spec, (0,))), like.spec)


def test_draws_follow_from_the_seed_and_are_legal() -> None:
    player = make(make_agent("ppo", network="mlp"), MASKED, CHOICE)
    exported = NumpyPlayer(*describe_player(player))
    legal = np.array([False, True, False, True, False])
    obs = (([0.0, 1.0, 0.5], 2), legal)
    draws = [int(exported.act(obs)) for _ in range(60)]
    assert set(draws) == {1, 3}
    exported.reset(seed=0)
    assert [int(exported.act(obs)) for _ in range(60)] == draws
    share = exported.probabilities(obs)[1]
    alike = ((np.tile([0.0, 1.0, 0.5], (4000, 1)), np.full(4000, 2)), np.tile(legal, (4000, 1)))
    many = exported.copy(seed=4).act(alike)
    assert np.mean(many == 1) == pytest.approx(share, abs=0.03)


def test_the_memory_is_cleared_where_an_episode_ended() -> None:
    player = make(make_agent("ppo", network="gru", **{"network.width": 8}), Box((2,)), Discrete(3))
    exported = NumpyPlayer(*describe_player(player))
    first = exported.probabilities([1.0, 0.5])
    exported.act([[1.0, 0.5], [1.0, 0.5]])
    later = exported.probabilities([[1.0, 0.5], [1.0, 0.5]])
    assert np.abs(later[0] - first).max() > 1e-3
    exported.reset(where=[True, False])
    again = exported.probabilities([[1.0, 0.5], [1.0, 0.5]])
    np.testing.assert_allclose(again, [first, later[1]], atol=1e-6)
    with pytest.raises(ValueError, match="began with 2 and obs is of one"):
        exported.act([1.0, 0.5])


@pytest.mark.parametrize(
    "obs", [None, "a", [1.0], ([0.0, 0.0, 5.0], 1), (([0.0, 0.0, 0.0], 9), [True] * 5), [[[1]]]]
)
def test_wrong_observations_are_refused(obs: Any) -> None:
    exported = NumpyPlayer(*describe_player(make(make_agent("ppo", network="mlp"), MASKED, CHOICE)))
    with pytest.raises(ValueError, match="obs is not what the player sees"):
        exported.act(obs)
    with pytest.raises(ValueError, match="obs is not what the player sees"):
        exported.act((([0.0, 0.0, 0.0], 1), [False] * 5))


def test_the_file_needs_numpy_alone(tmp_path: Path) -> None:
    """In a process of its own, isolated, which never imports JAX or Comity; and the file runs by itself."""
    path = tmp_path / "coin.pyz"
    player = comity.load_player("zoo:prisoners-dilemma/adalign/0")
    export_player(player, path)
    first = path.read_bytes()
    export_player(player, path)
    assert path.read_bytes() == first
    code = f"""
import sys
sys.path.insert(0, {str(path)!r})
import comity_player
player = comity_player.load({str(path)!r})
print(player.probabilities(0).tolist())
assert not {{"jax", "comity", "equinox"}} & set(sys.modules), "more than numpy"
"""
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(json.loads(done.stdout), player.probabilities(0), atol=1e-5)
    piped = subprocess.run(
        [sys.executable, str(path), "act"], input="0\n1\nx\n", capture_output=True, text=True
    )
    assert all(line in "01" for line in piped.stdout.split())
    assert (piped.returncode, len(piped.stdout.split()), piped.stderr.startswith("error: ")) == (1, 2, True)
    about = json.loads(subprocess.run([sys.executable, str(path)], capture_output=True, text=True).stdout)
    assert about["seat"]["action"] == {"kind": "discrete", "n": 2, "labels": ["C", "D"]}


class OwnTorso(MLPTorso):
    """It might do anything."""

    def __init__(self, network: MLP, observation: Space, key: Any) -> None:
        super().__init__(network, observation, key)


class Own(MLP):
    """A network of a user's own."""

    def build(self, observation: Space, key: Any) -> OwnTorso:
        return OwnTorso(self, observation, key)


def test_what_has_no_form_in_numpy_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ComityError, match="tit-for-tat cannot be exported: it follows a rule in Python"):
        export_player(comity.load_player("tit-for-tat"), tmp_path / "p.pyz")
    with pytest.raises(ComityError, match="The network OwnTorso has no form in NumPy"):
        export_player(make(make_agent("ppo", network=Own()), Box((2,)), Discrete(2)), tmp_path / "p.pyz")
    (tmp_path / "other.pyz").write_text("no zip")
    with pytest.raises(ValueError, match="is not a player that Comity exported"):
        load(tmp_path / "other.pyz")
    assert list(tmp_path.iterdir()) == [tmp_path / "other.pyz"]
