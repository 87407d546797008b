r"""Mixers: the value of a team's joint action from the values of its seats' own actions.

All of them keep the joint of greedy actions greedy (individual-global-max): what each seat likes best by
itself is the joint action of highest value, so that a team can act without a centre.
"""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from jaxtyping import PRNGKeyArray as Key

from comity.nets.linear import Linear

LEAST_SCALE = 0.1  # of a seat's values in a duelling: advantages never vanish by it


class SeatValues(NamedTuple):
    """What a mixer reads, leaves [time, seat, game]; those of a seat that is not there are 0.

    `chosen` is the value of what each seat does, `best` that of the best it could do, `action` what it does,
    one-hot.
    """

    chosen: Float[Array, "time seat game"]
    best: Float[Array, "time seat game"]
    action: Float[Array, "time seat game choices"]


class Mixer(eqx.Module):
    """From the values of seats and the game's state to the value of the joint action."""

    @abstractmethod
    def __call__(
        self, values: SeatValues, state: Float[Array, "time game numbers"]
    ) -> Float[Array, "time game"]:
        """The value of the joint action."""


class SumMixer(Mixer):
    r"""Value decomposition (Sunehag et al., 2018, arXiv:1706.05296): :math:`Q_{tot} = \sum_i Q_i`."""

    def __call__(
        self, values: SeatValues, state: Float[Array, "time game numbers"]
    ) -> Float[Array, "time game"]:
        return values.chosen.sum(axis=1)


class MonotonicMixer(Mixer):
    r"""QMIX (Rashid et al., 2018, arXiv:1803.11485): a network with weights that are not negative.

    .. math:: Q_{tot} = |w_2(s)|^\top \mathrm{elu}(|W_1(s)| Q + b_1(s)) + V(s)

    The weights come from hypernetworks of the game's state. Since they are not negative, the value of the
    joint action never falls as that of a seat's own rises.
    """

    weights: "Hypernet"
    bias: Linear
    last_weights: "Hypernet"
    last_bias: "Hypernet"
    width: int = eqx.field(static=True)

    def __init__(self, seats: int, numbers: int, width: int, hyper_width: int, key: Key) -> None:
        keys = jax.random.split(key, 4)
        # So that a new mixer is close to a sum: products of weights add up to about 1 for each seat. With
        # larger ones the errors that a maximum picks come back multiplied in the targets, and values diverge.
        scale = width**-0.5
        self.weights = Hypernet(numbers, hyper_width, seats * width, keys[0], scale)
        self.bias = Linear(numbers, width, scale, keys[1])
        self.last_weights = Hypernet(numbers, hyper_width, width, keys[2], scale)
        self.last_bias = Hypernet(numbers, width, 1, keys[3], LEAST_SCALE)
        self.width = width

    def __call__(
        self, values: SeatValues, state: Float[Array, "time game numbers"]
    ) -> Float[Array, "time game"]:
        seats = values.chosen.shape[1]
        first = jnp.abs(self.weights(state)).reshape((*state.shape[:2], seats, self.width))
        hidden = jax.nn.elu(jnp.einsum("tsg,tgsw->tgw", values.chosen, first) + self.bias(state))
        total = (hidden * jnp.abs(self.last_weights(state))).sum(axis=-1)
        return total + self.last_bias(state)[..., 0]


class DuplexMixer(Mixer):
    r"""QPLEX (Wang et al., 2021, arXiv:2008.01062): a duelling of joint values, which loses nothing.

    .. math:: Q_{tot} = \sum_i (w_i(s) V_i + b_i(s)) + \sum_i \lambda_i(s, a) w_i(s) (Q_i - V_i)

    with :math:`w, \lambda > 0`. The advantages :math:`Q_i - V_i` are at most 0, and 0 for the best action, so
    any positive weights keep the joint of greedy actions best; since the weights see the joint action, every
    joint value with the same best action can be represented. Where :math:`\lambda` differs from 1 no gradient
    goes into the advantages.

    The published code makes weights positive by absolute values and sigmoids. There they stick at 0, or grow
    too slowly while the advantage of what will be the best action vanishes: exponentials do neither.
    """

    scale: "Hypernet"
    shift: "Hypernet"
    weights: "Hypernet"
    heads: int = eqx.field(static=True)

    def __init__(
        self, seats: int, numbers: int, choices: int, width: int, hyper_width: int, key: Key
    ) -> None:
        keys = jax.random.split(key, 3)
        self.scale = Hypernet(numbers, hyper_width, seats, keys[0])
        self.shift = Hypernet(numbers, hyper_width, seats, keys[1])
        self.weights = Hypernet(numbers + seats * choices, hyper_width, width * seats, keys[2])
        self.heads = width

    def __call__(
        self, values: SeatValues, state: Float[Array, "time game numbers"]
    ) -> Float[Array, "time game"]:
        scale, shift = (jnp.moveaxis(net(state), -1, 1) for net in (self.scale, self.shift))
        scale = jax.nn.softplus(scale) + LEAST_SCALE
        chosen, best = scale * values.chosen + shift, scale * values.best + shift
        advantage = jax.lax.stop_gradient(chosen - best)
        return (chosen + advantage * (self._weights(values.action, state) - 1.0)).sum(axis=1)

    def _weights(self, action: Array, state: Array) -> Float[Array, "time seat game"]:
        """Positive weights of the advantages: the mean of several heads that see the joint action."""
        joint = jnp.moveaxis(action, 1, 2).reshape((*state.shape[:2], -1))
        heads = self.weights(jnp.concatenate([state, joint], axis=-1))
        heads = heads.reshape((*state.shape[:2], self.heads, action.shape[1]))
        return jnp.moveaxis(jnp.exp(heads).mean(axis=-2), -1, 1)


class Hypernet(eqx.Module):
    """A network with one hidden layer, whose outputs are weights of another one."""

    hidden: Linear
    out: Linear

    def __init__(self, inputs: int, width: int, outputs: int, key: Key, scale: float = 1.0) -> None:
        hidden_key, out_key = jax.random.split(key)
        self.hidden = Linear(inputs, width, 2.0**0.5, hidden_key)
        self.out = Linear(width, outputs, scale, out_key)

    def __call__(self, x: Float[Array, "... inputs"]) -> Float[Array, "... outputs"]:
        return self.out(jax.nn.relu(self.hidden(x)))
