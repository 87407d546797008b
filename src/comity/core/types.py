"""The protocols on which everything stands: seats, games, agents, players and what passes between them.

Per-seat data are tuples: entry i belongs to seat i and may differ in shape from its neighbours. There is
never a second copy of the code for "the other player", only another index.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import ComityError
from comity.core.spaces import Space

T = TypeVar("T")
PerSeat = tuple[T, ...]


class Seat(NamedTuple):
    """A place in a game: what whoever sits there sees and may do."""

    name: str
    observation: Space
    action: Space
    drawn: tuple[bool, ...] = ()  # which numbers of the observation chance draws anew, whatever was done
    everyone: tuple[Space, ...] = ()  # what all seats see, mine first: training tells it to its learners
    privileged: int = 0  # how many numbers the game's privileged view has: likewise


class TimeStep(NamedTuple):
    """What a game answers to a joint action.

    `obs` is always the true successor observation, never that of a new episode: a game does not reset
    itself. After `terminated` the future is worth nothing; after `truncated` the clock ran out and the
    value of `obs` stands for the future. A seat that left keeps its shapes and is marked not `alive`.
    """

    obs: PerSeat[PyTree]
    reward: PerSeat[Float[Array, "..."]]
    terminated: Bool[Array, "..."]
    truncated: Bool[Array, "..."]
    alive: PerSeat[Bool[Array, "..."]]


class Environment(eqx.Module):
    """A game in JAX, without batch axes; its fields are its settings."""

    @property
    @abstractmethod
    def horizon(self) -> int | None:
        """The number of steps after which every episode is truncated, None if it is not fixed."""

    @property
    @abstractmethod
    def family(self) -> str:
        """The kind of game: in all games of a family the same scripted players make sense."""

    @property
    @abstractmethod
    def seats(self) -> PerSeat[Seat]:
        """The seats of the game."""

    @property
    @abstractmethod
    def symmetric(self) -> bool:
        """Whether the seats can be exchanged, so that one policy serves in all of them."""

    @abstractmethod
    def reset(self, key: Key) -> tuple[PyTree, PerSeat[PyTree]]:
        """A new episode: its state and what each seat sees."""

    @abstractmethod
    def step(self, key: Key, state: PyTree, actions: PerSeat[PyTree]) -> tuple[PyTree, TimeStep]:
        """The joint action carried out."""

    def renew(self, key: Key, state: PyTree, over: Bool[Array, ""]) -> tuple[PyTree, PerSeat[PyTree]]:
        """A new episode after one that is `over`; if it is not, the answer is not used."""
        return self.reset(key)

    def present(self, state: PyTree) -> PerSeat[Bool[Array, ""]]:
        """Which seats are in the game at the start of an episode; by default all."""
        return (jnp.bool_(True),) * len(self.seats)

    @property
    def resumable(self) -> bool:
        """Whether a state that was saved can be gone on with in another process."""
        return True

    def view(self, state: PyTree) -> PyTree:
        """The privileged view, for centralised critics and pictures; by default the whole state."""
        return state

    def exact_values(
        self, probabilities: PerSeat[Float[Array, "observations _"]], discount: float
    ) -> Float[Array, " seats"]:
        """What each seat earns, summed and discounted, if it acts by a table of probabilities.

        Differentiable in the tables. Only for games in which that can be computed.
        """
        raise ComityError(
            "The value of a policy is not known exactly in this game, only in iterated matrix games: use an "
            "agent that learns from what was played."
        )


class Trajectory(NamedTuple):
    """What was played: leaves [time, batch, ...], but for `carry` and `age`, whose leaves are [batch, ...].

    - `obs`, `alive`: what each seat saw before it acted, and whether it was still in the game.
    - `action`, `extras`: what it did, and what its agent chose to keep (log-probability, value).
    - `carry`: each seat's memory at the start, to restart recurrence.
    - `step`: the game's answer; `step.obs` is the true successor.
    - `successor`: extras of a look at `step.obs`, valid where an episode ended and in the last step.
    - `view`, `next_view`: the game's privileged view before the step, and of its true successor.
    - `age`: how many steps each game had lasted at the start.
    """

    obs: PerSeat[PyTree]
    alive: PerSeat[Bool[Array, "time batch"]]
    action: PerSeat[PyTree]
    extras: PerSeat[PyTree]
    carry: PerSeat[PyTree]
    step: TimeStep
    successor: PerSeat[PyTree]
    view: PyTree
    next_view: PyTree
    age: Int[Array, " batch"]


Simulate = Callable[..., Trajectory]  # of the parameters in every seat, a key, and perhaps agents


class Experience(NamedTuple):
    """What an update may see.

    - `seats`: the seats that learn with these parameters: one, or several that share them.
    - `joint`: the trajectory of all seats.
    - `progress`: the share of the training that is done, 0 to 1, for schedules.
    - `others`: the parameters in every seat, leaves [groups, ...]; None unless the agent needs them.
    - `simulate`: plays new games with given parameters, and given agents if they are not those that played;
      None unless the agent needs it.
    - `values`: the game's `exact_values`; None unless the agent needs them.
    """

    seats: tuple[int, ...]
    joint: Trajectory
    progress: Float[Array, ""]
    others: PerSeat[PyTree] | None = None
    simulate: Simulate | None = None
    values: Callable[[PerSeat[Array], float], Array] | None = None


class Agent(eqx.Module):
    """A way to act and to learn. Its fields are hyper-parameters; it holds no state.

    `learns` is false for players that follow a fixed rule. `needs` says what an update reads beyond its
    own trajectory, a subset of {"others", "simulate", "values"}, so that the information an algorithm
    assumes is visible.
    """

    learns: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def check(self, seat: Seat) -> None:
        """Raises a `ComityError` that says why if this agent cannot play in the seat."""

    @abstractmethod
    def init(self, key: Key, seat: Seat) -> PyTree:
        """All that is learned: parameters, optimiser, statistics; arrays only."""

    @abstractmethod
    def params(self, state: PyTree) -> PyTree:
        """The part of the state that acts."""

    @abstractmethod
    def start(self, params: PyTree) -> PyTree:
        """The memory at the start of an episode."""

    @abstractmethod
    def act(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree, PyTree]:
        """One action, the memory after it, and extras to keep; without batch axes."""

    def watch(self, state: PyTree, experience: Experience) -> PyTree:
        """The state after a look at play that is not to be learned from: for running statistics."""
        return state

    @abstractmethod
    def update(self, state: PyTree, experience: Experience, key: Key) -> tuple[PyTree, dict[str, Array]]:
        """One step of learning and its metrics."""


class Player(NamedTuple):
    """An agent with parameters: what a league plays and a player file holds."""

    agent: Agent
    params: PyTree


class Occupant(NamedTuple):
    """Who sits where in a rollout.

    `params` has a leading axis of groups: the batch is cut into that many equal slices, and slice g is
    played with the parameters at index g. Several seats of one occupant act in one batched call.
    """

    seats: tuple[int, ...]
    agent: Agent
    params: PyTree


class Matchmaker(eqx.Module):
    """Who meets whom while learning: self-play, past selves from a buffer, leagues."""

    @property
    @abstractmethod
    def joint(self) -> bool:
        """Whether one rollout serves all learners, or each learner needs a rollout of its own."""

    @abstractmethod
    def check(self, seats: PerSeat[Seat], seating: tuple[tuple[int, ...], ...], batch: int) -> None:
        """Raises a `ComityError` if the matchmaker cannot serve these seats."""

    @abstractmethod
    def init(self, params: tuple[PyTree, ...]) -> PyTree:
        """An empty pool for learners with parameters of these shapes."""

    @abstractmethod
    def remember(self, pool: PyTree, params: tuple[PyTree, ...], iteration: Array) -> PyTree:
        """The pool after the iteration."""

    @abstractmethod
    def seat(
        self,
        pool: PyTree,
        agents: tuple[Agent, ...],
        params: tuple[PyTree, ...],
        seating: tuple[tuple[int, ...], ...],
        learner: int,
        key: Key,
    ) -> tuple[tuple[Occupant, ...], tuple[int, ...]]:
        """The occupants of a rollout for a learner, and the seats in which it learns."""


def with_everyone(game: Environment, seat: int) -> Seat:
    """A seat of a game that knows what all seats see, in the order that starts with it."""
    seats = game.seats
    order = seats[seat:] + seats[:seat]
    view = jax.eval_shape(lambda key: as_numbers(game.view(game.reset(key)[0])), jax.random.key(0))
    return seats[seat]._replace(
        everyone=tuple(other.observation for other in order), privileged=view.shape[-1]
    )


def as_numbers(view: PyTree, axes: int = 0) -> Float[Array, "... numbers"]:
    """All numbers and truth values of a tree as one vector, after some leading axes; keys are left out."""
    leaves = [x for x in jax.tree.leaves(view) if not jnp.issubdtype(x.dtype, jax.dtypes.prng_key)]
    if not leaves:
        return jnp.zeros(0)
    flat = [x.reshape((*x.shape[:axes], -1)).astype(jnp.float32) for x in leaves]
    return jnp.concatenate(flat, axis=-1)


def lead(params: Any) -> Any:
    """A tree with a new leading axis of length 1: one set of parameters as one group."""
    return jax.tree.map(lambda x: jnp.asarray(x)[None], params)


def stack(trees: list[Any] | tuple[Any, ...]) -> Any:
    """Trees of one structure as one tree with a new leading axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)
