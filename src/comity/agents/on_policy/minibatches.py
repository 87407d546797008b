"""Parts of a rollout: of whole games, or of single steps where nothing is remembered."""

from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.batch import SEAT_FIELDS, TeamBatch
from comity.core.errors import ComityError, require
from comity.learn.critic_net import CriticNet
from comity.learn.critic_values import CriticBatch
from comity.learn.critics import CriticTargets

Order = Literal["games", "steps", "in-order"]
Rollout = tuple[TeamBatch, CriticBatch, CriticTargets, Float[Array, "..."]]


def minibatches(
    key: Key, games: int, epochs: int, parts: int, order: Order = "games"
) -> Int[Array, "steps chosen"]:
    """Which games, or single steps, are in which part of a rollout, for all epochs one after another."""
    unit = "games" if order == "games" else "single steps"
    require(games % parts == 0, "minibatches", parts, f"a divisor of the {games} {unit} of a batch")
    if order == "in-order":
        orders = jnp.tile(jnp.arange(games), (epochs, 1))
    else:
        orders = jax.vmap(lambda k: jax.random.permutation(k, games))(jax.random.split(key, epochs))
    return orders.reshape(epochs * parts, games // parts)


def single_steps(
    batch: TeamBatch,
    read: CriticBatch,
    targets: CriticTargets,
    advantage: Float[Array, "time seat game"],
    critic: CriticNet,
) -> Rollout:
    """The rollout as games of one step each, those of the first step of all games first.

    Raises where that would tear apart what belongs together: memories, or a step and what chance made of it.
    """
    memory = () if critic.torso is None else critic.torso.initial_carry()
    if jax.tree.leaves((batch.carry, memory)) or critic.resampled:
        raise ComityError(
            "minibatch_order steps and in-order need a policy and a critic without memory, and no critic of "
            "afterstates: use games."
        )
    time = advantage.shape[0]

    def cut(tree: PyTree) -> PyTree:
        """[time, seat, game, ...] as [1, seat, time * game, ...]."""
        return jax.tree.map(
            lambda x: jnp.moveaxis(x, 0, 1).reshape((1, x.shape[1], time * x.shape[2], *x.shape[3:])), tree
        )

    def cut_state(tree: PyTree) -> PyTree:
        """[time, game, ...] as [1, time * game, ...]."""
        return jax.tree.map(lambda x: x.reshape((1, time * x.shape[1], *x.shape[2:])), tree)

    age = jnp.tile(batch.age, time)
    steps = batch.replace(
        **{name: cut(getattr(batch, name)) for name in SEAT_FIELDS},
        state=cut_state(batch.state),
        next_state=cut_state(batch.next_state),
        age=age,
        everyone=None,
    )
    along = {name: cut(x) for name, x in read._asdict().items() if name not in ("carry", "age")}
    critic_steps = CriticBatch(**along, carry=read.carry, age=age)
    return steps, critic_steps, cut(targets), cut(advantage)
