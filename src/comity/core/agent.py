"""Agents: ways to act and to learn; what they get to learn from; players."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree
from jaxtyping import Key as KeyArray
from jaxtyping import PRNGKeyArray as Key

from comity.core.batch import TeamBatch, Trajectory
from comity.core.display import brief_settings, html_table
from comity.core.errors import ComityError, require
from comity.core.game import GameSpec, PerSeat, Seat
from comity.core.memory import Memory, OnPolicy
from comity.core.observations import read_observation
from comity.core.spaces import Discrete, describe
from comity.core.tunable import Number

PROBABILITY_DRAWS = 4096  # of an agent that cannot say how likely its actions are
Metrics = dict[str, Array]
Simulate = Callable[..., Trajectory]  # of the parameters in every seat, a key, and perhaps agents


class Act(NamedTuple):
    """One action, the memory after it, and extras to keep for learning."""

    action: PyTree
    carry: PyTree
    extras: PyTree


class Explained(NamedTuple):
    """What an update would follow in every step of what was played, leaves [time, seat, game].

    - `value`: what the critic expects before the step, in units of reward.
    - `own`: the seat's own advantage, and `others` those of the other players, [other, time, seat, game].
    - `past`: what the seat's own advantages came to so far as each of them is answered, like `others`.
    - `advantage`: what the policy follows: it makes the action more likely where it is positive, less likely
      where it is negative. What it has beyond `own` is the term by which the learner shapes others.
    """

    value: Float[Array, "time seat game"]
    own: Float[Array, "time seat game"]
    others: Float[Array, "other time seat game"]
    past: Float[Array, "other time seat game"]
    advantage: Float[Array, "time seat game"]


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
    spreads: ClassVar[bool] = False  # whether its update may see a part of the games (`comity.core.shards`)

    def __repr__(self) -> str:
        return brief_settings(self)

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

    def fit(self, state: PyTree, batch: TeamBatch) -> PyTree:
        """The state for batches of this shape (of which nothing but shapes is known); by default as it is."""
        return state

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

    def explain(self, state: PyTree, batch: TeamBatch) -> Explained | None:
        """What an update on this batch alone would follow; None for agents that follow no advantages."""
        return None


def communicates(agent: Agent) -> bool:
    """Whether the seats of a team do not act each by itself, so that they must be seated as one."""
    return type(agent).act_team is not Agent.act_team


class Player:
    """An agent with parameters: what a league plays, a player file holds, and programs of users act with.

    It keeps its memory from one `act` to the next, until `reset`. Observations may be several, along a first
    axis: each then has a memory of its own. What is drawn follows from the seed that `reset` was given.
    """

    def __init__(
        self, agent: Agent, params: PyTree, spec: GameSpec | None = None, seat: int = 0, name: str = ""
    ) -> None:
        if spec is not None:
            require(0 <= seat < len(spec.seats), "seat", seat, f"between 0 and {len(spec.seats) - 1}")
        self.agent = agent
        self.params = params
        self.spec = spec  # of the game that it was made for
        self.seat = seat
        self.name = name or type(agent).__name__
        self._count: int | None = None  # observations side by side; None for a single one
        self._carry: PyTree = None  # before the first act of an episode
        self.reset(seed=0)

    @property
    def place(self) -> Seat:
        """What its seat sees and does."""
        if self.spec is None:
            raise ComityError(
                f"{self.name} has no seat to act in: give it the spec of a game, Player(..., spec)."
            )
        return self.spec.seats[self.seat]

    @property
    def size(self) -> int:
        """How many numbers its parameters have."""
        return sum(int(jnp.size(leaf)) for leaf in jax.tree.leaves(self.params))

    def copy(self, seed: int = 0) -> "Player":
        """The same player with a memory of its own, to act in another game at the same time."""
        other = Player(self.agent, self.params, self.spec, self.seat, self.name)
        other.reset(seed=seed)
        return other

    def reset(self, where: Any = None, *, seed: int | None = None) -> None:
        """A new episode: the memory is cleared; with a seed, what is drawn begins anew too.

        Of several games side by side, `where` says in which ones the episode ended: truth values, one each.
        """
        if seed is not None:
            self._key, self._acts = jax.random.key(seed), 0
        if where is None or self._carry is None:
            self._carry = None
            return
        over = jnp.asarray(where)
        fits = over.shape == (() if self._count is None else (self._count,)) and over.dtype == jnp.bool_
        games = "one truth value" if self._count is None else f"{self._count} truth values, one for each game"
        require(fits, "where", where, games)
        fresh = self._initial(self._count)
        self._carry = jax.tree.map(
            lambda new, old: jnp.where(over.reshape(over.shape + (1,) * (old.ndim - over.ndim)), new, old),
            fresh,
            self._carry,
        )

    def act(self, obs: Any, *, deterministic: bool = False) -> PyTree:
        """What it does, as NumPy arrays; it remembers what it saw.

        `deterministic` does what is most likely instead of drawing.
        """
        seen, carry, count = self._begin(obs)
        key = jax.random.fold_in(self._key, self._acts)
        act = _jitted_act(self.agent, deterministic, count, self.params, carry, seen, key)
        self._acts += 1
        self._carry, self._count = act.carry, count
        return jax.tree.map(np.asarray, act.action)

    def probabilities(self, obs: Any) -> Float[np.ndarray, "*games choices"]:
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
        seen, carry, count = self._begin(obs)
        return np.asarray(_jitted_probabilities(self.agent, action.n, count, self.params, carry, seen))

    def _begin(self, obs: Any) -> tuple[PyTree, PyTree, int | None]:
        """An observation as arrays, the memory before it, and how many games there are."""
        seen, count = read_observation(self.place.observation, obs, f"the seat {self.place.name!r}")
        if self._carry is None:
            return seen, self._initial(count), count
        if count != self._count:
            before, now = (_games(number) for number in (self._count, count))
            raise ComityError(
                f"The episode began with {before} and obs is of {now}: reset() begins a new one."
            )
        return seen, self._carry, count

    def _initial(self, count: int | None) -> PyTree:
        carry = self.agent.initial_carry(self.params)
        if count is None:
            return carry
        return jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *jnp.shape(x))), carry)

    def _repr_html_(self) -> str:
        rows = [("agent", repr(self.agent)), ("numbers", f"{self.size:,}")]
        if self.spec is not None:
            place = self.place
            rows += [
                ("seat", f"{place.name} of {len(self.spec.seats)} in a game of the {self.spec.family} family")
            ]
            rows += [("sees", describe(place.observation)), ("does", describe(place.action))]
        return html_table((), rows, self.name)

    def __repr__(self) -> str:
        agent = type(self.agent).__name__
        own = "" if self.name == agent else f"{self.name}: "
        if self.spec is None:
            return f"<Player {own}{agent}, {self.size:,} numbers>"
        sees, does = describe(self.place.observation), describe(self.place.action)
        return f"<Player {own}{agent}, {self.size:,} numbers, sees {sees}, does {does}>"


def _games(count: int | None) -> str:
    return "a single game" if count is None else f"{count} games side by side"


def _act(
    agent: Agent, deterministic: bool, count: int | None, params: PyTree, carry: PyTree, obs: PyTree, key: Key
) -> Act:
    act = agent.most_likely if deterministic else agent.act
    if count is None:
        return act(params, carry, obs, key)
    return jax.vmap(act, in_axes=(None, 0, 0, 0))(params, carry, obs, jax.random.split(key, count))


def _probabilities(
    agent: Agent, choices: int, count: int | None, params: PyTree, carry: PyTree, obs: PyTree
) -> Float[Array, "*games choices"]:
    if count is None:
        return agent.action_probabilities(params, carry, obs, choices)
    return jax.vmap(lambda carry, obs: agent.action_probabilities(params, carry, obs, choices))(carry, obs)


_jitted_act = eqx.filter_jit(_act)
_jitted_probabilities = eqx.filter_jit(_probabilities)


def add_group_axis(params: Any) -> Any:
    """A tree with a new leading axis of length 1: one set of parameters as one group."""
    return jax.tree.map(lambda x: jnp.asarray(x)[None], params)


def stack(trees: list[Any] | tuple[Any, ...]) -> Any:
    """Trees of one structure as one tree with a new leading axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)
