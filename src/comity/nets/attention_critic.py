r"""A critic that attends to the other seats of a team (Iqbal and Sha, 2019, arXiv:1810.02912).

.. math:: Q_i(o, a) = f\big(g(o_i), x_i\big), \quad
          x_i = \sum_{j \ne i} \alpha_{ij}\, \mathrm{relu}(V e(o_j, a_j)), \quad
          \alpha_{ij} \propto \exp\big((K e(o_j, a_j))^\top Q g(o_i) / \sqrt d\big)

A seat asks by what it sees, and is answered by what the others see and do; one pass values each of its own
actions, since its own action is not among the inputs. Several heads attend to different things.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float
from jaxtyping import PRNGKeyArray as Key

from comity.nets.attention import HIDDEN
from comity.nets.dense import dense_layers, through
from comity.nets.linear import Linear


class AttentionCritic(eqx.Module):
    """Values [..., seat, action] of each seat's own actions, beside what all others do."""

    own: tuple[Linear, ...]  # g: of what a seat sees
    both: tuple[Linear, ...]  # e: of what a seat sees and does
    query: Linear
    key: Linear
    answer: Linear
    hidden: tuple[Linear, ...]
    out: Linear
    heads: int = eqx.field(static=True)

    def __init__(self, seen: int, actions: int, width: int, heads: int, key: Key) -> None:
        keys = jax.random.split(key, 7)
        self.own = dense_layers([seen, width], keys[0], False, "float32")
        self.both = dense_layers([seen + actions, width], keys[1], False, "float32")
        self.query = Linear(width, width, 1.0, keys[2], use_bias=False)
        self.key = Linear(width, width, 1.0, keys[3], use_bias=False)
        self.answer = Linear(width, width, 2.0**0.5, keys[4])
        self.hidden = dense_layers([2 * width, width], keys[5], False, "float32")
        self.out = Linear(width, actions, 0.1, keys[6])
        self.heads = heads

    def __call__(
        self,
        seen: Float[Array, "*axes seat seen"],
        action: Float[Array, "*axes seat actions"],
        present: Bool[Array, "*axes seat"],
    ) -> Float[Array, "*axes seat actions"]:
        """`action` is one-hot; seats that are not `present` are not attended to."""
        own = through(self.own, seen)
        both = through(self.both, jnp.concatenate([seen, action], axis=-1))
        attended = self.attend(own, both, present)
        return self.out(through(self.hidden, jnp.concatenate([own, attended], axis=-1)))

    def attend(self, own: Array, both: Array, present: Bool[Array, "*axes seat"]) -> Array:
        """What the others answer to each seat; nothing where there are none."""
        query, key = (self._split(x) for x in (self.query(own), self.key(both)))
        answer = self._split(jax.nn.relu(self.answer(both)))
        score = jnp.einsum("...ihd,...jhd->...hij", query, key) / query.shape[-1] ** 0.5
        own_place = jnp.broadcast_to(jnp.eye(own.shape[-2], dtype=jnp.bool_), score.shape)
        others = ~own_place & jnp.broadcast_to(present[..., None, None, :], score.shape)
        weight = jnp.where(others, jax.nn.softmax(jnp.where(others, score, HIDDEN), axis=-1), 0.0)
        return jnp.einsum("...hij,...jhd->...ihd", weight, answer).reshape(own.shape)

    def _split(self, x: Float[Array, "*axes seat width"]) -> Float[Array, "*axes seat head part"]:
        return x.reshape((*x.shape[:-1], self.heads, -1))
