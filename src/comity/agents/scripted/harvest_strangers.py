"""Selfish strangers of Commons Harvest: stand-ins for trained exploiters, of any strength.

Melting Pot seats five copies of an evaluated player with two trained exploiters.
These walk to the nearest apple, and make blunders where few are left; how often was fitted to what is known
of trained ones. A perfect walker bares the map whatever five others do.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.scripted.harvest import APPLE, ZAP, Harvester, plane
from comity.core.errors import require
from comity.core.game import GameSpec
from comity.learn.schedules import Linear

UNDRAWN = -1.0  # what a stranger is like is drawn when it first acts in an episode


class Character(NamedTuple):
    """What a stranger is like in this episode: its share of blunders, and whether it zaps (1) or not (0)."""

    blunders: Float[Array, ""]
    zapper: Float[Array, ""]


class Stranger(Harvester):
    """Walks to the nearest apple, with blunders where few are in sight: random steps, turns, or none at all.

    Where it sits while others learn, `blunders` may fall over the training (a curriculum), and `variety` and
    `zappers` mix strangers of several strengths and both kinds; they are drawn for each episode.
    """

    blunders: Linear = Linear(0.65, 0.65, 1.0)  # share of its moves that are random, over the training
    plenty: int = 4  # where so many apples are in sight, it makes none; 122: it always does
    variety: float = 0.0  # how much more or less than that it can be in an episode
    zappers: float = 0.0  # share of episodes in which it zaps
    zap_rate: float = 0.06  # how often a zapper fires, at nobody in particular

    def __check_init__(self) -> None:
        require(self.plenty >= 0, "plenty", self.plenty, "at least 0")
        for name in ("variety", "zappers", "zap_rate"):
            share = getattr(self, name)
            require(0.0 <= share <= 1.0, name, share, "between 0 and 1")
        for name in ("start", "end"):
            share = getattr(self.blunders, name)
            require(0.0 <= share <= 1.0, f"blunders.{name}", share, "between 0 and 1")

    def init(self, key: Key, spec: GameSpec, seats: tuple[int, ...]) -> Float[Array, ""]:
        return self.blunders(jnp.float32(1.0))

    def behaviour(self, state: Float[Array, ""], progress: Float[Array, ""]) -> Float[Array, ""]:
        return self.blunders(progress)

    def initial_carry(self, params: PyTree) -> Character:
        return Character(jnp.float32(UNDRAWN), jnp.float32(UNDRAWN))

    def rule(self, params: PyTree, carry: Character, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        walk_key, blunder_key, which_key, zap_key, own_key = jax.random.split(key, 5)
        own = self._character(params, carry, own_key)
        action, _ = super().rule(params, carry, obs, walk_key)
        few = plane(obs, APPLE).sum() < self.plenty
        blunder = few & (jax.random.uniform(blunder_key) < own.blunders)
        action = jnp.where(blunder, jax.random.randint(which_key, (), 0, ZAP), action)
        fires = jax.random.uniform(zap_key) < own.zapper * self.zap_rate
        return jnp.where(fires, ZAP, action).astype(jnp.int32), own

    def _character(self, blunders: Float[Array, ""], carry: Character, key: Key) -> Character:
        strength_key, kind_key = jax.random.split(key)
        more = self.variety * jax.random.uniform(strength_key, minval=-1.0, maxval=1.0)
        drawn = Character(
            jnp.clip(blunders + more, 0.0, 1.0),
            (jax.random.uniform(kind_key) < self.zappers).astype(jnp.float32),
        )
        fresh = carry.blunders < 0
        return Character(*(jnp.where(fresh, new, old) for new, old in zip(drawn, carry, strict=True)))


class Zapper(Stranger):
    """The same that also fires, at nobody in particular."""

    zappers: float = 1.0  # share of episodes in which it zaps
