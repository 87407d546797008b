"""Agents: ways to act and to learn; what they get to learn from; players."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree
from jaxtyping import Key as KeyArray
from jaxtyping import PRNGKeyArray as Key

from comity.core.batch import TeamBatch, Trajectory
from comity.core.game import GameSpec, PerSeat
from comity.core.memory import Memory, OnPolicy
from comity.core.tunable import Number

PROBABILITY_DRAWS = 4096  # of an agent that cannot say how likely its actions are
Metrics = dict[str, Array]
Simulate = Callable[..., Trajectory]  # of the parameters in every seat, a key, and perhaps agents


class Act(NamedTuple):
    """One action, the memory after it, and extras to keep for learning."""

    action: PyTree
    carry: PyTree
    extras: PyTree


class Context(NamedTuple):
    """What an update may see beyond its team's batch, as far as its agent declares to need it.

    - `progress`: the share of the training that is done, 0 to 1, for schedules.
    - `others`: the parameters in every seat, leaves [groups, ...].
    - `simulate`: plays new games with given parameters, and given agents if they are not those that played.
    - `values`: the game's `exact_returns`.
    """

    progress: Float[Array, ""]
    others: PerSeat[PyTree] | None = None
    simulate: Simulate | None = None
    values: Callable[[PerSeat[Array], Number], Array] | None = None


class Agent(eqx.Module):
    """A way to act and to learn. Its fields are hyper-parameters; it holds no state.

    `learns` is false for players that follow a fixed rule. `needs` says what an update reads beyond its
    own batch, a subset of {"others", "simulate", "values"}, so that the information an algorithm assumes
    is visible.
    """

    learns: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset()

    @property
    def memory(self) -> Memory:
        """What the agent learns from: by default the last rollout."""
        return OnPolicy()

    @abstractmethod
    def check(self, spec: GameSpec, seats: tuple[int, ...]) -> None:
        """Raises a `ComityError` that says why if this agent cannot play in these seats of a game."""

    @abstractmethod
    def init(self, key: Key, spec: GameSpec, seats: tuple[int, ...]) -> PyTree:
        """All that is learned by a team in these seats: parameters, optimiser, statistics; arrays only."""

    @abstractmethod
    def policy(self, state: PyTree) -> PyTree:
        """The parameters that act: what is saved and evaluated."""

    def behaviour(self, state: PyTree, progress: Float[Array, ""]) -> PyTree:
        """The parameters that act while learning; by default the policy."""
        return self.policy(state)

    @abstractmethod
    def initial_carry(self, params: PyTree) -> PyTree:
        """The memory at the start of an episode."""

    @abstractmethod
    def act(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> Act:
        """One action of one seat; without batch axes."""

    def act_team(self, params: PyTree, carry: PyTree, obs: PyTree, keys: KeyArray[Array, " seat"]) -> Act:
        """Actions of all seats of the team in one game, leaves [seat, ...]; by default each by itself."""
        return jax.vmap(self.act, in_axes=(None, 0, 0, 0))(params, carry, obs, keys)

    def most_likely(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> Act:
        """The action that is most likely; by default what the agent does, for agents that draw nothing."""
        return self.act(params, carry, obs, key)

    def most_likely_team(
        self, params: PyTree, carry: PyTree, obs: PyTree, keys: KeyArray[Array, " seat"]
    ) -> Act:
        """What is most likely for all seats of the team; agents with an `act_team` of their own say it."""
        return jax.vmap(self.most_likely, in_axes=(None, 0, 0, 0))(params, carry, obs, keys)

    def action_probabilities(
        self, params: PyTree, carry: PyTree, obs: PyTree, choices: int
    ) -> Float[Array, " choices"]:
        """How likely each of a seat's choices is; by default its share in many draws, for any agent."""
        keys = jax.random.split(jax.random.key(0), PROBABILITY_DRAWS)
        drawn = jax.vmap(lambda key: self.act(params, carry, obs, key).action)(keys)
        return jax.nn.one_hot(drawn, choices).mean(axis=0)

    def observe(self, state: PyTree, batch: TeamBatch) -> PyTree:
        """The state after play that is not to be learned from: for running statistics."""
        return state

    @abstractmethod
    def update(self, state: PyTree, batch: TeamBatch, context: Context, key: Key) -> tuple[PyTree, Metrics]:
        """One step of learning and its metrics."""


def communicates(agent: Agent) -> bool:
    """Whether the seats of a team do not act each by itself, so that they must be seated as one."""
    return type(agent).act_team is not Agent.act_team


class Player(NamedTuple):
    """An agent with parameters: what a league plays and a player file holds."""

    agent: Agent
    params: PyTree


def add_group_axis(params: Any) -> Any:
    """A tree with a new leading axis of length 1: one set of parameters as one group."""
    return jax.tree.map(lambda x: jnp.asarray(x)[None], params)


def stack(trees: list[Any] | tuple[Any, ...]) -> Any:
    """Trees of one structure as one tree with a new leading axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)
