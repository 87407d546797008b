"""The settings of a critic: what it sees, what it values, and how it learns."""

from typing import ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.batch import TeamBatch
from comity.core.errors import ComityError, require
from comity.core.game import GameSpec, Seat
from comity.core.shards import take_games
from comity.core.spaces import Discrete, Space
from comity.core.tunable import Number
from comity.learn.advantages import over_team, team_advantages
from comity.learn.critic_net import CriticNet
from comity.learn.critic_values import CriticBatch, CriticValues
from comity.learn.statistics import ReturnNorm
from comity.learn.views import Own, View
from comity.nets.network import Network
from comity.returns.advantages import lambda_returns, step_discounts
from comity.returns.surrogates import clipped_value_loss, weighted_mean

Kind = Literal["value", "action-value", "afterstate"]


class CriticTargets(NamedTuple):
    """What a critic should have said, [time, seat, game, outputs], and what it said before the update.

    For a critic of afterstates `afterstate` is what the steps but the last are followed by, else None.
    """

    chosen: Float[Array, "time seat game outputs"]
    before: Float[Array, "time seat game outputs"]
    afterstate: Float[Array, "time seat game outputs"] | None

    def take(self, games: Int[Array, " chosen"]) -> "CriticTargets":
        """Some of the games."""
        taken: CriticTargets = jax.tree.map(lambda x: take_games(x, games, 2), self)
        return taken


class Critic(eqx.Module):
    """What a position, or an action in it, is worth: used in training only."""

    network: Network | None = None  # the shape of its network; by default that of the policy
    shared: bool = False  # whether it reads the policy's features instead
    view: View = Own()  # what it sees
    kind: Kind = "value"
    """value: V; action-value: Q, with V as its mean under the policy; afterstate: V that looks ahead to
    before chance draws, so that luck is no advantage"""
    learning_rate: float = 0.0  # its step size; 0: learned with the policy, by one step of one optimiser
    value_coef: float = 0.5  # weight of its loss
    td_lambda: float = 0.95  # lambda of its targets: 0 is TD(0) or SARSA, 1 Monte-Carlo
    target_tau: float = 1.0  # how fast a slow copy, which makes the targets, follows; 1: no slow copy
    loss: Literal["squared", "huber", "clipped"] = "squared"
    """of its errors; clipped: squared, of the value as it is limited by value_clip alone"""
    value_clip: float = 0.0  # how far the value may move in one update, with squared errors; 0: no limit
    persistent: bool = True  # whether its memory lasts over rollouts, as the policy's does
    norm: ReturnNorm = ReturnNorm()  # values as they are or normalised

    tunable: ClassVar[tuple[str, ...]] = ("learning_rate", "value_coef", "td_lambda")

    def __check_init__(self) -> None:
        require(self.learning_rate >= 0, "critic.learning_rate", self.learning_rate, "at least 0")
        require(self.value_coef >= 0, "critic.value_coef", self.value_coef, "at least 0")
        require(0.0 <= self.td_lambda <= 1.0, "critic.td_lambda", self.td_lambda, "between 0 and 1")
        require(0.0 < self.target_tau <= 1.0, "critic.target_tau", self.target_tau, "above 0 and at most 1")
        require(self.value_clip >= 0, "critic.value_clip", self.value_clip, "at least 0")
        if self.loss == "clipped":
            require(self.value_clip > 0, "critic.value_clip", self.value_clip, "above 0 with loss clipped")
        if self.shared:
            own = isinstance(self.view, Own)
            require(own, "critic.view", type(self.view).__name__.lower(), "own with critic.shared")
        if self.network is not None:
            self._check_popart(self.network)

    def check(self, spec: GameSpec, seats: tuple[int, ...], policy: Network) -> None:
        """Raises if the critic does not fit the seats; `policy` is the shape of the policy's network."""
        seat = spec.seats[seats[0]]
        self._check_popart(self.network or policy)
        if not self.shared:
            (self.network or policy).check(self.view.space(spec, seats))
        if self.kind == "action-value" and num_actions(seat.action) == 0:
            raise ComityError(
                "A critic of actions needs discrete actions, which this game does not have: use "
                "critic.kind value, or instead of loqa, which needs such a critic, adalign."
            )
        if self.kind == "afterstate" and not (any(seat.resampled) and isinstance(self.view, Own)):
            raise ComityError(
                "A critic of afterstates needs its own view in a game that says which numbers it draws anew "
                "at each step: use critic.kind value."
            )

    def build(
        self,
        spec: GameSpec,
        seats: tuple[int, ...],
        key: Key,
        policy: Network,
        features: int,
        outputs: int = 1,
    ) -> CriticNet:
        """A critic with new weights; the policy has the shape `policy` and so many features."""
        seat: Seat = spec.seats[seats[0]]
        return CriticNet(
            self.network or policy,
            self.view.space(spec, seats),
            key,
            shared_features=features if self.shared else None,
            outputs=outputs,
            actions=num_actions(seat.action) if self.kind == "action-value" else 0,
            resampled=seat.resampled if self.kind == "afterstate" else (),
            unit=self.norm.unit,
        )

    def _check_popart(self, network: Network) -> None:
        tabular = self.norm.popart and not network.head_bias
        require(not tabular, "critic.norm.popart", self.norm.popart, "false for a table")

    @property
    def acts_along(self) -> bool:
        """Whether the critic's memory follows the play, so that it lasts over rollouts."""
        return self.persistent and not self.shared and self.view.acts_along

    def batch(self, batch: TeamBatch, carry: PyTree) -> CriticBatch:
        """What the critic learns from along the seats of its team, for their own rewards."""
        waits = batch.everyone is None or bool(batch.everyone.acts)
        reads_actions = self.kind == "action-value"
        return CriticBatch(
            inputs=self.view.read(batch),
            next_inputs=self.view.read_next(batch),
            carry=carry,
            reward=batch.reward[..., None],
            terminated=batch.terminated,
            ended=batch.ended,
            resets=batch.resets,
            weight=batch.weight,
            next_acts=batch.next_acts if waits else None,
            age=batch.age,
            action=batch.action if reads_actions else (),
            probabilities=batch.extras.probabilities if reads_actions else (),
            bootstrap_probabilities=batch.bootstrap.probabilities if reads_actions else (),
        )

    def advantages(
        self, values: CriticValues, batch: CriticBatch, output: int, discount: Number, gae_lambda: Number
    ) -> Float[Array, "time seat game"]:
        """Generalised advantages for one of the rewards."""
        return team_advantages(
            batch.reward[..., output], values.value[..., output], values.next_value[..., output],
            batch.terminated, batch.ended, batch.next_acts, discount, gae_lambda,
        )  # fmt: skip

    def targets(
        self, now: CriticValues, slow: CriticValues, batch: CriticBatch, discount: Number
    ) -> CriticTargets:
        """TD(lambda) for values, SARSA(lambda) for action values, of a slow copy's values if there is one.

        Afterstates are values that are learned twice: as they are seen, and before chance draws.
        """
        kinds = range(batch.reward.shape[-1])
        if self.kind == "action-value":
            before = slow.chosen
            steps = [
                team_advantages(
                    batch.reward[..., i], slow.chosen[..., i], slow.next_chosen[..., i],
                    batch.terminated, batch.ended, batch.next_acts, discount, self.td_lambda,
                ) for i in kinds
            ]  # fmt: skip
            return CriticTargets(before + jnp.stack(steps, axis=-1), now.chosen, None)
        if self.kind == "value":
            steps = [self.advantages(slow, batch, i, discount, self.td_lambda) for i in kinds]
            return CriticTargets(slow.value + jnp.stack(steps, axis=-1), now.chosen, None)
        following = slow.next_value
        before = jnp.concatenate([jnp.zeros_like(following[:1]), following[:-1]])
        returns = jnp.stack([self._chance_averaged(before, following, batch, i, discount) for i in kinds], -1)
        return CriticTargets(returns, now.chosen, returns[1:])

    def error(
        self, net: CriticNet, values: CriticValues, targets: CriticTargets, batch: CriticBatch
    ) -> Float[Array, ""]:
        """How far the critic is from its targets, in its own units."""
        losses = [
            weighted_mean(self._misses(net, values.chosen, targets.chosen, targets.before), batch.weight)
        ]
        if targets.afterstate is not None:
            # What follows a step is worth the return from the next one on, where there is one.
            goes_on = jnp.where(batch.ended[:-1], 0.0, batch.weight[:-1])
            said = values.next_value[:-1]
            losses.insert(0, weighted_mean(self._misses(net, said, targets.afterstate, said), goes_on))
        return jnp.stack(losses).mean()

    def _misses(self, net: CriticNet, value: Array, target: Array, before: Array) -> Array:
        """The loss of each value, averaged over the kinds of reward."""
        value, target, before = (net.normalise(x) for x in (value, target, before))
        if self.loss == "huber":
            return optax.losses.huber_loss(value, target).mean(axis=-1)
        if self.loss == "clipped":
            value = before + jnp.clip(value - before, -self.value_clip, self.value_clip)
        elif self.value_clip > 0:
            return clipped_value_loss(value, before, target, self.value_clip).mean(axis=-1)
        return 0.5 * jnp.square(value - target).mean(axis=-1)

    def _chance_averaged(
        self, before: Array, following: Array, batch: CriticBatch, output: int, discount: Number
    ) -> Float[Array, "time seat game"]:
        """Lambda-returns that bootstrap from afterstates only, so that chance is averaged at each step."""
        returns: Array = over_team(lambda_returns)(
            batch.reward[..., output], before[..., output], following[..., output],
            batch.terminated, batch.ended, *self._discounts(batch, discount),
        )  # fmt: skip
        return returns

    def _discounts(self, batch: CriticBatch, discount: Number) -> tuple[Array, Array]:
        everywhere = jnp.ones_like(batch.weight)
        if batch.next_acts is None:
            return discount * everywhere, self.td_lambda * everywhere
        return step_discounts(batch.next_acts, discount, self.td_lambda)


def num_actions(action: Space) -> int:
    """The number of actions of a discrete space, else 0."""
    return action.n if isinstance(action, Discrete) else 0
