"""What stands between a rollout and an update: this rollout only, or a replay of earlier ones."""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.batch import TeamBatch
from comity.core.registry import Registry, Row

MEMORIES = Registry(
    "memory",
    {
        "on-policy": Row("comity.core.memory:OnPolicy", "the last rollout, once"),
        "uniform-replay": Row("comity.learn.replay:UniformReplay", "steps of earlier rollouts, drawn evenly"),
        "prioritised-replay": Row(
            "comity.learn.prioritised:PrioritisedReplay",
            "steps of earlier rollouts, surprising ones more often",
        ),
    },
    group="comity.memories",
)


PRIORITIES = "priorities"  # among an update's metrics: how surprising each sequence was, for the memory


class Memory(eqx.Module):
    """What an agent learns from. Its state is part of the run's state, and checkpointed with it."""

    options: ClassVar[Registry] = MEMORIES
    transient: ClassVar[bool] = False  # whether nothing is kept between two rollouts

    @property
    @abstractmethod
    def updates(self) -> int:
        """How many updates follow each rollout."""

    @abstractmethod
    def init(self, template: TeamBatch) -> PyTree:
        """An empty memory for rollouts of these shapes (a tree of `jax.ShapeDtypeStruct`)."""

    @abstractmethod
    def add(self, memory: PyTree, batch: TeamBatch) -> PyTree:
        """The memory with one more rollout."""

    @abstractmethod
    def sample(self, memory: PyTree, key: Key) -> TeamBatch:
        """What one update learns from."""

    def ready(self, memory: PyTree) -> bool | Bool[Array, ""]:
        """Whether there is enough to learn from; until then updates are left out."""
        return True

    def prioritise(self, memory: PyTree, batch: TeamBatch, priorities: Float[Array, " game"]) -> PyTree:
        """The memory after an update said how surprising each sequence was; by default as it is."""
        return memory

    def keep(self, memory: PyTree) -> PyTree:
        """What is kept until the next rollout; by default all."""
        return memory


class OnPolicy(Memory):
    """The rollout that was just played, once."""

    transient: ClassVar[bool] = True

    @property
    def updates(self) -> int:
        return 1

    def init(self, template: TeamBatch) -> PyTree:
        return ()

    def add(self, memory: PyTree, batch: TeamBatch) -> PyTree:
        return batch

    def sample(self, memory: PyTree, key: Key) -> TeamBatch:
        batch: TeamBatch = memory
        return batch

    def keep(self, memory: PyTree) -> PyTree:
        return ()
