"""Players of different kinds as one agent, so that a whole league is one compiled program."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PyTree
from jaxtyping import Key as KeyArray
from jaxtyping import PRNGKeyArray as Key

from comity.core.agent import Act, Agent, Context, Metrics, Player, communicates
from comity.core.batch import TeamBatch
from comity.core.game import GameSpec


class MixedParams(NamedTuple):
    """A player in a crowd: the number of its kind, and parameters for every kind (only its own count)."""

    kind: Int[Array, ""]
    params: tuple[PyTree, ...]


class MixedAgent(Agent):
    """Acts as every kind at once and does what its own kind does."""

    kinds: tuple[Agent, ...]
    learns: ClassVar[bool] = False

    def check(self, spec: GameSpec, seats: tuple[int, ...]) -> None:
        for agent in self.kinds:
            agent.check(spec, seats)

    def init(self, key: Key, spec: GameSpec, seats: tuple[int, ...]) -> MixedParams:
        keys = jax.random.split(key, len(self.kinds))
        params = tuple(a.policy(a.init(k, spec, seats)) for a, k in zip(self.kinds, keys, strict=True))
        return MixedParams(jnp.int32(0), params)

    def policy(self, state: PyTree) -> PyTree:
        return state

    def initial_carry(self, params: MixedParams) -> PyTree:
        return tuple(agent.initial_carry(p) for agent, p in zip(self.kinds, params.params, strict=True))

    def act(self, params: MixedParams, carry: PyTree, obs: PyTree, key: Key) -> Act:
        members = zip(self.kinds, params.params, carry, strict=True)
        return _selected(params, [agent.act(own, memory, obs, key) for agent, own, memory in members])

    def update(self, state: PyTree, batch: TeamBatch, context: Context, key: Key) -> tuple[PyTree, Metrics]:
        return state, {}


class MixedTeams(MixedAgent):
    """The same where some kinds communicate: the seats of an occupant act as one team of each kind."""

    def act_team(
        self, params: MixedParams, carry: PyTree, obs: PyTree, keys: KeyArray[Array, " seat"]
    ) -> Act:
        members = zip(self.kinds, params.params, carry, strict=True)
        return _selected(params, [agent.act_team(own, memory, obs, keys) for agent, own, memory in members])


def _selected(params: MixedParams, acts: list[Act]) -> Act:
    """The action of a member's own kind, and the memories of all kinds."""

    def select(*options: Array) -> Array:
        return jnp.stack([x.astype(options[0].dtype) for x in options])[params.kind]

    return Act(jax.tree.map(select, *(act.action for act in acts)), tuple(act.carry for act in acts), ())


def mix(players: list[Player]) -> tuple[MixedAgent, list[MixedParams]]:
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
        members.append(MixedParams(jnp.int32(number), own))
    agents = tuple(kind.agent for kind in kinds)
    return MixedTeams(agents) if any(map(communicates, agents)) else MixedAgent(agents), members


def same_kind(first: Player, second: Player) -> bool:
    """Whether two players can sit in one stack: equal agents, parameters of equal shapes."""
    if first.agent != second.agent:
        return False
    structures: list[Any] = [jax.tree.structure(player.params) for player in (first, second)]
    if structures[0] != structures[1]:
        return False
    pairs = zip(jax.tree.leaves(first.params), jax.tree.leaves(second.params), strict=True)
    return all(a.shape == b.shape and a.dtype == b.dtype for a, b in pairs)
