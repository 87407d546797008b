"""What every mechanism is given and gives back: needs and offers in; assignment, payments and messages out.

A need is somebody who wants something (a bidder, a buyer, a task to be done), an offer is something that can
be had (an item, a seller's unit, a contractor). What a need wants is its `demand`:

    unit      one offer at most: v_i(S) = max_{j in S} values[i, j]
    additive  any number:        v_i(S) = sum_{j in S} values[i, j]
    bundles   XOR bids:          v_i(S) = max { b : (B, b) is a bid of i and B is within S }

All values are reports: what a need says its offers are worth to it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from comity.core.display import displayed
from comity.core.errors import ComityError, require

Demand = Literal["unit", "additive", "bundles"]
Bids = Mapping[frozenset[int], float]  # a bundle of offers, and what it is worth as a whole
WHOLE = 1.0 - 1e-9  # a share from which on an offer counts as given whole


@dataclass(frozen=True, eq=False)
class Market:
    """`values[i, j]` is what offer j is worth to need i, `costs[j]` what giving it costs whoever has it."""

    values: Float[np.ndarray, "needs offers"]
    costs: Float[np.ndarray, " offers"]
    budgets: Float[np.ndarray, " needs"]  # what each need can spend; infinite: no limit
    demand: Demand
    bundles: tuple[Bids, ...]  # the bids of each need where its demand is for bundles, else empty
    needs: tuple[str, ...]
    offers: tuple[str, ...]

    @property
    def net(self) -> Float[np.ndarray, "needs offers"]:
        """What each offer is worth to each need, less what it costs."""
        return self.values - self.costs

    def worth(self, shares: Float[np.ndarray, "needs offers"]) -> Float[np.ndarray, " needs"]:
        """What each need's share of the offers is worth to it."""
        if self.demand == "additive":
            return np.asarray((self.values * shares).sum(axis=1))
        if self.demand == "unit":
            return np.asarray((self.values * shares).max(axis=1))
        return np.array([self._bundle_worth(i, shares[i]) for i in range(len(self.needs))])

    def welfare(self, shares: Float[np.ndarray, "needs offers"]) -> float:
        """What an assignment is worth to all needs together, less what its offers cost."""
        return float(self.worth(shares).sum() - self.costs @ shares.sum(axis=0))

    def bids(self) -> list[tuple[int, frozenset[int], float]]:
        """Every (need, bundle, value) that is bid; of unit demand, the bundles of one offer."""
        if self.demand == "bundles":
            return [(i, bundle, value) for i, own in enumerate(self.bundles) for bundle, value in own.items()]
        rows, columns = self.values.shape
        return [(i, frozenset({j}), float(self.values[i, j])) for i in range(rows) for j in range(columns)]

    def hearing(self, heard: Bool[np.ndarray, " needs"]) -> "Market":
        """The market as it is where some needs are not heard: they are worth nothing and spend nothing."""
        values = np.where(heard[:, None], self.values, 0.0)
        budgets = np.where(heard, self.budgets, 0.0) if np.isfinite(self.budgets).all() else self.budgets
        bundles = tuple(own if heard[i] else {} for i, own in enumerate(self.bundles))
        return replace(self, values=values, budgets=budgets, bundles=bundles)

    def _bundle_worth(self, need: int, shares: Float[np.ndarray, " offers"]) -> float:
        had = frozenset(np.flatnonzero(shares >= WHOLE).tolist())
        return max((value for bundle, value in self.bundles[need].items() if bundle <= had), default=0.0)


@displayed
class Outcome(NamedTuple):
    """What a mechanism decides. `shares[i, j]` is how much of offer j need i gets, in all at most 1.

    `payments` are what needs pay and `receipts` what offers are paid; the difference stays with the
    coordinator. `messages` counts what was sent, by kind. `gap` is how far the best assignment can be above
    this one by what the mechanism itself proves: relative for markets of divisible goods, else in units of
    value.
    """

    shares: Float[np.ndarray, "needs offers"]
    payments: Float[np.ndarray, " needs"]
    receipts: Float[np.ndarray, " offers"]
    messages: dict[str, int]
    rounds: int = 1
    gap: float = float("inf")

    @property
    def message_count(self) -> int:
        """How many messages were sent in all."""
        return sum(self.messages.values())

    @property
    def revenue(self) -> float:
        """What is left of the payments once the offers are paid."""
        return float(self.payments.sum() - self.receipts.sum())

    @property
    def assignment(self) -> tuple[tuple[int, ...], ...]:
        """The offers that each need got whole."""
        return tuple(tuple(np.flatnonzero(row >= WHOLE).tolist()) for row in self.shares)


def make_market(
    values: object = None,
    costs: object = None,
    budgets: object = None,
    demand: Demand = "unit",
    bundles: Sequence[Mapping[frozenset[int], float]] = (),
    needs: Sequence[str] = (),
    offers: Sequence[str] = (),
) -> Market:
    """A market from tables of numbers, checked; with `bundles`, what needs bid for sets of offers."""
    if bundles:
        require(
            values is None, "values", "a table", "left out where there are bundles, which hold the values"
        )
        return _market_of_bundles(bundles, costs, budgets, needs, offers)
    table = _numbers(values, "values")
    if table.ndim != 2 or table.size == 0:
        raise ComityError(f"values has the shape {table.shape}: a table [needs, offers] would work.")
    require(demand in ("unit", "additive"), "demand", demand, "unit or additive where there are no bundles")
    return _checked(table, costs, budgets, demand, (), needs, offers)


def _market_of_bundles(
    bundles: Sequence[Mapping[frozenset[int], float]],
    costs: object,
    budgets: object,
    needs: Sequence[str],
    offers: Sequence[str],
) -> Market:
    for i, own in enumerate(bundles):
        for bundle, value in own.items():
            where = f"bundles[{i}]"
            require(
                isinstance(bundle, frozenset),
                where,
                bundle,
                "a dictionary from frozensets of offers to values",
            )
            places = all(isinstance(j, int | np.integer) and j >= 0 for j in bundle)
            require(bool(bundle) and places, where, set(bundle), "bids for at least one offer, by its number")
            require(bool(np.isfinite(value)), where, value, "finite values")
    count = 1 + max((j for own in bundles for bundle in own for j in bundle), default=0)
    if offers:
        require(count <= len(offers), "bundles", count - 1, f"bids for offers from 0 to {len(offers) - 1}")
        count = len(offers)
    values = np.zeros((len(bundles), count))
    for i, own in enumerate(bundles):
        for bundle, value in own.items():
            if len(bundle) == 1:
                values[i, next(iter(bundle))] = value
    plain = tuple({bundle: float(value) for bundle, value in own.items()} for own in bundles)
    return _checked(values, costs, budgets, "bundles", plain, needs, offers)


def _checked(
    values: Float[np.ndarray, "needs offers"],
    costs: object,
    budgets: object,
    demand: Demand,
    bundles: tuple[Bids, ...],
    needs: Sequence[str],
    offers: Sequence[str],
) -> Market:
    rows, columns = values.shape
    prices = np.zeros(columns) if costs is None else _numbers(costs, "costs")
    require(prices.shape == (columns,), "costs", prices.tolist(), f"{columns} numbers, one for each offer")
    money = np.full(rows, np.inf) if budgets is None else _numbers(budgets, "budgets")
    fits = money.shape == (rows,) and bool((money >= 0).all())
    require(fits, "budgets", money.tolist(), f"{rows} numbers of at least 0, one for each need")
    return Market(
        values, prices, money, demand, bundles,
        _names(needs, rows, "needs", "need"), _names(offers, columns, "offers", "offer"),
    )  # fmt: skip


def _numbers(given: object, name: str) -> Float[np.ndarray, "*shape"]:
    try:
        table = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ComityError(f"{name} is not a table of numbers: rows of equal length would work.") from None
    require(bool(np.isfinite(table).all()), name, "with numbers that are not finite", "finite numbers")
    return table


def _names(given: Sequence[str], count: int, field: str, word: str) -> tuple[str, ...]:
    names = tuple(given) or tuple(f"{word} {i + 1}" for i in range(count))
    require(len(set(names)) == len(names) == count, field, list(names), f"{count} different names")
    return names
