"""What the settings of every network have in common."""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
from jaxtyping import PRNGKeyArray as Key

from comity.core.registry import Registry
from comity.core.spaces import Space
from comity.nets.registry import NETWORKS
from comity.nets.torso import Torso


class Network(eqx.Module):
    """The shape of a policy's or a critic's network: what its torso, from observations to features, is like.

    A field of this type is chosen by name (`--agent.network mlp`); a class of one's own gets a name with
    `Network.options.register(name, cls, summary)`.
    """

    options: ClassVar[Registry] = NETWORKS
    head_bias: ClassVar[bool] = True  # whether a head on these features has a bias

    @abstractmethod
    def check(self, observation: Space) -> None:
        """Raises if the network cannot read the observation."""

    @abstractmethod
    def build(self, observation: Space, key: Key) -> Torso:
        """A torso with new weights."""
