r"""Parallelised Q-learning (Gallici et al., 2025, arXiv:2407.04811): no replay and no slow copy.

.. math:: Q(s_t, a_t) \leftarrow G_t = r_t
          + \gamma\big((1-\lambda) \max_a Q(s_{t+1}, a) + \lambda G_{t+1}\big)

Many games side by side stand in for the replay, and normalised layers for the slow copy. Each rollout is
learned from in a few passes over parts of it.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.off_policy.base import ActionValueAgent, ValueNets, ValueState
from comity.agents.off_policy.team import joint_value, no_state
from comity.agents.on_policy.minibatches import minibatches
from comity.core.agent import Context, Metrics
from comity.core.batch import TeamBatch
from comity.core.errors import require
from comity.core.game import GameSpec
from comity.learn.sequences import Streams, seat_streams, team_streams
from comity.nets.mixers import SumMixer
from comity.nets.mlp import MLP
from comity.nets.network import Network
from comity.returns.surrogates import weighted_mean
from comity.returns.td import action_value


class PQN(ActionValueAgent):
    """Learns action values from the last rollout of many games, each seat by itself."""

    network: Network = MLP(width=128, depth=2, layer_norm=True)  # the shape of the network
    td_lambda: float = 0.65  # lambda of the targets: 0 is one step, 1 Monte-Carlo
    epochs: int = 4  # passes over each rollout
    minibatches: int = 4  # parts of a rollout, each of whole games

    tunable: ClassVar[tuple[str, ...]] = (*ActionValueAgent.tunable, "td_lambda")

    def __check_init__(self) -> None:
        require(0 <= self.td_lambda <= 1, "td_lambda", self.td_lambda, "between 0 and 1")
        for name in ("epochs", "minibatches"):
            require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")

    def init(self, key: Key, spec: GameSpec, seats: tuple[int, ...]) -> ValueState:
        nets = self.build(key, spec, seats)
        return ValueState(nets, None, self.optimiser.build().init(nets))

    def streams(self, batch: TeamBatch) -> Streams:
        return seat_streams(batch)

    def value(
        self,
        nets: ValueNets,
        q: Float[Array, "time seat game choices"],
        action: Array,
        present: Bool[Array, "time seat game"],
        state: PyTree,
    ) -> Float[Array, "time stream game"]:
        return jnp.where(present, action_value(q, action), 0.0)

    def update(
        self, state: ValueState, batch: TeamBatch, context: Context, key: Key
    ) -> tuple[ValueState, Metrics]:
        target = self.targets(state.nets, batch)
        batch = batch.replace(everyone=None)  # so that minibatches do not copy it

        def loss(nets: ValueNets, part: TeamBatch, target: Array) -> tuple[Array, Metrics]:
            value = self.value(nets, nets.q.along(part), part.action, part.alive, part.state)
            weight = self.streams(part).weight
            error = weighted_mean(self.errors(value, target), weight)
            return error, {"loss": error, "value": weighted_mean(value, weight)}

        def step(state: ValueState, games: Int[Array, " chosen"]) -> tuple[ValueState, Metrics]:
            part = (batch.take(games), jnp.take(target, games, axis=2))
            gradient, metrics = jax.grad(loss, has_aux=True)(state.nets, *part)
            nets, memory = self.apply_gradients(state, gradient, context.progress)
            return ValueState(nets, None, memory), metrics | {"gradient_norm": optax.tree.norm(gradient)}

        parts = minibatches(key, batch.games, self.epochs, self.minibatches)
        state, metrics = jax.lax.scan(step, state, parts)
        return state, jax.tree.map(lambda x: x.mean(axis=0), metrics)

    def targets(self, nets: ValueNets, batch: TeamBatch) -> Float[Array, "time stream game"]:
        """Lambda-returns from the best actions' values; no gradient."""
        q, following = nets.q.along_with_next(batch)
        value = self.value(nets, q, jnp.argmax(q, axis=-1), batch.alive, batch.state)
        best = jnp.argmax(following, axis=-1)
        next_value = self.value(nets, following, best, ~batch.terminated, batch.next_state)
        returns = self.streams(batch).td_lambda(value, next_value, self.discount, self.td_lambda)
        return jax.lax.stop_gradient(returns)


class PQNVDN(PQN):
    """PQN for a team whose joint value is the sum of its seats' values, paid the mean of their rewards."""

    def build_mixer(self, spec: GameSpec, seats: tuple[int, ...], key: Key) -> SumMixer:
        return SumMixer()

    def streams(self, batch: TeamBatch) -> Streams:
        return team_streams(batch)

    def value(
        self,
        nets: ValueNets,
        q: Float[Array, "time seat game choices"],
        action: Array,
        present: Bool[Array, "time seat game"],
        state: PyTree,
    ) -> Float[Array, "time stream game"]:
        return joint_value(nets, q, action, present, no_state(q))
