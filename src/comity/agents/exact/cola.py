r"""Consistent LOLA (Willi et al., 2022, arXiv:2203.04098), with exact values.

LOLA takes the others for naive learners, although they may look ahead themselves. COLA seeks moves that are
consistent: each player's is the answer to the others' moves of the same kind. A network learns all players'
moves as functions of all parameters, by the consistency loss

.. math:: \sum_i \big\|h_i(\theta) - \alpha\nabla_i V^i(\theta_i, \theta_{-i} + h_{-i}(\theta))\big\|^2

at parameters drawn at random; then the agent moves by its part of them, within the range that was drawn.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float
from jaxtyping import PRNGKeyArray as Key

from comity.agents.exact.base import ExactAgent, Logits
from comity.core.agent import Context, Metrics
from comity.core.batch import TeamBatch
from comity.core.errors import require
from comity.core.game import GameSpec
from comity.core.spaces import Discrete
from comity.learn.optimisers import Adam, apply_gradients
from comity.nets.linear import Linear
from comity.returns.differentiable import Params, Values, answers

HARDLY = 0.01  # share of its moves that an agent makes while it still learns what they are
RANGE = 2.0  # how many standard deviations of what was drawn logits may reach: beyond, moves are not known


class MoveNetwork(eqx.Module):
    """All players' moves, from all players' parameters."""

    layers: tuple[Linear, ...]

    def __init__(self, size: int, width: int, key: Key) -> None:
        keys = jax.random.split(key, 3)
        sizes = [(size, width), (width, width), (width, size)]
        self.layers = tuple(Linear(a, b, 1.0, k) for (a, b), k in zip(sizes, keys, strict=True))

    def __call__(self, params: Params) -> Params:
        x = jnp.concatenate(params)
        for layer in self.layers[:-1]:
            x = jnp.tanh(layer(x))
        ends = [sum(own.shape[0] for own in params[: i + 1]) for i in range(len(params) - 1)]
        return tuple(jnp.split(self.layers[-1](x), ends))


class ColaState(NamedTuple):
    """The policy, what is thought of everybody's moves, and the optimiser's memory."""

    policy: Logits
    moves: MoveNetwork
    memory: optax.OptState


class COLA(ExactAgent):
    """Moves that are consistent with the others' moves of the same kind, learned first and then followed."""

    learning_rate: float = 0.3  # share of a move that is made
    step: float = 0.3  # how long a move is, on the gradient of the value
    moves_first: float = 0.5  # share of the training in which moves are learned and hardly made
    moves_steps: int = 8  # steps of learning the moves in each iteration
    moves_rate: float = 2e-3  # step size of the network of moves, falling to 0
    moves_width: int = 64  # units of its hidden layers
    samples: int = 64  # parameters drawn for each of these steps
    spread: float = 2.0  # standard deviation of the parameters drawn

    def __check_init__(self) -> None:
        require(0.0 <= self.moves_first < 1.0, "moves_first", self.moves_first, "at least 0 and below 1")
        for name in ("moves_steps", "moves_width", "samples"):
            require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        for name in ("step", "moves_rate", "spread"):
            require(getattr(self, name) > 0, name, getattr(self, name), "above 0")

    def init(self, key: Key, spec: GameSpec, seats: tuple[int, ...]) -> ColaState:
        seat = spec.seats[seats[0]]
        policy_key, moves_key = jax.random.split(key)
        sizes = [_logits(seat.observation) * _logits(seat.action)] * max(len(spec.seats), 2)
        moves = MoveNetwork(sum(sizes), self.moves_width, moves_key)
        return ColaState(self.first_policy(policy_key, spec, seats), moves, self._optimiser().init(moves))

    def policy(self, state: ColaState) -> Logits:
        return state.policy

    def update(
        self, state: ColaState, batch: TeamBatch, context: Context, key: Key
    ) -> tuple[ColaState, Metrics]:
        values, flat = self.known(batch, context)
        here = tuple(own[0] for own in flat)
        rate = 1.0 - context.progress  # falls to 0

        def learn(carry, step_key):  # type: ignore[no-untyped-def]
            moves, memory = carry
            keys = jax.random.split(step_key, len(here))
            drawn = tuple(
                self.spread * jax.random.normal(k, (self.samples, *own.shape))
                for k, own in zip(keys, here, strict=True)
            )
            loss, gradient = jax.value_and_grad(self.inconsistency)(moves, values, drawn)
            return apply_gradients(self._optimiser(), gradient, memory, moves, rate), loss

        first = (state.moves, state.memory)
        (moves, memory), losses = jax.lax.scan(learn, first, jax.random.split(key, self.moves_steps))
        begun = jnp.where(context.progress >= self.moves_first, 1.0, HARDLY)
        all_moves = moves(here)
        own = jnp.stack([all_moves[seat] for seat in batch.seats]).mean(axis=0)
        table = state.policy.table + begun * self.learning_rate * own.reshape(state.policy.table.shape)
        table = jnp.clip(table, -RANGE * self.spread, RANGE * self.spread)
        value = jnp.stack([values(here)[seat] for seat in batch.seats]).mean()
        return ColaState(Logits(table), moves, memory), {
            "value": (1.0 - self.discount) * value,
            "inconsistency": losses.mean(),
            "gradient_norm": jnp.linalg.norm(own),
        }

    def inconsistency(
        self, moves: MoveNetwork, values: Values, drawn: tuple[Float[Array, "samples _"], ...]
    ) -> Float[Array, ""]:
        """How far moves are from the answers to themselves: the mean over drawn parameters."""

        def at(params: Params) -> Float[Array, ""]:
            wanted = answers(values, params, moves, self.step)
            misses = [jnp.square(x - y).sum() for x, y in zip(moves(params), wanted, strict=True)]
            return jnp.stack(misses).sum()

        return jax.vmap(at)(drawn).mean()

    def _optimiser(self) -> optax.GradientTransformation:
        return Adam(self.moves_rate, max_grad_norm=1e3).build()


def _logits(space: object) -> int:
    assert isinstance(space, Discrete)
    return space.n
