"""How other teams will act: by their own actors, if these are given, or by actors inferred from play.

Inferred actors follow the likelihood of what was done, with no other knowledge of who did it (Lowe et al.,
2017, arXiv:1706.02275, section 4.2).
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.batch import TeamBatch
from comity.core.errors import ComityError
from comity.core.game import GameSpec, PerSeat
from comity.learn.action_numbers import to_numbers
from comity.learn.actor_net import ActorNet, ActorParams, Drawing
from comity.learn.q_critics import QCritics, sequence
from comity.nets.distributions import Categorical
from comity.nets.network import Network
from comity.returns.surrogates import weighted_mean

OthersActions = dict[int, Float[Array, "time game numbers"]]  # what seats of other teams do, by seat


def new_models(spec: GameSpec, team: tuple[int, ...], network: Network, key: Key) -> dict[str, ActorNet]:
    """Actors for the seats of other teams, by the number of the seat."""
    outside = [seat for seat in range(len(spec.seats)) if seat not in team]
    return {
        str(seat): ActorNet(network, spec.seats[seat], "plain", jax.random.fold_in(key, seat))
        for seat in outside
    }


def other_teams(
    critics: QCritics,
    models: dict[str, ActorNet],
    own: ActorNet,
    given: PerSeat[PyTree] | None,
    batch: TeamBatch,
    burn_in: int,
    key: Key,
) -> tuple[OthersActions, OthersActions]:
    """What the seats of other teams would do now in each step, and after it; nothing if no critic reads it.

    A seat of the own team that does not learn here holds a past self: it acts as the own actor does.
    """
    now, following = {}, {}
    for seat in range(len(critics.actions)) if critics.central else ():
        if seat in batch.seats:
            continue
        if seat in critics.team:
            actor = own
        else:
            actor = models[str(seat)] if str(seat) in models else _given_actor(given, seat)
        drawn = _draws(actor, batch, seat, burn_in, jax.random.fold_in(key, seat))
        now[seat], following[seat] = drawn
    return now, following


def _given_actor(others: PerSeat[PyTree] | None, seat: int) -> ActorNet:
    assert others is not None
    params = others[seat]
    if not isinstance(params, ActorParams):
        raise ComityError(
            f"critic.others given reads the actor in seat {seat}, which does not learn as this one does: set "
            f"critic.others to inferred."
        )
    if params.noise.shape[0] > 1:
        raise ComityError(
            "critic.others given needs others as they are now: train with self-play, or set critic.others to "
            "inferred."
        )
    actor: ActorNet = jax.tree.map(lambda x: x[0], params.actor)
    return actor


def _draws(
    actor: ActorNet, batch: TeamBatch, seat: int, burn_in: int, key: Key
) -> tuple[Float[Array, "time game numbers"], Float[Array, "time game numbers"]]:
    alone = (batch.joint.obs[seat], batch.joint.step.obs[seat])
    obs, next_obs = jax.tree.map(lambda x: x[:, None], alone)
    read = sequence(actor.torso, obs, next_obs, batch.resets[:, :1], batch.age, burn_in)
    features, memory = read.unroll(actor.torso)
    now_key, next_key = jax.random.split(key)
    now = actor.numbers(actor.of(features, read.now), now_key)
    after = actor.of(read.step_after(actor.torso, memory), read.following)
    return now[:, 0], actor.numbers(after, next_key)[:, 0]


def likelihood_loss(models: dict[str, ActorNet], batch: TeamBatch, burn_in: int) -> Float[Array, ""]:
    """Minus the mean log-likelihood of what other teams did, summed over their seats."""
    total = jnp.float32(0.0)
    for name, actor in models.items():
        seat = int(name)
        obs = jax.tree.map(lambda x: x[:, None], batch.joint.obs[seat])
        read = sequence(actor.torso, obs, obs, batch.resets[:, :1], batch.age, burn_in)
        drawing = actor.of(read.unroll(actor.torso)[0], read.now)
        done = batch.joint.action[seat][burn_in:, None]
        weight = batch.joint.alive[seat][burn_in:, None].astype(jnp.float32)
        total = total - weighted_mean(_log_likelihood(drawing, actor, done), weight)
    return total


def _log_likelihood(drawing: Drawing, actor: ActorNet, action: Array) -> Float[Array, "time row game"]:
    if isinstance(drawing, Categorical):
        return drawing.log_prob(action)
    numbers = to_numbers(actor.action, action)
    likelihood: Array = drawing.log_prob(numbers)  # type: ignore[union-attr]
    return likelihood
