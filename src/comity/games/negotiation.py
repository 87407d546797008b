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
from jaxtyping import Array, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import require
from comity.core.game import Cooperation, Environment, PerSeat, Seat, TimeStep
from comity.core.spaces import Box
from comity.games.horizon import check_horizon

SCALE = 10.0  # observations are divided by it


class NegotiationState(NamedTuple):
    """Values of this round and proposals of the last, one row per player, and the time."""

    values: Float[Array, "2 items"]
    proposals: Float[Array, "2 items"]
    time: Int[Array, ""]


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
        require(self.items >= 1, "items", self.items, "at least 1")
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
        state = NegotiationState(self._draw(key), jnp.zeros((2, self.items), jnp.float32), jnp.int32(0))
        return state, self._observe(state)

    def step(
        self, key: Key, state: NegotiationState, actions: PerSeat[PyTree]
    ) -> tuple[NegotiationState, TimeStep]:
        proposals = jnp.clip(jnp.stack(actions), 0.0, self.most)
        total = jnp.maximum(self.most, proposals.sum(axis=0))
        rewards = (proposals * state.values / total[None, :]).sum(axis=1) / (self.items * self.high)
        state = NegotiationState(self._draw(key), proposals, state.time + 1)
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

    def _draw(self, key: Key) -> Float[Array, "2 items"]:
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
