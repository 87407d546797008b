"""What learners in the exact setting share: a table of logits, and all players' values as known functions.

They learn in iterated matrix games, where the value of memory-one policies is a closed formula
(`returns/markov.py`), by the rules for differentiable games (`returns/differentiable.py`). They know the
other players' parameters, and nothing that is played enters an update. What they ascend is the discounted
return, a sum; the metric `value` is per step.
"""

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.agent import Act, Agent, Context, Metrics
from comity.core.batch import TeamBatch
from comity.core.errors import ComityError, require
from comity.core.game import GameSpec
from comity.core.spaces import Discrete
from comity.returns.differentiable import Params, Values


class Logits(NamedTuple):
    """A policy: the logits of each action for each observation."""

    table: Float[Array, "*groups observations actions"]


class ExactAgent(Agent):
    """A table of logits whose discounted return is known as a function of everybody's tables."""

    learning_rate: float = 1.0  # step size
    discount: float = 0.96  # what the next step's reward counts
    initial: float = 0.5  # standard deviation of the first logits

    tunable: ClassVar[tuple[str, ...]] = ("learning_rate", "discount")
    needs: ClassVar[frozenset[str]] = frozenset({"others", "values"})

    def __check_init__(self) -> None:
        require(self.learning_rate > 0, "learning_rate", self.learning_rate, "above 0")
        require(0.0 <= self.discount < 1.0, "discount", self.discount, "at least 0 and below 1")
        require(self.initial >= 0, "initial", self.initial, "at least 0")

    def check(self, spec: GameSpec, seats: tuple[int, ...]) -> None:
        seat = spec.seats[seats[0]]
        if not isinstance(seat.observation, Discrete) or not isinstance(seat.action, Discrete):
            raise ComityError(
                "Learners with exact values play by a table, so they need discrete observations and actions, "
                "as in iterated matrix games."
            )

    def first_policy(self, key: Key, spec: GameSpec, seats: tuple[int, ...]) -> Logits:
        """A table of small random logits."""
        seat = spec.seats[seats[0]]
        assert isinstance(seat.observation, Discrete)
        assert isinstance(seat.action, Discrete)
        return Logits(self.initial * jax.random.normal(key, (seat.observation.n, seat.action.n), jnp.float32))

    def initial_carry(self, params: Logits) -> PyTree:
        return ()

    def act(self, params: Logits, carry: PyTree, obs: PyTree, key: Key) -> Act:
        return Act(jax.random.categorical(key, params.table[obs]), (), ())

    def most_likely(self, params: Logits, carry: PyTree, obs: PyTree, key: Key) -> Act:
        return Act(jnp.argmax(params.table[obs]), (), ())

    def action_probabilities(
        self, params: Logits, carry: PyTree, obs: PyTree, choices: int
    ) -> Float[Array, " choices"]:
        return jax.nn.softmax(params.table[obs])

    def known(
        self, batch: TeamBatch, context: Context
    ) -> tuple[Values, tuple[Float[Array, "groups _"], ...]]:
        """All players' discounted returns as a function of all logits, and the logits, with a group axis."""
        assert context.others is not None
        assert context.values is not None
        exact = context.values
        if not all(isinstance(other, Logits) for other in context.others):
            raise ComityError(
                "Learners with exact values need others of their kind, whose tables they know: naive, lola, "
                "sos, cola, lookahead or consensus."
            )
        tables = [other.table for other in context.others]
        shapes = [table.shape[1:] for table in tables]

        def values(params: Params) -> Float[Array, " players"]:
            logits = [flat.reshape(shape) for flat, shape in zip(params, shapes, strict=True)]
            return exact(tuple(jax.nn.softmax(table) for table in logits), self.discount)

        return values, tuple(table.reshape(table.shape[0], -1) for table in tables)


class ExactLearner(ExactAgent):
    """Gradient ascent along a rule for differentiable games."""

    @abstractmethod
    def directions(self, values: Values, params: Params) -> Params:
        """Where all players would move if all learned by this rule."""

    def init(self, key: Key, spec: GameSpec, seats: tuple[int, ...]) -> Logits:
        return self.first_policy(key, spec, seats)

    def policy(self, state: Logits) -> Logits:
        return state

    def update(self, state: Logits, batch: TeamBatch, context: Context, key: Key) -> tuple[Logits, Metrics]:
        values, flat = self.known(batch, context)

        def group(params: Params) -> tuple[Array, Array]:
            directions, returns = self.directions(values, params), values(params)
            own = [directions[seat].reshape(state.table.shape) for seat in batch.seats]
            return jnp.stack(own).mean(axis=0), jnp.stack([returns[seat] for seat in batch.seats]).mean()

        directions, returns = jax.vmap(group)(flat)
        direction = directions.mean(axis=0)
        value = (1.0 - self.discount) * returns.mean()
        metrics = {"value": value, "gradient_norm": jnp.linalg.norm(direction)}
        return Logits(state.table + self.learning_rate * direction), metrics
