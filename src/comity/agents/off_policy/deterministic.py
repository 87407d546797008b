"""What deterministic actors share: numbers without chance of their own, and noise while learning."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from comity.agents.off_policy.actors import ActorState, ReplayActorAgent
from comity.core.errors import require
from comity.learn.actor_net import ActorParams, Kind
from comity.learn.schedules import Linear
from comity.learn.temperature import Temperature


class DeterministicAgent(ReplayActorAgent):
    """Numbers are a function of what is seen, choices are drawn; noise is added while learning only."""

    noise: Linear = Linear(start=0.1, end=0.1, over=1.0)
    """its standard deviation, in units of half the range of an action (of its own where it has no bounds); of
    choices, the share that is drawn evenly"""

    kind: ClassVar[Kind] = "point"
    slow: ClassVar[bool] = True
    pessimistic: ClassVar[bool] = False

    def __check_init__(self) -> None:
        for name in ("start", "end"):
            require(getattr(self.noise, name) >= 0, f"noise.{name}", getattr(self.noise, name), "at least 0")

    @property
    def entropy(self) -> Temperature | None:
        return None

    def behaviour(self, state: ActorState, progress: Float[Array, ""]) -> ActorParams:
        return ActorParams(state.actor, jnp.asarray(self.noise(progress), jnp.float32))
