"""Negotiation, the exchange game of the Advantage Alignment paper, with continuous proposals.

In each round the players value some items, what is dear to one being cheap to the other, and both know
it. Each proposes how much of every item it takes, between 0 and `most`, at the same time. If the two
proposals for an item add up to more than `most`, it is divided in their proportion, and a share of value
may be lost to those who want little. Taking everything is dominant in one round; leaving the other what
it values more is better for both.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import palette
from comity.core.errors import require
from comity.core.game import Cooperation, Environment, PerSeat, Seat, TimeStep
from comity.core.scene import Bar, Bars, Note, Scene, Stack
from comity.core.spaces import Box
from comity.games.horizon import check_count, check_horizon

SCALE = 10.0  # observations are divided by it


class NegotiationState(NamedTuple):
    """Values of this round, proposals of the last and the values then, one row per player, and the time."""

    values: Float[Array, "2 items"]
    proposals: Float[Array, "2 items"]
    time: Int[Array, ""]
    divided: Float[Array, "2 items"] | tuple[()] = ()  # only for drawings: not in the view


class Negotiation(Environment):
    r"""Reward of a round: :math:`\sum_i p_i v_i / \max(m, p_i + q_i)`, divided by the best possible.

    A seat sees, item by item and divided by 10: how many there are (1), its own values, its own last
    proposals, the other's values, the other's last proposals.
    """

    items: int = 3  # items to divide in each round
    low: float = 1.0  # value of an item to the one who needs it less
    high: float = 5.0  # value of an item to the one who needs it more
    most: float = 5.0  # largest proposal
    horizon: int | None = 50  # rounds in an episode

    def __check_init__(self) -> None:
        check_count("items", self.items, 1)
        require(
            0 <= self.low <= self.high and self.high > 0,
            "low, high",
            (self.low, self.high),
            "0 <= low <= high",
        )
        require(self.most > 0, "most", self.most, "above 0")
        check_horizon(self.horizon)

    @property
    def family(self) -> str:
        return "negotiation"

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def seats(self) -> PerSeat[Seat]:
        largest = max(self.high, self.most, 1.0) / SCALE
        observation = Box((5 * self.items,), 0.0, largest)
        action = Box((self.items,), 0.0, self.most)
        values = [part in (1, 3) for part in range(5) for _ in range(self.items)]
        return tuple(Seat(f"player {i + 1}", observation, action, tuple(values)) for i in range(2))

    def reset(self, key: Key) -> tuple[NegotiationState, PerSeat[PyTree]]:
        nothing = jnp.zeros((2, self.items), jnp.float32)
        state = NegotiationState(self._draw_values(key), nothing, jnp.int32(0), nothing)
        return state, self._observe(state)

    def step(
        self, key: Key, state: NegotiationState, actions: PerSeat[PyTree]
    ) -> tuple[NegotiationState, TimeStep]:
        proposals = jnp.clip(jnp.stack(actions), 0.0, self.most)
        total = jnp.maximum(self.most, proposals.sum(axis=0))
        rewards = (proposals * state.values / total[None, :]).sum(axis=1) / (self.items * self.high)
        state = NegotiationState(self._draw_values(key), proposals, state.time + 1, state.values)
        step = TimeStep(
            obs=self._observe(state),
            reward=tuple(rewards),
            terminated=jnp.bool_(False),
            truncated=jnp.bool_(False) if self.horizon is None else state.time >= self.horizon,
            alive=(jnp.bool_(True),) * 2,
        )
        return state, step

    def cooperation(
        self, state: NegotiationState, actions: PerSeat[PyTree], next_state: NegotiationState
    ) -> PerSeat[Cooperation]:
        """Every item that is dearer to the other is a choice: how much of it a seat leaves is cooperative."""
        dearer = (state.values[::-1] > state.values).astype(jnp.float32)
        leaves = 1.0 - next_state.proposals / self.most
        return tuple(Cooperation((dearer[i] * leaves[i]).sum(), dearer[i].sum()) for i in range(2))

    def view(self, state: NegotiationState) -> PyTree:
        return state._replace(divided=())  # what was divided before means nothing for the future

    def draw(self, state: NegotiationState) -> Scene:
        """How the items of the last round were divided, and what those of the next are worth."""
        colours = palette.series(2)
        values, divided = np.asarray(state.values), np.asarray(state.divided)
        proposals = np.asarray(state.proposals)
        shares = proposals / np.maximum(self.most, proposals.sum(axis=0))
        bars = []
        for item in range(self.items):
            note = ""
            if int(state.time):
                asked = " and ".join(f"{own:.1f}" for own in proposals[:, item])
                note = f"asked {asked}"
            parts = tuple(
                (float(share), colour) for share, colour in zip(shares[:, item], colours, strict=True)
            )
            bars.append(Bar((("item ", palette.LABEL), *_worth(divided[:, item], colours)), parts, note))
        begun = "no round yet" if int(state.time) == 0 else "last round: who got which share of each item"
        following: list[tuple[str, str]] = [("worth in the next round:", palette.LABEL)]
        for item in range(self.items):
            following += [("   ", palette.LABEL), *_worth(values[:, item], colours)]
        return Stack((Note(begun), Bars(tuple(bars)), Note(tuple(following))))

    def _draw_values(self, key: Key) -> Float[Array, "2 items"]:
        """New values: each item is dear to one player, drawn evenly, and cheap to the other."""
        dear = jax.random.bernoulli(key, 0.5, (self.items,))
        first = jnp.where(dear, jnp.float32(self.high), jnp.float32(self.low))
        second = jnp.where(dear, jnp.float32(self.low), jnp.float32(self.high))
        return jnp.stack([first, second])

    def _observe(self, state: NegotiationState) -> PerSeat[Float[Array, " numbers"]]:
        pool = jnp.ones(self.items, jnp.float32)
        views = []
        for me, other in ((0, 1), (1, 0)):
            parts = [pool, state.values[me], state.proposals[me], state.values[other], state.proposals[other]]
            views.append(jnp.concatenate(parts) / SCALE)
        return tuple(views)


def _worth(values: Float[np.ndarray, "2"], colours: list[str]) -> tuple[tuple[str, str], ...]:
    """What an item is worth to each player, in its colour."""
    first, second = (f"{value:g}" for value in values)
    return (first, colours[0]), ("/", palette.LABEL), (second, colours[1])
