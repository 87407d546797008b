"""What learners of action values from the last rollout share: lambda-returns, and a few passes over parts."""

from abc import abstractmethod
from typing import ClassVar

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int
from jaxtyping import PRNGKeyArray as Key

from comity.agents.off_policy.base import ActionValueAgent, ValueNets, ValueState
from comity.agents.on_policy.minibatches import minibatches
from comity.core.agent import Context, Metrics
from comity.core.batch import TeamBatch
from comity.core.errors import require
from comity.core.game import GameSpec
from comity.nets.mlp import MLP
from comity.nets.network import Network
from comity.returns.surrogates import weighted_mean


class RolloutValueAgent(ActionValueAgent):
    r"""Learns action values from the last rollout of many games, without a replay and without a slow copy.

    .. math:: Q(s_t, a_t) \leftarrow G_t = r_t + \gamma\big((1-\lambda) V(s_{t+1}) + \lambda G_{t+1}\big)
    """

    network: Network = MLP(width=128, depth=2, layer_norm=True)  # the shape of the network
    td_lambda: float = 0.65  # lambda of the targets: 0 is one step, 1 Monte-Carlo
    epochs: int = 4  # passes over each rollout
    minibatches: int = 4  # parts of a rollout, each of whole games

    tunable: ClassVar[tuple[str, ...]] = (*ActionValueAgent.tunable, "td_lambda")
    reads_others: ClassVar[bool] = False  # whether it learns from what the other seats did

    def __check_init__(self) -> None:
        require(0 <= self.td_lambda <= 1, "td_lambda", self.td_lambda, "between 0 and 1")
        for name in ("epochs", "minibatches"):
            require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")

    def init(self, key: Key, spec: GameSpec, seats: tuple[int, ...]) -> ValueState:
        nets = self.build(key, spec, seats)
        return ValueState(nets, None, self.optimiser.build().init(nets))

    @abstractmethod
    def state_values(
        self, nets: ValueNets, batch: TeamBatch
    ) -> tuple[Float[Array, "time stream game"], Float[Array, "time stream game"]]:
        """What each state and its true successor are worth to who does what looks best."""

    @abstractmethod
    def learned(self, nets: ValueNets, batch: TeamBatch) -> tuple[Float[Array, "time stream game"], Array]:
        """The value of what was done, and what else is to become small, a number."""

    def update(
        self, state: ValueState, batch: TeamBatch, context: Context, key: Key
    ) -> tuple[ValueState, Metrics]:
        value, next_value = self.state_values(state.nets, batch)
        returns = self.streams(batch).td_lambda(value, next_value, self.discount, self.td_lambda)
        target = jax.lax.stop_gradient(returns)
        if not self.reads_others:
            batch = batch.replace(everyone=None)  # so that minibatches do not copy it

        def loss(nets: ValueNets, part: TeamBatch, target: Array) -> tuple[Array, Metrics]:
            value, more = self.learned(nets, part)
            weight = self.streams(part).weight
            error = weighted_mean(self.errors(value, target), weight)
            return error + more, {"loss": error + more, "value": weighted_mean(value, weight)}

        def step(state: ValueState, games: Int[Array, " chosen"]) -> tuple[ValueState, Metrics]:
            part = (batch.take(games), jnp.take(target, games, axis=2))
            gradient, metrics = jax.grad(loss, has_aux=True)(state.nets, *part)
            nets, memory = self.apply_gradients(state, gradient, context.progress)
            return ValueState(nets, None, memory), metrics | {"gradient_norm": optax.tree.norm(gradient)}

        parts = minibatches(key, batch.games, self.epochs, self.minibatches)
        state, metrics = jax.lax.scan(step, state, parts)
        return state, jax.tree.map(lambda x: x.mean(axis=0), metrics)
