"""Fair allocations of goods, and how fair a given one is.

Agents have values `valuations[agent, good]` that add up; an allocation is `shares[agent, good]`, each
column summing to 1 (0 and 1 only, if goods cannot be divided). Welfare of utilities u:

    utilitarian sum_i u_i,    egalitarian min_i u_i,    Nash (prod_i u_i)^(1/n).

Envy-free: nobody prefers another's bundle. Proportional: everyone values their own at 1/n of everything.
Gini: sum_ij |u_i - u_j| / (2 n sum_i u_i), 0 if all are equal.

Source: Moulin, "Fair Division and Collective Welfare", 2003; Budish, "The combinatorial assignment
problem", J. Political Economy, 2011 (envy-free up to one good).
"""

from itertools import product
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from jaxtyping import Float
from scipy import optimize

from comity.core.display import displayed
from comity.theory.errors import TheoryError
from comity.theory.linear_program import minimise, solved
from comity.theory.normal_form.game import numbers

Welfare = Literal["utilitarian", "egalitarian", "nash"]
MOST_ASSIGNMENTS = 500_000


@displayed
class Allocation(NamedTuple):
    """Who gets how much of each good, and what it is worth to them."""

    shares: Float[np.ndarray, "agents goods"]
    utilities: Float[np.ndarray, " agents"]
    gap: float  # how far the optimum can be above this, relatively: 0 for exact methods


def checked_valuations(valuations: object) -> Float[np.ndarray, "agents goods"]:
    """Valuations of at least 0, with something that each agent wants."""
    table = numbers(valuations, "valuations")
    if table.ndim != 2 or table.size == 0 or (table < 0).any():
        raise TheoryError(
            f"valuations has shape {table.shape} and least entry {table.min(initial=np.inf)}; a table "
            "[agents, goods] of numbers of at least 0 would work."
        )
    if (table.sum(axis=1) == 0).any():
        raise TheoryError("An agent values every good at 0; leave out agents that want nothing.")
    return table


def welfare_of(utilities: Float[np.ndarray, "*options agents"], kind: Welfare) -> np.ndarray:
    """The welfare of each row of utilities (Nash needs them to be at least 0)."""
    if kind == "utilitarian":
        return np.asarray(utilities.sum(axis=-1))
    if kind == "egalitarian":
        return np.asarray(utilities.min(axis=-1))
    if kind == "nash":
        if (utilities < 0).any():
            raise TheoryError(
                f"A utility is {utilities.min()}; Nash welfare needs utilities of at least 0 (subtract "
                "what each agent gets without agreement)."
            )
        with np.errstate(divide="ignore"):
            return np.asarray(np.exp(np.log(utilities).mean(axis=-1)))
    raise TheoryError(f"welfare is {kind!r}; 'utilitarian', 'egalitarian' or 'nash' would work.")


def best_alternative(utilities: Float[np.ndarray, "alternatives agents"], kind: Welfare) -> int:
    """The row of `utilities` with the greatest welfare; ties go to the greatest sum."""
    table = numbers(utilities, "utilities")
    if table.ndim != 2 or table.size == 0:
        raise TheoryError(f"utilities has shape {table.shape}; a table [alternatives, agents] would work.")
    welfare = welfare_of(table, kind)
    best = welfare >= welfare.max() - 1e-12 * max(1.0, abs(float(welfare.max())))
    return int(np.where(best, table.sum(axis=1), -np.inf).argmax())


def best_assignment(valuations: Float[np.ndarray, "agents goods"], kind: Welfare) -> Allocation:
    """The best way to give whole goods to agents, by trying all."""
    table = checked_valuations(valuations)
    agents, goods = table.shape
    if agents**goods > MOST_ASSIGNMENTS:
        raise TheoryError(
            f"{agents} agents and {goods} goods make {agents**goods:,} assignments, more than "
            f"{MOST_ASSIGNMENTS:,}; divide_goods works for any number of divisible goods."
        )
    owners = np.array(list(product(range(agents), repeat=goods)))
    utilities = np.stack([(table[i] * (owners == i)).sum(axis=1) for i in range(agents)], axis=1)
    chosen = owners[best_alternative(utilities, kind)]
    shares = (chosen == np.arange(agents)[:, None]).astype(np.float64)
    return Allocation(shares, (table * shares).sum(axis=1), 0.0)


def divide_goods(valuations: Float[np.ndarray, "agents goods"], kind: Welfare) -> Allocation:
    """The best division of divisible goods: who values it most, a linear program, or a market."""
    table = checked_valuations(valuations)
    if kind == "utilitarian":
        wins = (table >= table.max(axis=0) - 1e-12).astype(np.float64)
        shares = wins / wins.sum(axis=0)
        return Allocation(shares, (table * shares).sum(axis=1), 0.0)
    if kind == "egalitarian":
        return egalitarian_division(table)
    if kind == "nash":
        return nash_division(table)
    raise TheoryError(f"welfare is {kind!r}; 'utilitarian', 'egalitarian' or 'nash' would work.")


def egalitarian_division(table: Float[np.ndarray, "agents goods"]) -> Allocation:
    """Maximise t with u_i(x) >= t."""
    agents, goods = table.shape
    scale = float(table.max())
    utility = np.zeros((agents, agents * goods + 1))
    for i in range(agents):
        utility[i, i * goods : (i + 1) * goods] = -table[i] / scale
    utility[:, -1] = 1.0
    whole = np.column_stack([np.tile(np.eye(goods), agents), np.zeros(goods)])
    solution = solved(
        minimise(np.append(np.zeros(agents * goods), -1.0), utility, np.zeros(agents), whole, np.ones(goods)),
        "the egalitarian division",
    )
    shares = solution.point[:-1].reshape(agents, goods).clip(0.0)
    shares /= shares.sum(axis=0)
    return Allocation(shares, (table * shares).sum(axis=1), 0.0)


def nash_division(table: Float[np.ndarray, "agents goods"], rounds: int = 2_000) -> Allocation:
    """Proportional response: everyone spends a budget of 1 on goods in proportion to what they yielded.

    This converges to the market equilibrium with equal budgets, which maximises Nash welfare (Eisenberg
    and Gale; Wu and Zhang, STOC 2007). Where it is slow, sequential quadratic programming finishes.
    """
    wanted = table.sum(axis=0) > 0
    bids = table / table.sum(axis=1, keepdims=True)
    shares = np.full_like(table, 1.0 / len(table))
    for _ in range(rounds):
        shares[:, wanted] = bids[:, wanted] / bids[:, wanted].sum(axis=0)
        yielded = table * shares
        if nash_gap(table, shares) < 1e-10:
            break
        bids = yielded / yielded.sum(axis=1, keepdims=True)
    if nash_gap(table, shares) >= 1e-10 and table.size <= 200:
        shares = min(shares, quadratic_steps(table, shares), key=lambda x: nash_gap(table, x))
    return Allocation(shares, (table * shares).sum(axis=1), nash_gap(table, shares))


def nash_gap(table: np.ndarray, shares: np.ndarray) -> float:
    """For all z, Nash(z) / Nash(x) <= sum_i u_i(z) / (n u_i(x)) <= sum_g max_i [v_ig / u_i(x)] / n."""
    worth = table / (table * shares).sum(axis=1, keepdims=True)
    return max(0.0, float(worth.max(axis=0).sum()) / len(table) - 1.0)


def quadratic_steps(table: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Maximise sum_i log u_i over shares that sum to 1, from `start`."""

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        utilities = np.maximum((table * flat.reshape(table.shape)).sum(axis=1, keepdims=True), 1e-12)
        return -float(np.log(utilities).sum()), -(table / utilities).ravel()

    whole = np.tile(np.eye(table.shape[1]), len(table))
    result = cast(Any, optimize.minimize)(
        loss, start.ravel(), jac=True, method="SLSQP", bounds=[(0.0, 1.0)] * table.size,
        constraints={"type": "eq", "fun": lambda x: whole @ x - 1.0, "jac": lambda _: whole},
        options={"maxiter": 300, "ftol": 1e-16},
    )  # fmt: skip
    shares = np.asarray(result.x).reshape(table.shape).clip(0.0)
    return shares / shares.sum(axis=0)


def envy(valuations: object, shares: object) -> Float[np.ndarray, "agents agents"]:
    """Entry [i, j]: how much more i values j's bundle than their own."""
    table, given = checked_valuations(valuations), checked_shares(valuations, shares)
    worth = table @ given.T
    return worth - np.diag(worth)[:, None]


def checked_shares(valuations: object, shares: object) -> Float[np.ndarray, "agents goods"]:
    """Shares of at least 0, of each good at most all of it."""
    table, given = numbers(valuations, "valuations"), numbers(shares, "shares")
    if given.shape != table.shape or (given < -1e-9).any() or (given.sum(axis=0) > 1 + 1e-9).any():
        raise TheoryError(
            f"shares has shape {given.shape}; a table like valuations {table.shape} of numbers of at least "
            "0 with columns that sum to at most 1 would work."
        )
    return given


def is_envy_free(valuations: object, shares: object, tolerance: float = 1e-9) -> bool:
    """Whether nobody prefers another's bundle."""
    return bool(envy(valuations, shares).max() <= tolerance)


def is_envy_free_up_to_one(valuations: object, shares: object, tolerance: float = 1e-9) -> bool:
    """Whether all envy of j ends when one good is taken from j's bundle (whole goods)."""
    table, given = checked_valuations(valuations), checked_shares(valuations, shares)
    best_good = (table[:, None, :] * given[None, :, :]).max(axis=2)  # [i, j]: i's favourite in j's bundle
    return bool((envy(table, given) - best_good).max() <= tolerance)


def is_proportional(valuations: object, shares: object, tolerance: float = 1e-9) -> bool:
    """Whether everyone values their bundle at 1/n of all goods or more."""
    table, given = checked_valuations(valuations), checked_shares(valuations, shares)
    return bool(((table * given).sum(axis=1) >= table.sum(axis=1) / len(table) - tolerance).all())


def gini(values: object) -> float:
    """Inequality of `values`: 0 if all are equal, towards 1 if one has everything."""
    vector = numbers(values, "values").ravel()
    if vector.size == 0 or (vector < 0).any():
        raise TheoryError(
            f"values is {vector.tolist()[:8]}; the Gini coefficient needs numbers of at least 0 (subtract "
            "the least possible value first)."
        )
    total = float(vector.sum())
    if total == 0.0:
        return 0.0
    ordered = np.sort(vector)
    ranks = 2 * np.arange(1, len(ordered) + 1) - len(ordered) - 1
    return float(ranks @ ordered) / (len(ordered) * total)
