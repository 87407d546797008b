"""Players to act with, one observation after the other: in a loop of one's own, a server, another framework.

player = comity.play.players.open_player("runs/coin/players/player.safetensors")
player.reset()
action = player.act(obs)
"""

from functools import partial
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import spaces
from comity.core.agent import Act, Agent, Player
from comity.core.errors import ComityError, bad_value, require
from comity.core.game import GameSpec, Seat
from comity.core.spaces import Discrete, describe
from comity.play.player_file import read_player


class SeatedPlayer:
    """A player in a seat, which keeps its memory between acts; `reset` begins a new episode.

    `deterministic` does what is most likely instead of drawing; what is drawn follows from `seed`.
    """

    def __init__(
        self, player: Player, spec: GameSpec, seat: int = 0, *, deterministic: bool = False, seed: int = 0
    ) -> None:
        require(0 <= seat < len(spec.seats), "seat", seat, f"between 0 and {len(spec.seats) - 1}")
        player.agent.check(spec, (seat,))
        self.player = player
        self.spec = spec
        self.seat = seat
        self.deterministic = deterministic
        self._key = jax.random.key(seed)
        self._acts = 0
        self.reset()

    @property
    def place(self) -> Seat:
        """What its seat sees and does."""
        return self.spec.seats[self.seat]

    def reset(self, seed: int | None = None) -> None:
        """A new episode: the memory is cleared; with a seed, what is drawn begins anew too."""
        self._carry = self.player.agent.initial_carry(self.player.params)
        if seed is not None:
            self._key, self._acts = jax.random.key(seed), 0

    def act(self, obs: PyTree) -> PyTree:
        """What the player does, as NumPy arrays; it remembers what it saw."""
        key = jax.random.fold_in(self._key, self._acts)
        act = _jitted_act(
            self.player.agent, self.deterministic, self.player.params, self._carry, self._checked(obs), key
        )
        self._acts += 1
        self._carry = act.carry
        return jax.tree.map(np.asarray, act.action)

    def probabilities(self, obs: PyTree) -> Float[np.ndarray, " choices"]:
        """How likely each choice is after what was seen; nothing is done and nothing is remembered.

        Only where the action is one of several choices. Agents that cannot say it are asked many times
        (`Agent.action_probabilities`).
        """
        action = self.place.action
        if not isinstance(action, Discrete):
            raise ComityError(
                f"There are no probabilities of {describe(action)}: only of an action that is one of several "
                f"choices."
            )
        found = _jitted_probabilities(
            self.player.agent, action.n, self.player.params, self._carry, self._checked(obs)
        )
        return np.asarray(found)

    def _checked(self, obs: PyTree) -> PyTree:
        """The observation as arrays, if it is one of the seat's space."""
        space = self.place.observation
        try:
            fits = spaces.contains(space, obs)
        except (TypeError, ValueError, IndexError):  # not a number, or not as long as the space's tuple
            fits = False
        if not fits:
            raise bad_value("obs", obs, f"{describe(space)}, as the seat {self.place.name!r} sees")
        return _as_arrays(space, obs)


def open_player(path: str | Path, *, deterministic: bool = False, seed: int = 0) -> SeatedPlayer:
    """The player of a file in the seat that it was trained in; its game need not be installed."""
    saved = read_player(Path(path))
    return SeatedPlayer(saved.player, saved.spec, saved.seat, deterministic=deterministic, seed=seed)


def _as_arrays(space: spaces.Space, obs: PyTree) -> PyTree:
    """Lists and numbers of the host in the types that games give."""
    match space:
        case Discrete():
            return np.asarray(obs, np.int32)
        case spaces.Box():
            array = np.asarray(obs)
            return array if array.dtype == np.uint8 else array.astype(np.float32)
        case spaces.Bits():
            return np.asarray(obs, np.int32)
        case spaces.Masked(observation=inner):
            return _as_arrays(inner, obs[0]), np.asarray(obs[1], np.bool_)
        case _:
            return tuple(_as_arrays(part, item) for part, item in zip(space, obs, strict=True))


def _act(agent: Agent, deterministic: bool, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> Act:
    act = partial(agent.most_likely if deterministic else agent.act, params, carry)
    return act(obs, key)


def _probabilities(
    agent: Agent, choices: int, params: PyTree, carry: PyTree, obs: PyTree
) -> Float[jax.Array, " choices"]:
    return agent.action_probabilities(params, carry, obs, choices)


_jitted_act = eqx.filter_jit(_act)
_jitted_probabilities = eqx.filter_jit(_probabilities)
