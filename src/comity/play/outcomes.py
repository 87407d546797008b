r"""Social outcomes of what was played: welfare, equality, cooperation, exploitation.

With :math:`R_i` what seat i earned per step, N seats, and :math:`d_i` what it earns without any agreement:

    utilitarian welfare   sum_i R_i
    egalitarian welfare   min_i R_i
    Nash welfare          (prod_i max(R_i - d_i, 0))^(1/N)
    equality              1 - sum_{i<j} |R_i - R_j| / ((N - 1) sum_i |R_i|)
    exploitation gap      max_{j != i} R_j - R_i
    cooperation           cooperative choices / choices, where the game says what these are

All are measured game by game and then averaged, but for the exploitation gap and cooperation, which are those
of all games together. docs/outcomes.md says why.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from comity.core.agent import Metrics
from comity.core.batch import Trajectory
from comity.core.game import Cooperation, Environment, PerSeat
from comity.core.shards import mean_over, total

OUTCOME = "outcome/"  # begins the names of social outcomes among metrics
MEASURES = {  # of one game or episode: its name, and what it is called in tables
    "utilitarian_welfare": "utilitarian welfare",
    "egalitarian_welfare": "egalitarian welfare",
    "nash_welfare": "Nash welfare",
    "equality": "equality",
}


def equality(rewards: Float[Array, "seats *rest"]) -> Float[Array, " *rest"]:
    """How equal the first axis is, from 0 to 1, whatever the scale or the signs.

    1 if all are the same; 0 if one has all there is, or one gains all and another loses all. It is 1 minus
    the Gini coefficient in the normalisation of Raffinetti, Siletti and Vernizzi (2015), for positive rewards
    1 - G N / (N - 1). Where nobody has anything, everybody has the same: 1.
    """
    own, other = jnp.triu_indices(rewards.shape[0], 1)
    differences = jnp.abs(rewards[own] - rewards[other]).sum(axis=0)
    most = (rewards.shape[0] - 1) * jnp.abs(rewards).sum(axis=0)
    return 1.0 - jnp.where(most > 0, differences / jnp.where(most > 0, most, 1.0), 0.0)


def nash_welfare(
    rewards: Float[Array, "seats *rest"], disagreement: PerSeat[float] = ()
) -> Float[Array, " *rest"]:
    """The geometric mean of what the seats gain over their disagreement; 0 if one gains nothing."""
    count = rewards.shape[0]
    base = jnp.asarray(disagreement or (0.0,) * count, rewards.dtype)
    gains = jnp.maximum(rewards - base.reshape(count, *(1,) * (rewards.ndim - 1)), 0.0)
    return jnp.prod(gains ** (1.0 / count), axis=0)


def measures(
    rewards: Float[Array, "seats *rest"], disagreement: PerSeat[float]
) -> dict[str, Float[Array, " *rest"]]:
    """What can be said of rewards alone, under the names of `MEASURES`."""
    found = (rewards.sum(axis=0), rewards.min(axis=0), nash_welfare(rewards, disagreement), equality(rewards))
    return dict(zip(MEASURES, found, strict=True))


def exploitation_gaps(rewards: Float[Array, " seats"]) -> Float[Array, " seats"]:
    """How much more than each seat the best of the others earns; negative for who earns most."""
    others = jnp.where(jnp.eye(rewards.shape[0], dtype=jnp.bool_), -jnp.inf, rewards[None, :])
    return others.max(axis=1) - rewards


def cooperation(game: Environment, played: Trajectory) -> Cooperation | None:
    """What was cooperative and how many choices there were, [seat, game], summed over all steps."""
    found = jax.vmap(jax.vmap(game.cooperation))(played.state, played.action, played.next_state)
    if found is None:
        return None
    sums = [(own.cooperative.sum(axis=0), own.choices.sum(axis=0)) for own in found]
    return Cooperation(*(jnp.stack(part) for part in zip(*sums, strict=True)))


def outcome_metrics(game: Environment, played: Trajectory, learning: PerSeat[int]) -> Metrics:
    """The social outcomes of a rollout, by the names they have among metrics; none in a game of one seat.

    The exploitation gap is that of the learning seat where it is largest. Cooperation is of all seats that
    learn, and of each seat where the seats differ or do not all learn; it is not a number where nobody had a
    choice.
    """
    seats = game.seats
    if len(seats) < 2:
        return {}
    rewards = jnp.stack([reward.mean(axis=0) for reward in played.step.game_reward])  # [seat, game]
    found = {name: mean_over(value.mean()) for name, value in measures(rewards, game.disagreement).items()}
    found["exploitation_gap"] = exploitation_gaps(mean_over(rewards.mean(axis=1)))[
        jnp.asarray(learning)
    ].max()
    chosen = cooperation(game, played)
    if chosen is not None:
        cooperative, choices = total((chosen.cooperative.sum(axis=1), chosen.choices.sum(axis=1)))
        own = jnp.asarray(learning)
        found["cooperation"] = cooperative[own].sum() / choices[own].sum()  # 0 / 0 where nobody had a choice
        if not game.symmetric or len(learning) < len(seats):
            shares = cooperative / choices
            found |= {f"cooperation/{seat.name}": shares[i] for i, seat in enumerate(seats)}
    return {OUTCOME + name: value for name, value in found.items()}


def mean_outcomes(found: Sequence[Metrics]) -> Metrics:
    """The mean over several rollouts, without those in which something was not a number."""
    return {name: jnp.nanmean(jnp.stack([own[name] for own in found])) for name in found[0]}
