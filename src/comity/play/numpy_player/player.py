"""A player that acts, from an exported file."""

import io
import json
import sys
import zipfile
from typing import Any

import numpy as np

from .network import Network, softmax
from .spaces import Space, encode, read

FORMAT, VERSION = "comity-export", 1
NEVER = -1e9  # the logit of a choice that is not legal
LARGEST_MEAN = 2.5  # of a bounded action, before it is squashed
LOG_STD_RANGE = (-4.0, 1.0)

Array = np.ndarray


def load(path: Any) -> "Player":
    """The player of an exported file."""
    try:
        with zipfile.ZipFile(path) as file:
            about = json.loads(file.read("player.json"))
            names = [name for name in file.namelist() if name.endswith(".npy")]
            arrays = {name.removesuffix(".npy"): _array(file.read(name)) for name in names}
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ValueError(f"{path} is not a player that Comity exported: {error}") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT or about.get("version") != VERSION:
        raise ValueError(f"{path} is not a player that this version of Comity exported.")
    return Player(about, arrays)


def _array(content: bytes) -> Array:
    array: Array = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    return array


class Player:
    """A player that keeps its memory from one `act` to the next, until `reset`.

    Observations may be several, along a first axis: each then has a memory of its own. What is drawn follows
    from the seed that `reset` was given.
    """

    def __init__(self, about: dict[str, Any], arrays: dict[str, Array]) -> None:
        self.about = about
        self.observation: Space = about["seat"]["observation"]
        self.action: Space = about["seat"]["action"]
        self._network = Network(about["network"], self.observation, arrays)
        self._head = {name.removeprefix("head/"): x for name, x in arrays.items() if name.startswith("head/")}
        self._count: int | None = None
        self._memory: list[Array] | None = None
        self.reset(seed=0)

    def copy(self, seed: int = 0) -> "Player":
        """The same player with a memory of its own: one for each game that is under way."""
        other = object.__new__(Player)
        other.__dict__.update(self.__dict__)
        other.reset(seed=seed)
        return other

    def reset(self, where: Any = None, seed: int | None = None) -> None:
        """A new episode; of several games side by side, only where these truth values say so."""
        if seed is not None:
            self._random = np.random.default_rng(seed)
        if where is None or self._memory is None:
            self._memory = None
            return
        over = np.asarray(where)
        if over.dtype != np.bool_ or over.shape != (() if self._count is None else (self._count,)):
            raise ValueError("where must be one truth value for each game.")
        fresh = self._network.initial(self._count)
        self._memory = [
            np.where(over.reshape(over.shape + (1,) * (old.ndim - over.ndim)), new, old)
            for new, old in zip(fresh, self._memory, strict=True)
        ]

    def act(self, obs: Any, deterministic: bool = False) -> Any:
        """What it does; `deterministic` does what is most likely instead of drawing."""
        out, legal, memory, count = self._step(obs)
        self._memory, self._count = memory, count
        random = None if deterministic else self._random
        kind = self.action["kind"]
        if kind == "discrete":
            return _choice(_masked(out, legal), random)
        if kind == "tuple":
            edges = np.cumsum([part["n"] for part in self.action["parts"]])[:-1]
            return tuple(_choice(logits, random) for logits in np.split(out, edges, axis=-1))
        low, high = self.action["low"], self.action["high"]
        bounded = low is not None and high is not None and low < high
        raw = LARGEST_MEAN * np.tanh(out / LARGEST_MEAN) if bounded else out
        if random is not None:
            spread = np.exp(np.clip(self._head["log_std"], *LOG_STD_RANGE))
            raw = raw + spread * random.standard_normal(raw.shape)
        if bounded:
            raw = (low + high) / 2 + (high - low) / 2 * np.tanh(raw)
        return raw.astype(np.float32).reshape((*raw.shape[:-1], *self.action["shape"]))

    def probabilities(self, obs: Any) -> Array:
        """How likely each choice is; nothing is done and nothing is remembered."""
        if self.action["kind"] != "discrete":
            raise ValueError("There are probabilities only of an action that is one of several choices.")
        out, legal, _, _ = self._step(obs)
        return softmax(_masked(out, legal))

    def _step(self, obs: Any) -> tuple[Array, Array | None, list[Array], int | None]:
        """The head's outputs, the legal choices, the memory after an observation, and how many there were."""
        value, shape = read(self.observation, obs)
        count = shape[0] if shape else None
        memory = self._memory
        if memory is None:
            memory = self._network.initial(count)
        elif count != self._count:
            raise ValueError(f"The episode began with {self._count or 'one'} and obs is of {count or 'one'}.")
        features, memory = self._network.step(memory, encode(self.observation, value))
        out = features @ self._head["linear/weight"]
        if "linear/bias" in self._head:
            out = out + self._head["linear/bias"]
        legal = value[1] if self.observation["kind"] == "masked" else None
        return out, legal, memory, count


def _masked(logits: Array, legal: Array | None) -> Array:
    return logits if legal is None else np.where(legal, logits, np.float32(NEVER))


def _choice(logits: Array, random: np.random.Generator | None) -> Array:
    """The most likely choice, or one that is drawn."""
    score = logits if random is None else logits + random.gumbel(size=logits.shape)
    return np.asarray(np.argmax(score, axis=-1))


def main(arguments: list[str]) -> None:
    """`python player.pyz` says what it is; with `act`, an observation a line comes in, an action goes out."""
    player = load(sys.path[0])
    if arguments != ["act"]:
        print(json.dumps(player.about, indent=2))
        return
    for line in sys.stdin:
        try:
            print(json.dumps(as_json(player.act(json.loads(line)))), flush=True)
        except ValueError as error:
            sys.exit(f"error: {error}")


def as_json(action: Any) -> Any:
    """An action as plain numbers and lists."""
    return [as_json(part) for part in action] if isinstance(action, tuple) else np.asarray(action).tolist()
