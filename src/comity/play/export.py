"""Players exported to one file that a service runs with NumPy alone (`comity.play.numpy_player`).

The file is a zip: the modules that act, as the package `comity_player`, so that Python can import and run the
file itself; `player.json`, which describes the player, its spaces and its network; and its arrays.
"""

import io
import json
import zipfile
from importlib import resources
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from comity.agents.exact.base import Logits
from comity.agents.on_policy.acting import Acting
from comity.core import spaces
from comity.core.agent import Player
from comity.core.errors import ComityError, require
from comity.core.files import named_arrays, write_atomically
from comity.core.spaces import Discrete, Space
from comity.core.spec_data import space_data
from comity.nets.convolution import Convolution
from comity.nets.convolutional import Convolutional
from comity.nets.flat import Flat
from comity.nets.gated_transformer import GatedTransformer
from comity.nets.gru_cell import GRUCell
from comity.nets.layered import LayeredTorso
from comity.nets.linear import Linear
from comity.nets.lstm_cell import LSTMCell
from comity.nets.mlp import MLPTorso
from comity.nets.recurrent import RecurrentTorso
from comity.nets.tabular import TabularTorso
from comity.nets.torso import Torso
from comity.play import numpy_player
from comity.play.numpy_player.player import FORMAT, VERSION

SUFFIX = ".pyz"
MODULES = ("__init__.py", "player.py", "network.py", "spaces.py")
MAIN = "import sys\n\nfrom comity_player.player import main\n\nmain(sys.argv[1:])\n"
DATE = (1980, 1, 1, 0, 0, 0)  # of everything in the file: equal players give equal bytes
TOLERANCE = 1e-5
CHECKED_STEPS = 32


def export_player(player: Player, path: str | Path) -> float:
    """Writes the file, after what it holds has played beside the player.

    Returns by how much their probabilities (or actions, where these are numbers) differed at most; a
    difference above 1e-5 is refused.
    """
    about, arrays = describe_player(player)
    content = _zipped(about, arrays)
    difference = compare(player, numpy_player.load(io.BytesIO(content)))
    allowed = f"at most {TOLERANCE}: please report this player"
    require(difference <= TOLERANCE, "the difference between NumPy and JAX", difference, allowed)
    write_atomically(Path(path), content)
    return difference


def describe_player(player: Player) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What the file says of a player, and its arrays by name."""
    network, arrays = _network(player)
    place, spec = player.place, player.spec
    assert spec is not None
    if isinstance(place.action, tuple) and not all(isinstance(part, Discrete) for part in place.action):
        raise ComityError(
            f"{player.name} cannot be exported: it chooses and gives numbers at once, which has no form in "
            f"NumPy."
        )
    about = {
        "format": FORMAT,
        "version": VERSION,
        "name": player.name,
        "agent": type(player.agent).__name__,
        "family": spec.family,
        "horizon": spec.horizon,
        "seat": {
            "name": place.name,
            "observation": space_data(place.observation),
            "action": space_data(place.action),
        },
        "network": network,
    }
    return about, arrays


def compare(player: Player, exported: numpy_player.Player, steps: int = CHECKED_STEPS) -> float:
    """How far apart two players are at most along one episode of drawn observations."""
    player, worst = player.copy(), 0.0
    discrete = isinstance(player.place.action, Discrete)
    seen = sample_many(player.place.observation, steps)
    for i in range(steps):
        obs = jax.tree.map(lambda x, i=i: x[i], seen)
        if discrete:
            worst = max(worst, float(np.abs(player.probabilities(obs) - exported.probabilities(obs)).max()))
        pair = player.act(obs, deterministic=True), exported.act(obs, deterministic=True)
        if isinstance(player.place.action, spaces.Box):
            worst = max(worst, float(np.abs(pair[0] - pair[1]).max()))
    return worst


def sample_many(space: Space, count: int) -> PyTree:
    """So many observations drawn from a space, along a first axis."""
    draw = jax.jit(jax.vmap(lambda key: spaces.sample(space, key)))
    return jax.tree.map(np.asarray, draw(jax.random.split(jax.random.key(0), count)))


def _network(player: Player) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    params = player.params
    if isinstance(params, Logits):
        return {"kind": "tabular", "flat": len(params.table)}, {
            "head/linear/weight": np.asarray(params.table)
        }
    if not isinstance(params, Acting):
        kind = "follows a rule in Python" if not player.agent.learns else "acts in a way of its own"
        raise ComityError(
            f"{player.name} cannot be exported: it {kind}, and only players with a network or a table can; "
            f"comity.load_player acts with any."
        )
    if hasattr(params.policy, "talk"):
        raise ComityError(f"{player.name} cannot be exported: acting as a team has no form in NumPy.")
    return _describe_torso(params.policy.torso), named_arrays(params.policy)


def _describe_torso(torso: Torso) -> dict[str, Any]:
    flat = spaces.flat_size(torso.observation)
    if type(torso) is TabularTorso:
        return {"kind": "tabular", "flat": flat}
    if not isinstance(torso, LayeredTorso) or type(torso) not in (MLPTorso, RecurrentTorso):
        raise _no_form("network", torso)
    if torso.layer_norm:
        raise ComityError("Layers that are normalised (network.layer_norm) have no form in NumPy yet.")
    encoder = torso.encoder
    if type(encoder) not in (Flat, Convolutional):
        raise _no_form("encoder", encoder)
    about: dict[str, Any] = {
        "kind": "layered",
        "flat": flat,
        "earlier": encoder.earlier,
        "stack": encoder.stack if isinstance(encoder, Flat) else 1,
        "overlaps": isinstance(encoder, Flat) and encoder.overlaps,
        "filters": len(torso.convolutions),
        "step_size": encoder.step_size if isinstance(encoder, Convolutional) else 1,
        "clock": torso.inputs.clock,
        "normalise": torso.inputs.normalise,
        "layers": len(torso.layers),
        "core": None,
    }
    if isinstance(torso, RecurrentTorso):
        core, kind = _describe_core(torso.memory)
        about |= {
            "core": kind,
            "after": len(torso.after),
            "skip": torso.skip,
            "width": torso.memory.size,
            **core,
        }
    about["precision"] = _precision(torso)
    return about


def _describe_core(core: PyTree) -> tuple[dict[str, Any], str]:
    if type(core) is GatedTransformer:
        return {"blocks": len(core.blocks), "context": core.context}, "gtrxl"
    if type(core) in (GRUCell, LSTMCell):
        return {}, "gru" if type(core) is GRUCell else "lstm"
    raise _no_form("memory", core)


def _precision(torso: Torso) -> str:
    """That of the products: all layers of a torso have the same."""
    parts = jax.tree.leaves(torso, is_leaf=lambda x: isinstance(x, Linear | Convolution))
    return next((part.precision for part in parts if isinstance(part, Linear | Convolution)), "float32")


def _no_form(what: str, found: Any) -> ComityError:
    return ComityError(
        f"The {what} {type(found).__name__} has no form in NumPy: players with a tabular, mlp, gru, lstm or "
        f"gtrxl network, which read vectors or convolutions, can be exported."
    )


def _zipped(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    source = resources.files(numpy_player)
    members = {"__main__.py": MAIN.encode()}
    members |= {f"comity_player/{name}": source.joinpath(name).read_bytes() for name in MODULES}
    members["player.json"] = (json.dumps(about, indent=2, allow_nan=False) + "\n").encode()
    for name, array in sorted(arrays.items()):
        data = io.BytesIO()
        np.lib.format.write_array(data, np.ascontiguousarray(array), allow_pickle=False)
        members[f"{name}.npy"] = data.getvalue()
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        for name, member in members.items():
            file.writestr(zipfile.ZipInfo(name, DATE), member, zipfile.ZIP_DEFLATED)
    return content.getvalue()
