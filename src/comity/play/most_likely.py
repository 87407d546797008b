"""Players who do what is most likely instead of drawing: greedy evaluation."""

from typing import ClassVar

from jaxtyping import Array, PyTree
from jaxtyping import Key as KeyArray
from jaxtyping import PRNGKeyArray as Key

from comity.core.agent import Act, Agent, Context, Metrics, Player, communicates
from comity.core.batch import TeamBatch
from comity.core.errors import ComityError
from comity.core.game import GameSpec


class MostLikely(Agent):
    """Acts as another agent's `most_likely` does; it does not learn."""

    agent: Agent
    learns: ClassVar[bool] = False

    def check(self, spec: GameSpec, seats: tuple[int, ...]) -> None:
        self.agent.check(spec, seats)

    def init(self, key: Key, spec: GameSpec, seats: tuple[int, ...]) -> PyTree:
        return self.agent.policy(self.agent.init(key, spec, seats))

    def policy(self, state: PyTree) -> PyTree:
        return state

    def initial_carry(self, params: PyTree) -> PyTree:
        return self.agent.initial_carry(params)

    def act(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> Act:
        return self.agent.most_likely(params, carry, obs, key)

    def update(self, state: PyTree, batch: TeamBatch, context: Context, key: Key) -> tuple[PyTree, Metrics]:
        return state, {}


class MostLikelyTeam(MostLikely):
    """The same for seats that communicate."""

    def act_team(self, params: PyTree, carry: PyTree, obs: PyTree, keys: KeyArray[Array, " seat"]) -> Act:
        return self.agent.most_likely_team(params, carry, obs, keys)


def most_likely(player: Player) -> Player:
    """The player who always does what is most likely for it."""
    agent = player.agent
    if isinstance(agent, MostLikely):
        return player
    if not communicates(agent):
        return Player(MostLikely(agent), player.params, player.spec, player.seat, player.name)
    if type(agent).most_likely_team is Agent.most_likely_team:
        raise ComityError(
            f"{type(agent).__name__} communicates, and does not say what is most likely for its team: leave "
            f"--deterministic out, or give it a most_likely_team."
        )
    return Player(MostLikelyTeam(agent), player.params, player.spec, player.seat, player.name)
