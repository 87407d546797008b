r"""Prioritised replay (Schaul et al., 2016, arXiv:1511.05952): what was surprising is drawn more often.

.. math:: P(i) = p_i / \sum_k p_k, \quad p_i = (|\delta_i| + \epsilon)^\alpha, \qquad
          w_i = (N P(i))^{-\beta} / \max_j w_j

Sequences have one priority each; new ones have the largest there has been, so that all are learned from.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from jaxtyping import PRNGKeyArray as Key

from comity.core.batch import Drawn, TeamBatch
from comity.core.errors import require
from comity.core.tunable import Number
from comity.learn.ring import Replay, ReplayState
from comity.learn.sum_tree import TINY, Tree, draw_places, empty_tree, set_priorities, total


class PrioritisedState(NamedTuple):
    """The steps, a tree of priorities with a leaf for each step of each game, and the largest there was.

    The priority of a step is that of the sequence that begins there, 0 where none does.
    """

    ring: ReplayState
    tree: Tree
    largest: Float[Array, ""]


class PrioritisedReplay(Replay):
    """The last steps of all games; sequences whose values were wrong are drawn more often."""

    priority_alpha: float = 0.6  # how much priorities matter: 0 draws evenly
    priority_beta: float = 0.4  # how far importance weights make up for it: 1 wholly
    priority_epsilon: float = 1e-3  # added to every error, so that nothing is forgotten

    tunable: ClassVar[tuple[str, ...]] = ("priority_beta",)

    def __check_init__(self) -> None:
        for name in ("priority_alpha", "priority_beta"):
            value = getattr(self, name)
            require(0.0 <= value <= 1.0, f"memory.{name}", value, "between 0 and 1")
        require(self.priority_epsilon > 0, "memory.priority_epsilon", self.priority_epsilon, "above 0")

    def init(self, template: TeamBatch) -> PrioritisedState:
        ring = self.empty_ring(template)
        return PrioritisedState(ring, empty_tree(ring.room * ring.games), jnp.float32(1.0))

    def add(self, memory: PrioritisedState, batch: TeamBatch) -> PrioritisedState:
        """The memory with one more rollout; sequences that reach into it can be drawn from now on."""
        ring = self.add_to_ring(memory.ring, batch)
        length, before = batch.reward.shape[0], self.window - 1
        # From the first start whose sequence was not whole before, to the last step of the rollout. In a ring
        # that is nearly one rollout long these may be fewer.
        offset = np.arange(max(-before, length - ring.room), length)
        time = (memory.ring.next + jnp.asarray(offset)) % ring.room
        whole = (offset + self.window <= length) & (jnp.asarray(offset) >= length - ring.stored)
        begins = jnp.broadcast_to(whole[:, None], (offset.size, ring.games))
        if self.starts == "episodes":
            begins = begins & (ring.steps["age"][time] == 0)
        place = time[:, None] * ring.games + jnp.arange(ring.games)[None]
        fresh = jnp.where(begins, memory.largest, 0.0)
        tree = set_priorities(memory.tree, place.reshape(-1), fresh.reshape(-1))
        return PrioritisedState(ring, tree, memory.largest)

    def sample(self, memory: PrioritisedState, key: Key) -> TeamBatch:
        ring = memory.ring
        place, probability = draw_places(memory.tree, jax.random.uniform(key, (self.batch,)))
        weight = importance_weights(probability, self.priority_beta)
        return self.sequences(ring, place // ring.games, place % ring.games, Drawn(place, weight))

    def prioritise(
        self, memory: PrioritisedState, batch: TeamBatch, priorities: Float[Array, " game"]
    ) -> PrioritisedState:
        assert batch.drawn is not None
        priority = (priorities + self.priority_epsilon) ** self.priority_alpha
        tree = set_priorities(memory.tree, batch.drawn.place, priority)
        return PrioritisedState(memory.ring, tree, jnp.maximum(memory.largest, priority.max()))

    def ready(self, memory: PrioritisedState) -> Bool[Array, ""]:
        return self.ring_ready(memory.ring) & (total(memory.tree) > 0)


def importance_weights(probability: Float[Array, " n"], beta: Number) -> Float[Array, " n"]:
    r""":math:`(N P(i))^{-\beta}`, divided by the largest of the batch, in which the number N cancels out."""
    weight: Array = jnp.maximum(probability, TINY) ** jnp.asarray(-beta, jnp.float32)
    return weight / weight.max()
