"""What was played: of all seats (`Trajectory`), and as a team learns from it (`TeamBatch`)."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from comity.core.errors import ComityError
from comity.core.game import PerSeat, TimeStep
from comity.core.shards import take_games


class Trajectory(NamedTuple):
    """What was played: leaves [time, game, ...], but for `carry` and `age`, whose leaves are [game, ...].

    - `obs`, `alive`: what each seat saw before it acted, and whether it was still in the game.
    - `action`, `extras`: what it did, and what its agent chose to keep (log-probability, value).
    - `carry`: each seat's memory at the start, to restart recurrence.
    - `step`: the game's answer; `step.obs` is the true successor.
    - `bootstrap`: extras of an act at `step.obs`, valid where an episode ended and in the last step.
    - `state`, `next_state`: the game's privileged view before the step, and of its true successor.
    - `age`: how many steps each game had lasted at the start.
    - `acts`: who decided something in each step; empty where everybody always does.
    """

    obs: PerSeat[PyTree]
    alive: PerSeat[Bool[Array, "time game"]]
    action: PerSeat[PyTree]
    extras: PerSeat[PyTree]
    carry: PerSeat[PyTree]
    step: TimeStep
    bootstrap: PerSeat[PyTree]
    state: PyTree
    next_state: PyTree
    age: Int[Array, " game"]
    acts: PerSeat[Bool[Array, "time game"]] = ()


class Drawn(NamedTuple):
    """Where in a prioritised memory each sequence was found, and its importance weight, leaves [game]."""

    place: Int[Array, " game"]
    importance: Float[Array, " game"]


class TeamBatch(eqx.Module):
    """What the seats of one team learn from: leaves [time, seat, game, ...].

    - `carry` has leaves [seat, game, ...]: the memories before the first step.
    - `terminated`: the game ended, or the seat left: the future is worth nothing.
    - `truncated`: the clock ran out.
    - `resets`: memories are cleared before this step.
    - `acts`, `next_acts`: whether the seat decides something in this step, and in the one after it.
    - `state`, `next_state` are the game's and have no axis of seats: [time, game, ...]; `age` is [game].
    - `everyone` is the trajectory of all seats, the team's and the others'; a replay may leave it out.
    - `drawn` is where a prioritised memory found each sequence, and what it counts; else None.
    """

    obs: PyTree
    next_obs: PyTree
    action: PyTree
    extras: PyTree
    bootstrap: PyTree
    reward: Float[Array, "time seat game"]
    terminated: Bool[Array, "time seat game"]
    truncated: Bool[Array, "time seat game"]
    resets: Bool[Array, "time seat game"]
    alive: Bool[Array, "time seat game"]
    acts: Bool[Array, "time seat game"]
    next_acts: Bool[Array, "time seat game"]
    carry: PyTree
    state: PyTree
    next_state: PyTree
    age: Int[Array, " game"]
    everyone: Trajectory | None
    seats: tuple[int, ...] = eqx.field(static=True)
    drawn: Drawn | None = None

    @property
    def ended(self) -> Bool[Array, "time seat game"]:
        """Where a seat's episode ended, for whatever reason."""
        return self.terminated | self.truncated

    @property
    def weight(self) -> Float[Array, "time seat game"]:
        """1 where the seat was in the game, else 0: what a critic learns from."""
        return self.alive.astype(jnp.float32)

    @property
    def decides(self) -> Float[Array, "time seat game"]:
        """1 where the seat was in the game and acted, else 0: what a policy learns from."""
        return (self.alive & self.acts).astype(jnp.float32)

    @property
    def games(self) -> int:
        """How many games there are side by side."""
        return int(self.reward.shape[2])

    @property
    def joint(self) -> Trajectory:
        """What all seats did, the team's and the others'."""
        if self.everyone is None:
            raise ComityError(
                "This memory keeps only what the team itself saw: set memory.joint to true, or use an "
                "on-policy memory."
            )
        return self.everyone

    def replace(self, **changes: Any) -> "TeamBatch":
        """The batch with some fields changed."""
        return dataclasses.replace(self, **changes)

    def take(self, games: Int[Array, " chosen"]) -> "TeamBatch":
        """Some of the games, whole sequences with all seats of the team."""
        return dataclasses.replace(
            self,
            **{
                name: jax.tree.map(lambda x, axis=axis: take_games(x, games, axis), getattr(self, name))
                for name, axis in _GAME_AXIS.items()
            },
            everyone=None if self.everyone is None else _take_joint(self.everyone, games),
        )


SEAT_FIELDS = (
    "obs", "next_obs", "action", "extras", "bootstrap", "reward", "terminated", "truncated", "resets",
    "alive", "acts", "next_acts",
)  # fmt: skip
_GAME_AXIS = {**dict.fromkeys(SEAT_FIELDS, 2), "carry": 1, "state": 1, "next_state": 1, "age": 0, "drawn": 0}


def team_batch(joint: Trajectory, seats: tuple[int, ...]) -> TeamBatch:
    """What was played, as the seats of one team saw it."""
    step = joint.step
    done = step.terminated | step.truncated
    resets = jnp.concatenate([jnp.zeros_like(done[:1]), done[:-1]])
    everybody = jnp.ones_like(done)
    acts = [joint.acts[i] if joint.acts else everybody for i in seats]
    next_acts = [step.acts[i] if step.acts else everybody for i in seats]
    return TeamBatch(
        obs=stack_seats([joint.obs[i] for i in seats]),
        next_obs=stack_seats([step.obs[i] for i in seats]),
        action=stack_seats([joint.action[i] for i in seats]),
        extras=stack_seats([joint.extras[i] for i in seats]),
        bootstrap=stack_seats([joint.bootstrap[i] for i in seats]),
        reward=stack_seats([step.reward[i] for i in seats]),
        terminated=stack_seats([step.terminated | ~step.alive[i] for i in seats]),
        truncated=stack_seats([step.truncated for _ in seats]),
        resets=stack_seats([resets for _ in seats]),
        alive=stack_seats([joint.alive[i] for i in seats]),
        acts=stack_seats(acts),
        next_acts=stack_seats(next_acts),
        carry=stack_seats([joint.carry[i] for i in seats], axis=0),
        state=joint.state,
        next_state=joint.next_state,
        age=joint.age,
        everyone=joint,
        seats=seats,
    )


def stack_seats(parts: list[PyTree], axis: int = 1) -> PyTree:
    """Trees of single seats, leaves [time, game, ...], as one with an axis of seats after time."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves, axis=axis), *parts)


def _take_joint(joint: Trajectory, games: Int[Array, " chosen"]) -> Trajectory:
    starts = {"carry": joint.carry, "age": joint.age}
    steps = {name: value for name, value in joint._asdict().items() if name not in starts}
    steps = jax.tree.map(lambda x: take_games(x, games, 1), steps)
    starts = jax.tree.map(lambda x: take_games(x, games, 0), starts)
    return Trajectory(**steps, **starts)
