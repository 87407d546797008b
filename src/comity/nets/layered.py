"""What networks with dense layers have in common: how observations are read, before any memory."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import spaces
from comity.core.errors import require
from comity.core.spaces import Space
from comity.nets.convolution import Convolution
from comity.nets.dense import dense_layers, through
from comity.nets.encoder import Encoder
from comity.nets.flat import Flat
from comity.nets.inputs import CLOCK_SIZE, Inputs, clock_along, with_clock
from comity.nets.linear import Linear, Precision
from comity.nets.network import Network
from comity.nets.normaliser import Normaliser
from comity.nets.torso import Torso, TorsoCarry, merge_axes

# Larger ones fit in no machine, or are traced for minutes before it is known that they do not.
WIDEST, DEEPEST = 65_536, 1_000


class LayeredNetwork(Network):
    """The settings of every network with dense layers."""

    width: int = 64  # units of a hidden layer and of the memory
    depth: int = 1  # dense layers (before the memory in a recurrent net)
    encoder: Encoder = Flat()  # how observations are read
    inputs: Inputs = Inputs()  # the clock and the normaliser
    orthogonal: bool = False  # whether dense layers start with orthogonal weights instead of normal ones
    precision: Precision = "float32"  # of the factors in products; sums and weights stay float32
    layer_norm: bool = False  # whether the units of each dense layer are normalised before their ReLU

    def __check_init__(self) -> None:
        require(1 <= self.width <= WIDEST, "network.width", self.width, f"between 1 and {WIDEST:,}")
        require(0 <= self.depth <= DEEPEST, "network.depth", self.depth, f"between 0 and {DEEPEST:,}")

    def check(self, observation: Space) -> None:
        self.encoder.check(observation)


def refuse_normaliser(*networks: Network) -> None:
    """Raises if a network wants running statistics from a learner that does not keep any."""
    for network in networks:
        wanted = isinstance(network, LayeredNetwork) and network.inputs.normalise
        allowed = "false here: learners by policy gradient keep these statistics"
        require(not wanted, "network.inputs.normalise", wanted, allowed)


def refuse_rounding(*networks: Network) -> None:
    """Raises if products have rounded factors: these have no forward-mode derivatives."""
    for network in networks:
        precision = network.precision if isinstance(network, LayeredNetwork) else "float32"
        require(precision == "float32", "network.precision", precision, "float32 here")


class LayeredTorso(Torso):
    """The part of a torso that reads observations: statistics, an encoder, a clock, dense layers."""

    observation: Space = eqx.field(static=True)
    encoder: Encoder = eqx.field(static=True)
    inputs: Inputs = eqx.field(static=True)
    normaliser: Normaliser | None
    convolutions: tuple[Convolution, ...]
    layers: tuple[Linear, ...]
    layer_norm: bool = eqx.field(static=True)

    def __init__(self, network: LayeredNetwork, observation: Space, key: Key) -> None:
        self.observation = observation
        self.encoder = network.encoder
        self.inputs = network.inputs
        self.layer_norm = network.layer_norm
        self.normaliser = Normaliser(spaces.flat_size(observation)) if network.inputs.normalise else None
        self.convolutions = network.encoder.build(observation, network.precision, jax.random.fold_in(key, 0))
        sizes = [self.input_size] + [network.width] * network.depth
        self.layers = dense_layers(sizes, key, network.orthogonal, network.precision)

    @property
    def input_size(self) -> int:
        """The length of the vector that the first dense layer reads."""
        return self.encoder.size(self.observation) + CLOCK_SIZE * self.inputs.clock

    @property
    def read_size(self) -> int:
        """The length of the vector that comes out of the dense layers."""
        return int(self.layers[-1].weight.shape[1]) if self.layers else self.input_size

    def initial_reading(self) -> TorsoCarry:
        """What of the observations is carried at the start of an episode."""
        flat = spaces.flat_size(self.observation)
        earlier = tuple(jnp.zeros(flat, jnp.float32) for _ in range(self.encoder.earlier))
        return TorsoCarry(earlier, (), jnp.float32(0.0) if self.inputs.clock else ())

    def update_statistics(self, obs: PyTree, weight: Float[Array, "time *batch"]) -> "Torso":
        if self.normaliser is None:
            return self
        x = spaces.encode(self.observation, obs)
        if weight.ndim > 2:  # sums over the same axes, whatever the form
            x, weight = merge_axes((x, weight), 1, weight.ndim - 1)
        grown = self.normaliser.after(x, weight)
        return eqx.tree_at(lambda torso: torso.normaliser, self, grown)

    def read(self, carry: TorsoCarry, obs: PyTree) -> tuple[TorsoCarry, Float[Array, "... width"]]:
        """What of the observations is carried after one, and what comes out of the dense layers."""
        observations = (self._encode(obs), *carry.earlier)
        x = self._dense(observations, carry.clock)
        clock = carry.clock + 1.0 if self.inputs.clock else ()
        return TorsoCarry(observations[: self.encoder.earlier], (), clock), x

    def read_all(
        self, carry: TorsoCarry, obs: PyTree, resets: Bool[Array, "time row"]
    ) -> tuple[TorsoCarry, Float[Array, "time row width"]]:
        """The same for all steps of a trajectory at once."""
        observations = [self._encode(obs)]
        for first in carry.earlier:
            observations.append(_delay(observations[-1], first, resets))
        clock: PyTree = clock_along(carry.clock, resets) if self.inputs.clock else ()
        x = self._dense(tuple(observations), clock)
        earlier = tuple(observations[: self.encoder.earlier])
        return TorsoCarry(earlier, (), clock + 1.0 if self.inputs.clock else ()), x

    def _encode(self, obs: PyTree) -> Float[Array, "... flat"]:
        x = spaces.encode(self.observation, obs)
        return x if self.normaliser is None else self.normaliser(x)

    def _dense(self, observations: tuple[Array, ...], clock: PyTree) -> Float[Array, "... width"]:
        x = self.encoder.encode(self.convolutions, self.observation, observations)
        return through(self.layers, with_clock(x, clock) if self.inputs.clock else x, self.layer_norm)


def _delay(
    x: Float[Array, "time row flat"], first: Float[Array, "row flat"], resets: Bool[Array, "time row"]
) -> Float[Array, "time row flat"]:
    """One step later; nothing is seen from before a reset."""
    late = jnp.concatenate([first[None], x[:-1]])
    return jnp.where(resets[..., None], 0.0, late)
