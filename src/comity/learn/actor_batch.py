"""A batch as critics of actions and an actor read it."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from comity.core.batch import TeamBatch
from comity.learn.actor_net import ActorNet
from comity.learn.other_actors import OthersActions
from comity.learn.q_critics import QCriticNet, QCritics, Sequence, beside, sequence
from comity.learn.sequences import Streams, seat_streams, team_streams
from comity.learn.views import View


class ActorBatch(NamedTuple):
    """Without the steps that only fill memories, leaves [time, seat, game, ...].

    Critics read in rows [time, row, game, ...], one for each seat or one for the team.

    - `actor`: what the actor reads; `critics` and `slow`: what each critic, and each slow copy, reads.
    - `view`: what critics see, without actions; `own`: what the team's seats did, as numbers; `everyone`:
      what every seat did, [time, game, numbers], empty if critics read their own seat's action only.
    - `streams`: rewards and ends; `decides`, `alive`: 1 where a seat acted, and was there.
    - `goes_on`: whether the seat is still there after the step.
    """

    actor: Sequence
    critics: tuple[Sequence, ...]
    slow: tuple[Sequence, ...]
    view: PyTree
    own: Float[Array, "time seat game numbers"]
    everyone: tuple[Float[Array, "time game numbers"], ...]
    streams: Streams
    decides: Float[Array, "time seat game"]
    alive: Float[Array, "time seat game"]
    goes_on: Bool[Array, "time seat game"]
    team: tuple[int, ...]
    importance: Float[Array, " game"] | None

    @property
    def rows(self) -> int:
        """How many values there are: one for each seat, or 1 for the team."""
        return int(self.streams.reward.shape[1])

    @property
    def critic_weight(self) -> Float[Array, "time row game"]:
        """What each step counts in the critics' loss."""
        weight = self.streams.weight
        return weight if self.importance is None else weight * jnp.broadcast_to(self.importance, weight.shape)

    def per_row(self, x: Float[Array, "time seat game"]) -> Float[Array, "time row game"]:
        """Numbers of seats as those of the critics' rows: summed where the team is one."""
        return x if self.rows == x.shape[1] else x.sum(axis=1, keepdims=True)

    def beside(
        self,
        own: Float[Array, "time seat game numbers"],
        everyone: tuple[Float[Array, "time game numbers"], ...],
    ) -> tuple[Array, ...]:
        """The actions that critics read, with `own` in place of what the team's seats did."""
        return beside(everyone, own, self.team, self.rows)

    def with_team(
        self, others: OthersActions, own: Float[Array, "time seat game numbers"]
    ) -> tuple[Float[Array, "time game numbers"], ...]:
        """What every seat does, from what other teams and one's own do; empty if critics do not read it."""
        known = others | {seat: own[:, place] for place, seat in enumerate(self.team)}
        return tuple(known[seat] for seat in sorted(known)) if self.everyone else ()

    def played_values(self, critics: QCritics) -> tuple[Float[Array, "time row game"], ...]:
        """What each critic says of what was done."""
        return tuple(
            net.value(along.unroll(net.torso)[0], self.own)
            for net, along in zip(critics.nets, self.critics, strict=True)
        )

    def values_of(
        self,
        critics: QCritics,
        numbers: Float[Array, "time seat game numbers"],
        everyone: tuple[Float[Array, "time game numbers"], ...],
    ) -> tuple[Float[Array, "time row game"], ...]:
        """What each critic says of other actions of a seat, beside what everybody does."""
        actions = self.beside(numbers, everyone)

        def value(net: QCriticNet, along: Sequence) -> Array:
            _, memory = along.unroll(net.torso)
            return net.value(along.instead(net.torso, memory, net.inputs(self.view, actions)), numbers)

        return tuple(value(*one) for one in zip(critics.nets, self.critics, strict=True))

    def next_values(
        self,
        critics: QCritics,
        numbers: Float[Array, "time seat game numbers"],
        everyone: tuple[Float[Array, "time game numbers"], ...],
    ) -> tuple[Float[Array, "time row game"], ...]:
        """What each slow copy says of actions at the true successors."""
        actions = self.beside(numbers, everyone)

        def value(net: QCriticNet, along: Sequence) -> Array:
            _, memory = along.unroll(net.torso)
            after = along._replace(following=net.inputs(along.following, actions))
            return net.value(after.step_after(net.torso, memory), numbers)

        return tuple(value(*one) for one in zip(critics.nets, self.slow, strict=True))


def read_batch(
    batch: TeamBatch, view: View, actor: ActorNet, critics: QCritics, slow: QCritics, burn_in: int
) -> ActorBatch:
    """The batch as it is read, after the steps that only fill memories."""
    view_now, view_next = view.read(batch), view.read_next(batch)
    rows = jax.tree.leaves(view_now)[0].shape[1]
    streams = seat_streams(batch) if rows == len(batch.seats) else team_streams(batch)
    everyone, own = critics.played_by_all(batch), critics.played(batch)
    actions = beside(everyone, own, batch.seats, rows)

    def along(net: QCriticNet) -> Sequence:
        now = net.inputs(view_now, actions)  # what follows gets its actions from the targets
        return sequence(net.torso, now, view_next, batch.resets[:, :rows], batch.age, burn_in)

    by_step = (view_now, own, everyone, streams, batch.decides, batch.weight, ~batch.terminated)
    seen, own, everyone, streams, decides, alive, goes_on = jax.tree.map(lambda x: x[burn_in:], by_step)
    return ActorBatch(
        actor=sequence(actor.torso, batch.obs, batch.next_obs, batch.resets, batch.age, burn_in),
        critics=tuple(along(net) for net in critics.nets),
        slow=tuple(along(net) for net in slow.nets),
        view=seen,
        own=own,
        everyone=everyone,
        streams=streams,
        decides=decides,
        alive=alive,
        goes_on=goes_on,
        team=batch.seats,
        importance=None if batch.drawn is None else batch.drawn.importance,
    )
