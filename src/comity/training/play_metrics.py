"""What is measured of play: rewards, always the game's own, and returns and lengths of episodes."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from comity.core.agent import Metrics
from comity.core.batch import Trajectory
from comity.core.matchmaker import Lineup
from comity.core.shards import mean_over, total
from comity.training.experiment import Experiment
from comity.training.metrics import EPISODE, EPISODES

Returns = Float[Array, "seat game"]  # what each seat has earned so far in the episodes under way


class PlayMeasures(NamedTuple):
    """What one rollout showed; entries belong to seats, but for the two numbers of episodes.

    `ended` is what the episodes that ended in it earned, summed; `episodes` how many these were, `length` how
    many steps they had together, `returns` what the others have earned so far.
    """

    reward: Float[Array, " seat"]
    shaped: Float[Array, " seat"] | None  # the reward that is learned from, where it is another one
    ended: Float[Array, " seat"]
    episodes: Float[Array, ""]
    length: Float[Array, ""]
    returns: Returns


def no_returns(experiment: Experiment) -> Returns:
    """Of episodes that just began."""
    return jnp.zeros((len(experiment.game.seats), experiment.batch), jnp.float32)


def measure_play(played: Trajectory, returns: Returns) -> PlayMeasures:
    """What a rollout showed, given what the episodes under way had earned before it.

    All episodes of a game that ended in it earned together what was there before and what came up to the last
    end, so there is no need to go through them step by step.
    """
    reward = jnp.stack(played.step.game_reward, axis=1)  # [time, seat, game]
    done = played.step.terminated | played.step.truncated
    before_an_end = jax.lax.cummax(done.astype(jnp.int32), axis=0, reverse=True)  # [time, game]
    ends = before_an_end[:1] == 1  # [1, game]: whether any episode of the game ended
    closed = jnp.where(before_an_end[:, None] == 1, reward, 0.0).sum(axis=0)
    begun = jnp.where(before_an_end[:, None] == 1, 0.0, reward).sum(axis=0)
    lengths = jnp.where(ends[0], played.age + before_an_end.sum(axis=0), 0)
    shaped = jnp.stack([own.mean() for own in played.step.reward])
    return PlayMeasures(
        reward=mean_over(reward.mean(axis=(0, 2))),
        shaped=mean_over(shaped) if played.step.unshaped else None,
        ended=total(jnp.where(ends, returns + closed, 0.0).sum(axis=1)),
        episodes=total(done.sum().astype(jnp.float32)),
        length=total(lengths.sum().astype(jnp.float32)),
        returns=jnp.where(ends, 0.0, returns) + begun,
    )


def play_metrics(
    experiment: Experiment, lineups: Sequence[Lineup], measured: Sequence[PlayMeasures]
) -> Metrics:
    """Rewards per step and episodes of an iteration.

    `reward` is the mean over seats that learn; where the seats differ or have agents of their own, also seat
    by seat. What episodes were is not a number where none ended.
    """
    learning = [sorted(seat for _, seats in lineup.learning for seat in seats) for lineup in lineups]
    places = [(play, seat) for play, own in zip(measured, learning, strict=True) for seat in own]
    metrics = {"reward": _mean([play.reward[seat] for play, seat in places])}
    returns = {EPISODE + "return": _mean_return(places)}
    seats = experiment.game.seats
    if len(experiment.agents) > 1 or not experiment.game.symmetric:
        for number, seat in enumerate(seats):
            at = [play for play, own in zip(measured, learning, strict=True) if number in own] or measured
            metrics[f"reward/{seat.name}"] = _mean([play.reward[number] for play in at])
            returns[f"{EPISODE}return/{seat.name}"] = _mean_return([(play, number) for play in at])
    else:
        others = [
            play.reward[seat]
            for play, own in zip(measured, learning, strict=True)
            for seat in range(len(seats))
            if seat not in own
        ]
        metrics |= {"opponents_reward": _mean(others)} if others else {}
    shaped = [play.shaped[seat] for play, seat in places if play.shaped is not None]
    metrics |= {"shaped_reward": _mean(shaped)} if shaped else {}
    count = jnp.stack([play.episodes for play in measured]).sum()
    length = jnp.stack([play.length for play in measured]).sum() / count  # 0 / 0 where none ended
    return {**metrics, **returns, EPISODE + "length": length, EPISODES: count}


def _mean(numbers: list[Array]) -> Float[Array, ""]:
    return jnp.stack(numbers).mean()


def _mean_return(places: Sequence[tuple[PlayMeasures, int]]) -> Float[Array, ""]:
    total = jnp.stack([play.ended[seat] for play, seat in places]).sum()
    return total / jnp.stack([play.episodes for play, _ in places]).sum()
