"""A table: each of finitely many observations has features of its own."""

from typing import ClassVar

import equinox as eqx
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import spaces
from comity.core.errors import ComityError
from comity.core.spaces import Discrete, Space
from comity.nets.network import Network
from comity.nets.torso import Torso, TorsoCarry


class Tabular(Network):
    """One row of numbers for each observation: a head on one-hot features is a table."""

    head_bias: ClassVar[bool] = False  # it would be a second number for the same thing

    def check(self, observation: Space) -> None:
        if not isinstance(observation, Discrete):
            raise ComityError(
                f"A tabular network needs a discrete observation, and this game gives "
                f"{spaces.describe(observation)}: use the network mlp or gru."
            )

    def build(self, observation: Space, key: Key) -> "TabularTorso":
        return TabularTorso(observation)


class TabularTorso(Torso):
    """The observation as it is, one-hot; nothing is learned or remembered here."""

    observation: Space = eqx.field(static=True)

    @property
    def features(self) -> int:
        return spaces.flat_size(self.observation)

    def initial_carry(self) -> TorsoCarry:
        return TorsoCarry()

    def update_statistics(self, obs: PyTree, weight: Float[Array, "time *batch"]) -> "Torso":
        return self

    def step_rows(self, carry: TorsoCarry, obs: PyTree) -> tuple[TorsoCarry, Float[Array, "*row features"]]:
        return carry, spaces.encode(self.observation, obs)

    def unroll_rows(
        self, carry: TorsoCarry, obs: PyTree, resets: Bool[Array, "time row"], forward: bool
    ) -> tuple[Float[Array, "time row features"], TorsoCarry]:
        return spaces.encode(self.observation, obs), carry
