"""A tree of sums: draws places by their priorities in logarithmic time, on the device."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

TINY = float(np.finfo(np.float32).tiny)  # the smallest mass that is divided by
Tree = Float[Array, " nodes"]  # node i has the children 2i and 2i + 1; the second half are the leaves


def empty_tree(places: int) -> Tree:
    """A tree of so many places, all of priority 0."""
    leaves = 1 << max(places - 1, 0).bit_length()
    return jnp.zeros(2 * leaves, jnp.float32)


def priorities(tree: Tree) -> Float[Array, " leaves"]:
    """The priority of every place."""
    return tree[tree.shape[0] // 2 :]


def total(tree: Tree) -> Float[Array, ""]:
    """The sum of all priorities."""
    return tree[1]


def set_priorities(tree: Tree, place: Int[Array, " n"], priority: Float[Array, " n"]) -> Tree:
    """The tree with other priorities at some places; of a place named twice, one of the two counts.

    Sums are computed anew from their children, never by differences, so that rounding does not pile up.
    """
    node = place + tree.shape[0] // 2
    tree = tree.at[node].set(priority)
    for _ in range(_depth(tree)):
        node = node // 2
        tree = tree.at[node].set(tree[2 * node] + tree[2 * node + 1])
    return tree


def find_places(tree: Tree, mass: Float[Array, " n"]) -> Int[Array, " n"]:
    """The places at which the running sum of priorities passes each `mass`, from 0 up to the total.

    A place of priority 0 is never found, however sums were rounded: no branch without mass is entered.
    """
    node = jnp.ones(mass.shape, jnp.int32)
    for _ in range(_depth(tree)):
        left, right = tree[2 * node], tree[2 * node + 1]
        goes_right = ((mass >= left) & (right > 0)) | (left <= 0)
        mass = jnp.where(goes_right, mass - left, mass)
        node = 2 * node + goes_right.astype(jnp.int32)
    return node - tree.shape[0] // 2


def draw_places(tree: Tree, uniform: Float[Array, " n"]) -> tuple[Int[Array, " n"], Float[Array, " n"]]:
    """One place from each of n equal parts of the total mass, and the probability of each.

    `uniform` are numbers from 0 to 1: stratified sampling, as in prioritised replay.
    """
    count = uniform.shape[0]
    mass = (jnp.arange(count, dtype=jnp.float32) + uniform) / count * total(tree)
    place = find_places(tree, mass)
    return place, priorities(tree)[place] / jnp.maximum(total(tree), TINY)


def _depth(tree: Tree) -> int:
    return (tree.shape[0] // 2).bit_length() - 1


def largest(tree: Tree) -> Float[Array, ""]:
    """The largest priority."""
    return jax.lax.reduce_max(priorities(tree), (0,))
