"""Where a learner knows the others' values from: its own critic on their view, their rewards, or them."""

from abc import abstractmethod
from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from comity.agents.on_policy.acting import Acting
from comity.agents.on_policy.base import ActorCriticAgent, LearnerState
from comity.core.batch import TeamBatch, Trajectory, stack_seats
from comity.core.errors import ComityError, require
from comity.core.registry import Registry, Row
from comity.core.tunable import Number
from comity.learn.critic_values import CriticBatch, CriticValues, recorded_values
from comity.learn.views import Own

OPPONENT_VALUES = Registry(
    "source of the others' values",
    {
        "own-view": Row("comity.agents.shaping.opponent_values:OwnView", "own critic on what they see"),
        "learned": Row("comity.agents.shaping.opponent_values:Learned", "learned from what they earn"),
        "given": Row("comity.agents.shaping.opponent_values:Given", "by themselves"),
    },
)


class Other(NamedTuple):
    """Another player beside the learner's seats, leaves [time, seat, game, ...].

    `advantage` may be normalised; `returns` are lambda-returns and `next_value` is 0 after a termination.
    `each` are the values of all its actions and `action` the one that it took, where the critic tells them.
    """

    advantage: Float[Array, "*axes"]
    reward: Float[Array, "*axes"]
    returns: Float[Array, "*axes"]
    next_value: Float[Array, "*axes"]
    each: PyTree
    action: PyTree
    value: Float[Array, "*axes"]


class OpponentValues(eqx.Module):
    """Where the others' values come from."""

    options: ClassVar[Registry] = OPPONENT_VALUES
    outputs: ClassVar[int] = 1  # kinds of reward that the critic values: one's own, and the others' together

    def check(self, learner: ActorCriticAgent) -> None:
        """Raises if the learner's critic does not serve."""

    @abstractmethod
    def acting(self, learner: ActorCriticAgent, state: LearnerState, learning: bool) -> Acting:
        """What acts, while learning or when saved: with the critic where others are given its values."""

    @abstractmethod
    def read(self, learner: ActorCriticAgent, state: LearnerState, batch: TeamBatch) -> CriticBatch:
        """What the critic reads and learns from."""

    def count(self, seats: int) -> int:
        """How many entries `others` has in a game of so many seats."""
        return seats - 1

    def places(self, batch: TeamBatch) -> tuple[int, ...]:
        """Where the team's seats are along the axis of seats of what the critic reads."""
        return tuple(range(len(batch.seats)))

    @abstractmethod
    def others(
        self,
        learner: ActorCriticAgent,
        state: LearnerState,
        values: CriticValues,
        read: CriticBatch,
        batch: TeamBatch,
        gae_lambda: Number,
    ) -> tuple[Other, ...]:
        """The other players beside the team's seats, in the order of the seats after each."""


class OwnView(OpponentValues):
    """One's own critic on what the others see."""

    learn_from: Literal["own", "all"] = "all"
    """the views that the critic learns from: one's own, so that others are valued as if they were oneself,
    or all, so that they are valued as they are"""
    align_with: Literal["everybody", "team"] = "everybody"
    """whose advantages count: those of all others, or of the seats that learn as one does and can answer"""

    def check(self, learner: ActorCriticAgent) -> None:
        view = type(learner.critic.view).__name__.lower()
        fits = isinstance(learner.critic.view, Own)
        require(fits, "critic.view", view, "own with opponent_values own-view: use learned")

    def acting(self, learner: ActorCriticAgent, state: LearnerState, learning: bool) -> Acting:
        return learner.policy(state)

    def read(self, learner: ActorCriticAgent, state: LearnerState, batch: TeamBatch) -> CriticBatch:
        everyone = range(len(batch.joint.obs))
        seats = tuple(everyone) if self.learn_from == "all" else batch.seats
        return read_seats(batch.joint, seats, batch.seats[0], learner.critic.kind == "action-value")

    def places(self, batch: TeamBatch) -> tuple[int, ...]:
        return batch.seats if self.learn_from == "all" else tuple(range(len(batch.seats)))

    def others(
        self,
        learner: ActorCriticAgent,
        state: LearnerState,
        values: CriticValues,
        read: CriticBatch,
        batch: TeamBatch,
        gae_lambda: Number,
    ) -> tuple[Other, ...]:
        found = _by_seat(learner, values, read, gae_lambda)
        rest = tuple(i for i in range(len(batch.joint.obs)) if i not in batch.seats)
        if self.learn_from == "own" and rest:  # whom the critic does not learn from, it has not read yet
            read = read_seats(batch.joint, rest, batch.seats[0], learner.critic.kind == "action-value")
            values = jax.lax.stop_gradient(learner.values(state.critic, state.policy, read))
            found = _joined(found, _by_seat(learner, values, read, gae_lambda), (*batch.seats, *rest))
        if self.align_with == "team":
            fellow = jnp.zeros(found.advantage.shape[1], jnp.float32).at[jnp.asarray(batch.seats)].set(1.0)
            found = found._replace(advantage=found.advantage * fellow[None, :, None])
        return _beside(batch, found)


class Learned(OpponentValues):
    """A second output of one's own critic, learned from what all others earn together."""

    outputs: ClassVar[int] = 2

    def count(self, seats: int) -> int:
        return 1

    def acting(self, learner: ActorCriticAgent, state: LearnerState, learning: bool) -> Acting:
        return learner.behaviour(state, jnp.float32(0.0)) if learning else learner.policy(state)

    def read(self, learner: ActorCriticAgent, state: LearnerState, batch: TeamBatch) -> CriticBatch:
        own = learner.critic_batch(state, batch)
        total = jnp.stack(batch.joint.step.reward).sum(axis=0)
        others = total[:, None] - batch.reward
        return own._replace(reward=jnp.stack([batch.reward, others], axis=-1))

    def others(
        self,
        learner: ActorCriticAgent,
        state: LearnerState,
        values: CriticValues,
        read: CriticBatch,
        batch: TeamBatch,
        gae_lambda: Number,
    ) -> tuple[Other, ...]:
        summed = _other(learner, values, read, 1, gae_lambda)
        return (summed._replace(advantage=learner.normalised(summed.advantage, read.weight)),)


class Given(OpponentValues):
    """The values that the others record themselves while they play."""

    def check(self, learner: ActorCriticAgent) -> None:
        critic = learner.critic
        require(critic.kind != "afterstate", "critic.kind", critic.kind, "value or action-value here")
        require(isinstance(critic.view, Own), "critic.view", type(critic.view).__name__.lower(), "own here")

    def acting(self, learner: ActorCriticAgent, state: LearnerState, learning: bool) -> Acting:
        return Acting(state.policy, state.critic)

    def read(self, learner: ActorCriticAgent, state: LearnerState, batch: TeamBatch) -> CriticBatch:
        return learner.critic_batch(state, batch)

    def others(
        self,
        learner: ActorCriticAgent,
        state: LearnerState,
        values: CriticValues,
        read: CriticBatch,
        batch: TeamBatch,
        gae_lambda: Number,
    ) -> tuple[Other, ...]:
        joint = batch.joint
        everyone = tuple(range(len(joint.obs)))
        actions = learner.critic.kind == "action-value"
        seats = _read_rewards(joint, everyone, tuple(joint.action) if actions else ())
        return _beside(batch, _by_seat(learner, _recorded(joint, seats.ended, actions), seats, gae_lambda))


def read_seats(joint: Trajectory, seats: tuple[int, ...], own: int, of_actions: bool) -> CriticBatch:
    """What one's own critic reads along the views of some seats, whoever sits there."""
    shapes = [jax.tree.map(lambda x: (x.shape, x.dtype), joint.obs[seat]) for seat in (own, *seats)]
    if any(shape != shapes[0] for shape in shapes):
        raise ComityError("opponent_values own-view needs others that see what I see: use learned or given.")

    def recorded(extras: tuple[PyTree, ...]) -> PyTree:
        found = [getattr(extras[seat], "probabilities", ()) for seat in seats]
        if not all(isinstance(x, jax.Array) for x in found):
            raise ComityError(
                "critic.kind action-value with opponent_values own-view needs opponents that record their "
                "probabilities, as learners do: use adalign with opponent_values learned against others."
            )
        return stack_seats(found)

    read = _read_rewards(joint, seats, tuple(joint.action[seat] for seat in seats) if of_actions else ())
    return read._replace(
        inputs=stack_seats([joint.obs[seat] for seat in seats]),
        next_inputs=stack_seats([joint.step.obs[seat] for seat in seats]),
        probabilities=recorded(joint.extras) if of_actions else (),
        bootstrap_probabilities=recorded(joint.bootstrap) if of_actions else (),
    )


def _read_rewards(joint: Trajectory, seats: tuple[int, ...], actions: tuple[PyTree, ...]) -> CriticBatch:
    """All of a critic's batch along some seats but what it sees."""
    step = joint.step
    done = step.terminated | step.truncated
    resets = jnp.concatenate([jnp.zeros_like(done[:1]), done[:-1]])
    return CriticBatch(
        inputs=(),
        next_inputs=(),
        carry=None,
        reward=jnp.stack([step.reward[seat] for seat in seats], axis=1)[..., None],
        terminated=jnp.stack([step.terminated | ~step.alive[seat] for seat in seats], axis=1),
        ended=jnp.stack([done | ~step.alive[seat] for seat in seats], axis=1),
        resets=jnp.stack([resets] * len(seats), axis=1),
        weight=jnp.stack([joint.alive[seat] for seat in seats], axis=1).astype(jnp.float32),
        next_acts=jnp.stack([step.acts[seat] for seat in seats], axis=1) if step.acts else None,
        age=joint.age,
        action=stack_seats(list(actions)) if actions else (),
    )


def _by_seat(learner: ActorCriticAgent, values: CriticValues, read: CriticBatch, gae_lambda: Number) -> Other:
    """Every seat as a critic values it, normalised by itself; who left has no advantage any more."""
    found = _other(learner, values, read, 0, gae_lambda)
    seats = range(read.weight.shape[1])
    alone = [learner.normalised(found.advantage[:, i : i + 1], read.weight[:, i : i + 1]) for i in seats]
    return found._replace(
        advantage=read.weight * jnp.concatenate(alone, axis=1),
        reward=read.weight * read.reward[..., 0],
        action=read.action,
    )


def _joined(some: Other, rest: Other, seats: tuple[int, ...]) -> Other:
    """Seats that were read in two parts, in the order of the game."""
    order = jnp.argsort(jnp.asarray(seats))
    joined: Other = jax.tree.map(lambda *parts: jnp.concatenate(parts, axis=1)[:, order], some, rest)
    return joined


def _other(
    learner: ActorCriticAgent, values: CriticValues, read: CriticBatch, output: int, gae_lambda: Number
) -> Other:
    advantage = learner.critic.advantages(values, read, output, learner.discount, gae_lambda)
    following = jnp.where(read.terminated, 0.0, values.next_value[..., output])
    return Other(
        advantage,
        read.reward[..., output],
        values.value[..., output] + advantage,
        following,
        values.each[..., output, :],
        (),
        values.value[..., output],
    )


def _beside(batch: TeamBatch, everyone: Other) -> tuple[Other, ...]:
    """The other seats beside each of the team's (equation 66): one entry for each that comes after it."""
    count = len(batch.joint.obs)
    return tuple(
        jax.tree.map(
            lambda x, turn=turn: x[:, jnp.asarray([(seat + turn) % count for seat in batch.seats])], everyone
        )
        for turn in range(1, count)
    )


def _recorded(joint: Trajectory, ended: Bool[Array, "time seat game"], of_actions: bool) -> CriticValues:
    """The values that players recorded themselves; those of all their actions only where asked for."""
    needed: list[tuple[Any, Any]] = [
        (getattr(x, "value", ()), getattr(x, "action_values", ())) for x in joint.extras
    ]
    if not all(isinstance(value, jax.Array) for value, _ in needed) or (
        of_actions and not all(isinstance(each, jax.Array) for _, each in needed)
    ):
        raise ComityError(
            "opponent_values given needs opponents that record their own values: use own-view or learned."
        )
    value = jnp.stack([value for value, _ in needed], axis=1)
    bootstrap = jnp.stack([extras.value for extras in joint.bootstrap], axis=1)
    found = recorded_values(value, bootstrap, ended)
    if of_actions:
        found = found._replace(each=jnp.stack([each for _, each in needed], axis=1)[..., None, :])
    return found
