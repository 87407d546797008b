"""Critics of actions that may be numbers: what a seat's, or a team's, action is worth where it was done.

A critic whose view a seat has while it acts (`own`) reads that seat's action. One with a view that only
training has (`joint`, `team`, `state`) reads the actions of all seats.
"""

from typing import ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.batch import TeamBatch, stack_seats
from comity.core.errors import ComityError, require
from comity.core.game import GameSpec, PerSeat, seat_order
from comity.core.spaces import Discrete, Space
from comity.learn.action_numbers import check_numbers, numbers_space, to_numbers
from comity.learn.actor_net import Choices
from comity.learn.views import Own, Team, View
from comity.nets.layered import refuse_normaliser
from comity.nets.linear import Linear
from comity.nets.network import Network
from comity.nets.torso import Torso, TorsoCarry

HEAD_SCALE = 0.1


class QCritic(eqx.Module):
    """What an action is worth: used in training only."""

    network: Network | None = None  # the shape of its network; by default that of the actor
    view: View = Own()  # what it sees; with any other than own it reads what all seats do
    count: int = 1  # how many learn side by side; the smallest value counts
    learning_rate: float = 0.0  # its step size; 0: that of the actor
    others: Literal["given", "inferred"] = "given"
    """how other teams act next: given, from their own actors, or inferred, from actors that are learned from
    what they did"""
    beside: Literal["played", "current"] = "played"
    """what other seats do beside the action that the actor improves: played, as the replay has it, or
    current, as they would act now"""

    tunable: ClassVar[tuple[str, ...]] = ("learning_rate",)

    def __check_init__(self) -> None:
        require(self.count >= 1, "critic.count", self.count, "at least 1")
        require(self.learning_rate >= 0, "critic.learning_rate", self.learning_rate, "at least 0")

    @property
    def central(self) -> bool:
        """Whether it reads what all seats do."""
        return not self.view.acts_along

    def check(self, spec: GameSpec, seats: tuple[int, ...], policy: Network, choices: Choices) -> None:
        """Raises if the critics do not fit the seats; `policy` is the shape of the actor's network."""
        network = self.network or policy
        refuse_normaliser(network)
        for seat in spec.seats if self.central else spec.team(seats):
            check_numbers(seat.name, seat.action)
        network.check(self._space(spec, seats, choices))
        several = isinstance(self.view, Team) and len(seats) > 1
        if several and choices == "exact" and isinstance(spec.seats[seats[0]].action, Discrete):
            raise ComityError(
                "critic.view team values joint actions, whose expectation is too long a sum: set choices to "
                "gumbel, or use critic.view joint."
            )

    def build(
        self, spec: GameSpec, seats: tuple[int, ...], policy: Network, choices: Choices, key: Key
    ) -> "QCritics":
        """Critics with new weights."""
        action = spec.seats[seats[0]].action
        outputs = action.n if isinstance(action, Discrete) and choices == "exact" else 0
        space = self._space(spec, seats, choices)
        network = self.network or policy
        nets = tuple(QCriticNet(network, space, outputs, own) for own in jax.random.split(key, self.count))
        return QCritics(nets, tuple(seat.action for seat in spec.seats), seats, self.central)

    def _space(self, spec: GameSpec, seats: tuple[int, ...], choices: Choices) -> Space:
        """What is read: the view, and the actions, of which its own is left out where all are valued."""
        order = spec.order(seats[0], seats) if self.central else seats[:1]
        actions = tuple(spec.seats[seat].action for seat in order)
        if choices == "exact" and isinstance(actions[0], Discrete):
            actions = actions[1:]
        view = self.view.space(spec, seats)
        return (view, *(numbers_space(action) for action in actions)) if actions else view


class QCriticNet(eqx.Module):
    """The value of an action, which is read with the rest, or (`choices` above 0) of each of some choices."""

    torso: Torso
    head: Linear
    choices: int = eqx.field(static=True)

    def __init__(self, network: Network, space: Space, choices: int, key: Key) -> None:
        torso_key, head_key = jax.random.split(key)
        self.torso = network.build(space, torso_key)
        self.head = Linear(self.torso.features, max(choices, 1), HEAD_SCALE, head_key, network.head_bias)
        self.choices = choices

    def inputs(self, view: PyTree, actions: tuple[Array, ...]) -> PyTree:
        """What the torso reads of a view and of actions, one's own first."""
        read = actions[1:] if self.choices else actions
        return (view, *read) if read else view

    def value(
        self, features: Float[Array, "... features"], own: Float[Array, "... numbers"]
    ) -> Float[Array, "..."]:
        """The value of one's own action; of probabilities of choices, the expected one."""
        out = self.head(features)
        return (out * own).sum(axis=-1) if self.choices else out[..., 0]


class QCritics(eqx.Module):
    """Critics side by side, and whose actions they read."""

    nets: tuple[QCriticNet, ...]
    actions: PerSeat[Space] = eqx.field(static=True)
    team: tuple[int, ...] = eqx.field(static=True)
    central: bool = eqx.field(static=True)

    def played(self, batch: TeamBatch) -> Float[Array, "time seat game numbers"]:
        """What the team's seats did."""
        return to_numbers(self.actions[batch.seats[0]], batch.action)

    def played_by_all(self, batch: TeamBatch) -> PerSeat[Float[Array, "time game numbers"]]:
        """What every seat did; of critics that read their own seat's action only, nothing."""
        if not self.central:
            return ()
        return tuple(to_numbers(space, x) for space, x in zip(self.actions, batch.joint.action, strict=True))


def beside(
    everyone: PerSeat[Float[Array, "time game numbers"]],
    own: Float[Array, "time seat game numbers"],
    team: tuple[int, ...],
    rows: int,
) -> tuple[Float[Array, "time row game numbers"], ...]:
    """The actions that critics read in each of their rows, with `own` in place of what the seats did.

    A row is a seat of the team: its own action comes first, then those of its team and of the others. With
    one row for the team, the actions of all its seats are its own.
    """
    if not everyone:
        return (own,)
    if rows < len(team):
        mates = tuple(own[:, place : place + 1] for place in range(len(team)))
        rest = (x[:, None] for seat, x in enumerate(everyone) if seat not in team)
        return (*mates, *rest)
    orders = [seat_order(seat, team, len(everyone)) for seat in team]
    places = range(1, len(everyone))
    return (own, *(stack_seats([everyone[order[place]] for order in orders]) for place in places))


class Sequence(NamedTuple):
    """What a network reads along sequences, [time, row, game, ...]; its memory before the first step.

    `following` is what it reads at each step's true successor.
    """

    now: PyTree
    following: PyTree
    resets: Bool[Array, "time row game"]
    carry: TorsoCarry

    def unroll(self, torso: Torso) -> tuple[Float[Array, "time row game features"], TorsoCarry]:
        """The features of each step, and the memory after it."""
        return torso.unroll(self.carry, self.now, self.resets)

    def step_after(self, torso: Torso, memory: TorsoCarry) -> Float[Array, "time row game features"]:
        """The features of each step's true successor."""
        return torso.step(memory, self.following)[1]

    def instead(self, torso: Torso, memory: TorsoCarry, inputs: PyTree) -> Array:
        """The features where a step had been another one, but all before it as it was."""
        start = torso.initial_carries(self.resets.shape[1:])

        def before(first: Array, after: Array, fresh: Array) -> Array:
            shifted = jnp.concatenate([first[None], after[:-1]])
            reset = self.resets.reshape(self.resets.shape + (1,) * (shifted.ndim - self.resets.ndim))
            return jnp.where(reset, jnp.broadcast_to(fresh[None], shifted.shape), shifted)

        return torso.step(jax.tree.map(before, self.carry, memory, start), inputs)[1]


def sequence(
    torso: Torso,
    now: PyTree,
    following: PyTree,
    resets: Bool[Array, "time row game"],
    age: Int[Array, " game"],
    burn_in: int,
) -> Sequence:
    """Sequences without their first steps, which fill the torso's memory and take no gradient."""
    shape = resets.shape[1:]
    carry = torso.initial_carries(shape, jnp.broadcast_to(age, shape))
    if burn_in == 0:
        return Sequence(now, following, resets, carry)
    start, rest = slice(0, burn_in), slice(burn_in, None)
    first, first_resets = jax.tree.map(lambda x: x[start], (now, resets))
    _, after = torso.unroll(carry, first, first_resets)
    carry = jax.lax.stop_gradient(jax.tree.map(lambda x: x[-1], after))
    now, following, resets = jax.tree.map(lambda x: x[rest], (now, following, resets))
    return Sequence(now, following, resets, carry)
