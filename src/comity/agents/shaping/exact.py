"""What learners in the exact setting share: a table of logits, and all players' values as known functions.

They learn in iterated matrix games, where the value of memory-one policies is a closed formula
(`returns/markov.py`), by the rules for differentiable games (`returns/differentiable.py`). They know the
other players' parameters, and nothing that is played enters an update.
"""

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import ComityError, require
from comity.core.spaces import Discrete
from comity.core.types import Agent, Experience, Seat
from comity.returns.differentiable import Params, Values


class Logits(NamedTuple):
    """A policy: the logits of each action for each observation."""

    table: Float[Array, "*groups observations actions"]


class ExactLearner(Agent):
    """Gradient ascent along a rule for differentiable games."""

    learning_rate: eqx.AbstractVar[float]
    discount: eqx.AbstractVar[float]
    initial: eqx.AbstractVar[float]

    needs: ClassVar[frozenset[str]] = frozenset({"others", "values"})

    def __check_init__(self) -> None:
        require(self.learning_rate > 0, "learning_rate", self.learning_rate, "above 0")
        require(0.0 <= self.discount < 1.0, "discount", self.discount, "at least 0 and below 1")
        require(self.initial >= 0, "initial", self.initial, "at least 0")

    @abstractmethod
    def directions(self, values: Values, params: Params) -> Params:
        """Where all players would move if all learned by this rule."""

    def check(self, seat: Seat) -> None:
        if not isinstance(seat.observation, Discrete) or not isinstance(seat.action, Discrete):
            raise ComityError(
                "Learners with exact values play by a table, so they need discrete observations and actions, "
                "as in iterated matrix games."
            )

    def init(self, key: Key, seat: Seat) -> Logits:
        assert isinstance(seat.observation, Discrete)
        assert isinstance(seat.action, Discrete)
        return Logits(self.initial * jax.random.normal(key, (seat.observation.n, seat.action.n), jnp.float32))

    def params(self, state: Logits) -> Logits:
        return state

    def start(self, params: Logits) -> PyTree:
        return ()

    def act(self, params: Logits, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree, PyTree]:
        return jax.random.categorical(key, params.table[obs]), (), ()

    def known(self, experience: Experience) -> tuple[Values, tuple[Float[Array, "groups _"], ...]]:
        """All players' values as a function of all their logits, and these logits, with an axis of groups."""
        assert experience.others is not None
        assert experience.values is not None
        exact = experience.values
        if not all(isinstance(other, Logits) for other in experience.others):
            raise ComityError(
                "Learners with exact values need others of their kind, whose tables they know: naive, lola, "
                "sos, cola, lookahead or consensus."
            )
        tables = [other.table for other in experience.others]
        shapes = [table.shape[1:] for table in tables]

        def values(params: Params) -> Float[Array, " players"]:
            logits = [flat.reshape(shape) for flat, shape in zip(params, shapes, strict=True)]
            return exact(tuple(jax.nn.softmax(table) for table in logits), self.discount)

        return values, tuple(table.reshape(table.shape[0], -1) for table in tables)

    def update(self, state: Logits, experience: Experience, key: Key) -> tuple[Logits, dict[str, Array]]:
        values, flat = self.known(experience)

        def group(params: Params) -> tuple[Array, Array]:
            ways, worth = self.directions(values, params), values(params)
            own = [ways[seat].reshape(state.table.shape) for seat in experience.seats]
            return jnp.stack(own).mean(axis=0), jnp.stack([worth[seat] for seat in experience.seats]).mean()

        ways, worth = jax.vmap(group)(flat)
        way = ways.mean(axis=0)
        metrics = {"value": (1.0 - self.discount) * worth.mean(), "gradient_norm": jnp.linalg.norm(way)}
        return Logits(state.table + self.learning_rate * way), metrics
