"""Gifting (Lupu and Precup, 2020): in each step a seat may also give another some of its reward."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import ComityError, require
from comity.core.game import Cooperation, PerSeat, Seat, TimeStep
from comity.core.spaces import Discrete, Masked
from comity.games.transforms.base import Transform


class GiftState(NamedTuple):
    """The state of the game inside, and what each seat has left to give (infinite without a budget), and
    who is there."""

    inner: PyTree
    left: Float[Array, " seat"]
    alive: Bool[Array, " seat"]


class Gifting(Transform):
    """An action also says to whom a gift goes: choice a + A g is the game's action a of A, and gift g.

    g = 0 gives nothing, g = 1 gives to the next seat, and so on. What is given is taken from the giver's
    reward, so that the sum of rewards stays. Who has less left of its budget than a gift gives nothing.
    """

    amount: float = 1.0  # of reward in a gift
    budget: float = 0.0  # what a seat can give in an episode; 0: no limit

    def __check_init__(self) -> None:
        require(self.amount > 0, "amount", self.amount, "above 0")
        require(self.budget >= 0, "budget", self.budget, "at least 0")
        require(len(self.game.seats) >= 2, "gifting", len(self.game.seats), "in a game of several seats")
        for seat in self.game.seats:
            if not isinstance(seat.action, Discrete) or isinstance(seat.observation, Masked):
                raise ComityError(
                    f"The seat {seat.name!r} does not choose among actions that are always legal, so there "
                    f"is no choice to which a gift could be added: games with such choices would work."
                )

        if jax.eval_shape(lambda key: self.game.acting(self.game.reset(key)[0]), jax.random.key(0)):
            raise ComityError("Gifts are for games in which everybody acts in every step, not for turns.")

    @property
    def horizon(self) -> int | None:
        return self.game.horizon

    @property
    def seats(self) -> PerSeat[Seat]:
        count = len(self.game.seats)
        return tuple(
            seat._replace(action=Discrete(seat.action.n * count))
            for seat in self.game.seats
            if isinstance(seat.action, Discrete)
        )

    def reset(self, key: Key) -> tuple[GiftState, PerSeat[PyTree]]:
        return self._begin(*self.game.reset(key))

    def reset_where(
        self, key: Key, state: GiftState, over: Bool[Array, ""]
    ) -> tuple[GiftState, PerSeat[PyTree]]:
        return self._begin(*self.game.reset_where(key, state.inner, over))

    def _begin(self, inner: PyTree, obs: PerSeat[PyTree]) -> tuple[GiftState, PerSeat[PyTree]]:
        left = jnp.full(len(obs), self.budget or jnp.inf, jnp.float32)
        return GiftState(inner, left, jnp.stack(self.game.present(inner))), obs

    def inner(self, state: GiftState) -> PyTree:
        return state.inner

    def step(self, key: Key, state: GiftState, actions: PerSeat[PyTree]) -> tuple[GiftState, TimeStep]:
        own, gifts = self._split(actions)
        inner, step = self.game.step(key, state.inner, own)
        gives = (gifts > 0) & (state.left >= self.amount) & state.alive
        count = len(actions)
        receiver = (jnp.arange(count) + gifts) % count
        given = self.amount * gives.astype(jnp.float32)
        received = (jax.nn.one_hot(receiver, count) * given[:, None]).sum(axis=0)
        change = received - given
        step = step.shaped(tuple(reward + change[i] for i, reward in enumerate(step.reward)))
        return GiftState(inner, state.left - given, jnp.stack(step.alive)), step

    def _split(self, actions: PerSeat[PyTree]) -> tuple[PerSeat[PyTree], Array]:
        own, gifts = [], []
        for seat, action in zip(self.game.seats, actions, strict=True):
            assert isinstance(seat.action, Discrete)
            own.append(action % seat.action.n)
            gifts.append(action // seat.action.n)
        return tuple(own), jnp.stack(gifts)

    def cooperation(
        self, state: PyTree, actions: PerSeat[PyTree], next_state: PyTree
    ) -> PerSeat[Cooperation] | None:
        return self.game.cooperation(state, self._split(actions)[0], next_state)
