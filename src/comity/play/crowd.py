"""Players of different kinds as one agent, so that a whole league is one compiled program."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.types import Agent, Experience, Player, Seat


class Member(NamedTuple):
    """A player in a crowd: the number of its kind, and parameters for every kind (only its own count)."""

    kind: Int[Array, ""]
    params: tuple[PyTree, ...]


class Crowd(Agent):
    """Acts as every kind at once and does what its own kind does."""

    kinds: tuple[Agent, ...]
    learns: ClassVar[bool] = False

    def check(self, seat: Seat) -> None:
        for agent in self.kinds:
            agent.check(seat)

    def init(self, key: Key, seat: Seat) -> Member:
        keys = jax.random.split(key, len(self.kinds))
        params = tuple(a.params(a.init(k, seat)) for a, k in zip(self.kinds, keys, strict=True))
        return Member(jnp.int32(0), params)

    def params(self, state: PyTree) -> PyTree:
        return state

    def start(self, params: Member) -> PyTree:
        return tuple(agent.start(p) for agent, p in zip(self.kinds, params.params, strict=True))

    def act(self, params: Member, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree, PyTree]:
        actions, memories = [], []
        for agent, own, memory in zip(self.kinds, params.params, carry, strict=True):
            action, memory, _ = agent.act(own, memory, obs, key)
            actions.append(action)
            memories.append(memory)

        def select(*options: Array) -> Array:
            return jnp.stack([x.astype(options[0].dtype) for x in options])[params.kind]

        return jax.tree.map(select, *actions), tuple(memories), ()

    def update(self, state: PyTree, experience: Experience, key: Key) -> tuple[PyTree, dict[str, Array]]:
        return state, {}


def gather(players: list[Player]) -> tuple[Crowd, list[Member]]:
    """A crowd of all kinds among some players, and each player as a member of it."""
    kinds: list[Player] = []
    numbers = []
    for player in players:
        same = [k for k, kind in enumerate(kinds) if same_kind(player, kind)]
        if not same:
            kinds.append(player)
        numbers.append(same[0] if same else len(kinds) - 1)
    members = []
    for player, number in zip(players, numbers, strict=True):
        own = tuple(player.params if k == number else kind.params for k, kind in enumerate(kinds))
        members.append(Member(jnp.int32(number), own))
    return Crowd(tuple(kind.agent for kind in kinds)), members


def same_kind(first: Player, second: Player) -> bool:
    """Whether two players can sit in one stack: equal agents, parameters of equal shapes."""
    if first.agent != second.agent:
        return False
    structures: list[Any] = [jax.tree.structure(player.params) for player in (first, second)]
    if structures[0] != structures[1]:
        return False
    pairs = zip(jax.tree.leaves(first.params), jax.tree.leaves(second.params), strict=True)
    return all(a.shape == b.shape and a.dtype == b.dtype for a, b in pairs)
