"""The public goods game: everybody gains from contributions, nobody gains from contributing."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import palette
from comity.core.game import Cooperation, Environment, PerSeat, Seat, TimeStep
from comity.core.scene import Bar, Bars, Note, Scene, Stack
from comity.core.spaces import Discrete
from comity.games.horizon import check_count, check_horizon


class PublicGoodsState(NamedTuple):
    """What each seat observes next, and the time."""

    seen: Int[Array, " players"]
    time: Int[Array, ""]


class PublicGoods(Environment):
    """N players each contribute 1 or nothing; the pot is multiplied and shared equally.

    It is a dilemma when the multiplier lies between 1 and the number of players. A seat observes what it
    did itself and how many of the others contributed: 2N observations and the start, whatever N is.
    """

    players: int = 4  # how many play
    multiplier: float = 2.0  # what the pot is multiplied with
    horizon: int | None = 16  # steps in an episode

    def __check_init__(self) -> None:
        check_count("players", self.players, 2)
        check_horizon(self.horizon)

    @property
    def family(self) -> str:
        return "matrix"

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def seats(self) -> PerSeat[Seat]:
        others = self.players - 1
        labels = ["start"]
        for own in "CD":
            labels += [own + "C" * (others - k) + "D" * k for k in range(others + 1)]
        observation = Discrete(len(labels), tuple(labels))
        action = Discrete(2, ("C", "D"))
        return tuple(Seat(f"player {i + 1}", observation, action) for i in range(self.players))

    def reset(self, key: Key) -> tuple[PublicGoodsState, PerSeat[PyTree]]:
        state = PublicGoodsState(jnp.zeros(self.players, jnp.int32), jnp.int32(0))
        return state, tuple(state.seen)

    def step(
        self, key: Key, state: PublicGoodsState, actions: PerSeat[PyTree]
    ) -> tuple[PublicGoodsState, TimeStep]:
        defects = jnp.stack(actions).astype(jnp.int32)
        gives = (1 - defects).astype(jnp.float32)
        rewards = self.multiplier * gives.sum() / self.players - gives
        others_defecting = defects.sum() - defects
        seen = 1 + defects * self.players + others_defecting
        state = PublicGoodsState(seen, state.time + 1)
        step = TimeStep(
            obs=tuple(seen),
            reward=tuple(rewards),
            terminated=jnp.bool_(False),
            truncated=jnp.bool_(False) if self.horizon is None else state.time >= self.horizon,
            alive=(jnp.bool_(True),) * self.players,
        )
        return state, step

    def cooperation(
        self, state: PublicGoodsState, actions: PerSeat[PyTree], next_state: PublicGoodsState
    ) -> PerSeat[Cooperation]:
        """To contribute is cooperative; the first observations are those after a contribution."""
        gives = (next_state.seen <= self.players).astype(jnp.float32)
        return tuple(Cooperation(gives[i], jnp.float32(1.0)) for i in range(self.players))

    def draw(self, state: PublicGoodsState) -> Scene:
        """What everybody gave in the last round, and what the pot gave back to each."""
        seen = np.asarray(state.seen)
        begun = bool(seen[0] > 0)
        gives = [begun and (own - 1) // self.players == 0 for own in seen.tolist()]
        share = self.multiplier * sum(gives) / self.players
        bars = tuple(
            Bar(
                ((seat.name, colour),),
                ((float(own), colour),),
                ("gave 1" if own else "gave nothing") if begun else "",
            )
            for seat, colour, own in zip(self.seats, palette.series(self.players), gives, strict=True)
        )
        pot = (
            f"pot: {sum(gives)} x {self.multiplier:g} = {self.multiplier * sum(gives):g}, {share:g} for each"
        )
        return Stack((Bars(bars), Note(pot if begun else "everybody may give 1 to the pot")))
