r"""Hierarchies of any depth: reports go up as weighted sums, orders go down.

Members are the leaves of a tree. A leader knows of its group the sum, or the mean of its subgroups' means,
and nothing else; weighted by the size of the groups the mean at the top is the mean of all members:

.. math:: m_g = \sum_{c \in g} \frac{n_c}{n_g} m_c
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import optimize

from comity.coordination.base import Mechanism
from comity.coordination.market import Market, Outcome
from comity.core.errors import require

Weighting = Literal["size", "equal"]


class Tree(NamedTuple):
    """`parents[node]` is the leader of each node, -1 at the top. Members come first, leaders after those
    they lead."""

    members: int
    parents: Int[np.ndarray, " node"]

    @property
    def sizes(self) -> Int[np.ndarray, " node"]:
        """How many members each node has below it, or is."""
        sizes = np.zeros(len(self.parents), np.int64)
        sizes[: self.members] = 1
        for node, parent in enumerate(self.parents[:-1]):
            sizes[parent] += sizes[node]
        return sizes

    @property
    def depth(self) -> int:
        """How many links lie between a member and the top, at most."""
        depths = np.zeros(len(self.parents), np.int64)
        for node in reversed(range(len(self.parents) - 1)):
            depths[node] = depths[self.parents[node]] + 1
        return int(depths.max())

    def below(self, node: int) -> list[int]:
        """Who reports to a node."""
        return np.flatnonzero(self.parents == node).tolist()


def make_tree(parents: object, members: int) -> Tree:
    """A tree from each node's leader, checked: members first, leaders after those they lead, -1 at the
    top."""
    table = np.asarray(parents, dtype=np.int64)
    node = np.arange(len(table))
    fits = 1 <= members < len(table) and bool((table[:-1] > node[:-1]).all()) and table[-1] == -1
    fits = (
        fits and bool((table[:-1] < len(table)).all()) and set(table[:-1]) == set(range(members, len(table)))
    )
    rule = "for each node a leader after it, each later node leading somebody, and -1 last"
    require(fits, "parents", table.tolist(), rule)
    return Tree(members, table)


def balanced_tree(members: int, branching: int) -> Tree:
    """Groups of at most `branching` members in a row, groups of such groups, and so on up to one leader."""
    require(members >= 1, "members", members, "at least 1")
    require(branching >= 2, "branching", branching, "at least 2")
    parents: list[int] = []
    first, count = 0, members
    while count > 1 or not parents:
        parents += [first + count + i // branching for i in range(count)]
        first, count = first + count, -(-count // branching)
    return Tree(members, np.array([*parents, -1]))


def sums_upward(tree: Tree, values: Float[np.ndarray, "member *shape"]) -> Float[np.ndarray, "node *shape"]:
    """What each node knows if everybody reports the sum of what it was told."""
    sums = np.zeros((len(tree.parents), *values.shape[1:]))
    sums[: tree.members] = values
    for node, parent in enumerate(tree.parents[:-1]):
        sums[parent] += sums[node]
    return sums


def means_upward(
    tree: Tree, values: Float[np.ndarray, "member *shape"], weighting: Weighting = "size"
) -> Float[np.ndarray, "node *shape"]:
    """What each node knows if everybody reports the mean of what it was told, weighted by size or not."""
    require(weighting in ("size", "equal"), "weighting", weighting, "size or equal")
    sizes = tree.sizes.astype(np.float64)
    weights = np.ones(len(sizes))
    if weighting == "size":
        weights[:-1] = sizes[:-1] / sizes[tree.parents[:-1]]
    else:
        weights[:-1] = 1.0 / np.bincount(tree.parents[:-1], minlength=len(sizes))[tree.parents[:-1]]
    means = np.zeros((len(sizes), *values.shape[1:]))
    means[: tree.members] = values
    for node, parent in enumerate(tree.parents[:-1]):
        means[parent] += weights[node] * means[node]
    return means


def divide_downward(
    tree: Tree, total: float, claims: Float[np.ndarray, " member"]
) -> Float[np.ndarray, " member"]:
    """What members get if everybody divides what it was given in proportion to the claims reported to it.

    However deep the tree, these are the shares that one leader of all would give.
    """
    require(bool((claims >= 0).all()), "claims", claims.tolist(), "at least 0 each")
    sums = sums_upward(tree, claims)
    given = np.zeros(len(sums))
    given[-1] = total
    for node in reversed(range(len(sums) - 1)):
        parent = tree.parents[node]
        given[node] = given[parent] * sums[node] / sums[parent] if sums[parent] > 0 else 0.0
    return given[: tree.members]


@dataclass(frozen=True)
class Hierarchy(Mechanism):
    """Leaders divide the offers among their groups by the means that these report.

    A leader sees its groups' means only, so a deep hierarchy needs few messages to the top and loses value;
    one of depth 1 finds the optimum, as does any in which the members of each group want the same.
    """

    branching: int = 4  # how many report to a leader
    weighting: Weighting = "size"  # how a leader weighs its groups in its own report

    instead: ClassVar[str] = "optimum or vcg"

    def __post_init__(self) -> None:
        require(self.branching >= 2, "branching", self.branching, "at least 2")
        require(self.weighting in ("size", "equal"), "weighting", self.weighting, "size or equal")

    def tree(self, market: Market) -> Tree:
        """Who leads whom in a market."""
        return balanced_tree(len(market.needs), self.branching)

    def link_count(self, market: Market) -> int:
        return len(self.tree(market).parents) - 1

    def coordinator_links(self, market: Market) -> Bool[np.ndarray, " links"]:
        parents = self.tree(market).parents
        return parents[:-1] == len(parents) - 1

    def solve(self, market: Market) -> Outcome:
        return self._order(market, np.ones(self.link_count(market), np.bool_))

    def solve_with(self, market: Market, up: Bool[np.ndarray, " links"]) -> Outcome:
        self.check(market)
        return self._order(market, up)

    def _order(self, market: Market, up: Bool[np.ndarray, " links"]) -> Outcome:
        tree, net = self.tree(market), np.maximum(market.net, 0.0)
        heard = np.append(up, True)
        for node in reversed(range(len(up))):
            heard[node] &= heard[tree.parents[node]]
        known = means_upward(tree, np.where(heard[: tree.members, None], net, 0.0), self.weighting)
        shares = np.zeros_like(net)
        given: dict[int, list[int]] = {len(tree.parents) - 1: list(range(net.shape[1]))}
        for node in reversed(range(tree.members, len(tree.parents))):
            offers, groups = given.get(node, []), [group for group in tree.below(node) if heard[group]]
            if offers and groups:
                given |= _divide(known[groups][:, offers], tree.sizes[groups], groups, offers)
        for member in range(tree.members):
            shares[member, given.get(member, [])] = 1.0
        shares = np.where(market.net > 0, shares, 0.0)
        sent = int(heard[:-1].sum())
        return Outcome(
            shares, np.zeros(len(net)), np.zeros(net.shape[1]), {"report": sent, "order": sent}, tree.depth
        )


def _divide(
    known: Float[np.ndarray, "group offer"],
    sizes: Int[np.ndarray, " group"],
    groups: list[int],
    offers: list[int],
) -> dict[int, list[int]]:
    """The offers that each group gets, at most one for each of its members, so that their worth is
    greatest."""
    places = np.repeat(np.arange(len(groups)), sizes)
    rows, columns = optimize.linear_sum_assignment(known[places], maximize=True)
    given: dict[int, list[int]] = {group: [] for group in groups}
    for row, column in zip(rows, columns, strict=True):
        given[groups[places[row]]].append(offers[column])
    return given
