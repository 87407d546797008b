"""Cooperative games: what each coalition can earn by itself.

A game with n players is the vector v of 2^n worths, indexed by bit masks: bit i of the index says whether
player i is in the coalition, so v[0] = 0 is the empty coalition and v[-1] the grand one.

Constructors: a characteristic function, a table, weighted votes, bankruptcy, airport and glove games.

Source: von Neumann and Morgenstern, 1944; Peleg and Sudholter, "Introduction to the Theory of Cooperative
Games", 2007, chapter 2; Aumann and Maschler, "Game theoretic analysis of a bankruptcy problem from the
Talmud", 1985; Littlechild and Owen, "A simple expression for the Shapley value in a special case", 1973.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from comity.core.display import displayed
from comity.theory.errors import TheoryError
from comity.theory.normal_form.game import numbers

MOST_PLAYERS = 24  # 2^24 worths are 128 MB


@displayed
@dataclass(frozen=True, eq=False)
class CoalitionalGame:
    """`worth[mask]` is what the coalition of the players in the bits of `mask` earns by itself."""

    worth: Float[np.ndarray, " coalitions"]
    players: tuple[str, ...] = ()  # names; "1", "2", ... when left out
    title: str = ""

    def __post_init__(self) -> None:
        worth = numbers(self.worth, "worth")
        size = worth.size
        if worth.ndim != 1 or size < 2 or size & (size - 1):
            raise TheoryError(
                f"worth has shape {worth.shape}; n players need a vector of 2^n worths, one for each "
                "coalition (for example 8 for 3 players)."
            )
        if worth[0] != 0.0:
            raise TheoryError(f"worth[0] is {worth[0]}; the empty coalition must be worth 0.")
        number = size.bit_length() - 1
        players = tuple(self.players) or tuple(str(i + 1) for i in range(number))
        if len(players) != number or len(set(players)) != number:
            raise TheoryError(f"players is {list(players)}; {number} different names would work.")
        object.__setattr__(self, "worth", worth)
        object.__setattr__(self, "players", players)

    @property
    def num_players(self) -> int:
        """The players: a game has 2^n worths."""
        return self.worth.size.bit_length() - 1

    def coalition(self, mask: int) -> tuple[str, ...]:
        """Names of the players in `mask`."""
        return tuple(name for i, name in enumerate(self.players) if mask >> i & 1)

    def excesses(self, allocation: Float[np.ndarray, " players"]) -> Float[np.ndarray, " coalitions"]:
        """v(S) - x(S) of every coalition: its complaint against `allocation`."""
        return self.worth - coalition_sums(np.asarray(allocation, dtype=np.float64))

    def zero_normalised(self) -> "CoalitionalGame":
        """What each coalition earns more than its members alone: v(S) - sum of v({i}). For costs, savings."""
        single = self.worth[1 << np.arange(self.num_players)]
        return CoalitionalGame(self.worth - coalition_sums(single), self.players, self.title)


def coalition_sums(values: Float[np.ndarray, " players"]) -> Float[np.ndarray, " coalitions"]:
    """Sum of `values` over each coalition, by doubling."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums


def memberships(players: int) -> Bool[np.ndarray, "coalitions players"]:
    """Entry [mask, i]: whether player i is in the coalition."""
    return (np.arange(1 << players)[:, None] >> np.arange(players) & 1).astype(np.bool_)


def sizes(players: int) -> Int[np.ndarray, " coalitions"]:
    """How many players each coalition has."""
    count = np.zeros(1, dtype=np.int64)
    for _ in range(players):
        count = np.concatenate([count, count + 1])
    return count


def checked_count(players: int) -> None:
    """Refuses games without players, or with too many for a table of coalitions."""
    if players == 0:
        raise TheoryError('No coalition has a member; for example {"a": 1, "b": 0, "a,b": 3} would work.')
    if not 1 <= players <= MOST_PLAYERS:
        raise TheoryError(
            f"The game has {players} players; a table of all coalitions works for 1 to {MOST_PLAYERS}. "
            "shapley_sampled takes a characteristic function of any number of players."
        )


def from_function(players: int, value: Callable[[tuple[int, ...]], float]) -> CoalitionalGame:
    """The game in which the coalition of players (numbered from 0) S earns `value(S)`."""
    checked_count(players)
    worth = [
        float(value(tuple(i for i in range(players) if mask >> i & 1))) if mask else 0.0
        for mask in range(1 << players)
    ]
    return CoalitionalGame(np.array(worth))


def from_table(
    table: Mapping[Iterable[str] | str, float], players: Sequence[str] | None = None
) -> CoalitionalGame:
    """From {coalition: worth}, where a coalition is an iterable of names or one string "a,b".

    Every non-empty coalition must be listed: a missing one is more often forgotten than worth 0.
    """
    rows = [(names_of(coalition), worth) for coalition, worth in table.items()]
    order = tuple(players) if players else tuple(dict.fromkeys(name for names, _ in rows for name in names))
    checked_count(len(order))
    index = {name: i for i, name in enumerate(order)}
    worth = np.full(1 << len(order), np.nan)
    worth[0] = 0.0
    for names, value in rows:
        unknown = [name for name in names if name not in index]
        if unknown:
            raise TheoryError(f"Coalition {list(names)} has the unknown player {unknown[0]!r}; use {order}.")
        mask = sum(1 << index[name] for name in set(names))
        if mask and not np.isnan(worth[mask]) and worth[mask] != value:
            raise TheoryError(f"Coalition {list(names)} is listed twice, worth {worth[mask]} and {value}.")
        if not np.isfinite(value):
            raise TheoryError(f"Coalition {list(names)} is worth {value}; a finite number would work.")
        worth[mask] = value
    missing = np.flatnonzero(np.isnan(worth))
    if missing.size:
        absent = [name for i, name in enumerate(order) if int(missing[0]) >> i & 1]
        raise TheoryError(
            f"The worth of coalition {absent} is missing ({missing.size} of {worth.size - 1} are); list "
            "every non-empty coalition, with 0 where it earns nothing."
        )
    return CoalitionalGame(worth, order)


def names_of(coalition: Iterable[str] | str) -> tuple[str, ...]:
    """The names in "a,b" or in an iterable of names."""
    if isinstance(coalition, str):
        return tuple(name.strip() for name in coalition.split(",") if name.strip())
    return tuple(coalition)


def weighted_votes(weights: Sequence[float] | Float[np.ndarray, " players"], quota: float) -> CoalitionalGame:
    """Coalitions with total weight of at least `quota` win 1."""
    vector = non_negative(weights, "weights")
    checked_count(len(vector))
    if not 0 < quota <= vector.sum() * (1 + 1e-12):
        raise TheoryError(
            f"quota is {quota}; a number above 0 and up to the total weight {vector.sum()} would work."
        )
    slack = 1e-9 * float(vector.sum())
    return CoalitionalGame((coalition_sums(vector) >= quota - slack).astype(np.float64))


def bankruptcy(estate: float, claims: Sequence[float] | Float[np.ndarray, " players"]) -> CoalitionalGame:
    """A coalition gets what is left of the estate after the others' claims are met in full."""
    vector = non_negative(claims, "claims")
    checked_count(len(vector))
    if not 0 <= estate <= vector.sum() * (1 + 1e-12):
        raise TheoryError(f"estate is {estate}; 0 up to the sum of claims, {vector.sum()}, would work.")
    estate = min(estate, float(vector.sum()))
    others = vector.sum() - coalition_sums(vector)
    return CoalitionalGame(np.where(others < estate, estate - others, 0.0))


def airport(costs: Sequence[float] | Float[np.ndarray, " players"]) -> CoalitionalGame:
    """The cost of a runway long enough for every member: worth is minus the largest cost."""
    vector = non_negative(costs, "costs")
    checked_count(len(vector))
    largest = np.zeros(1)
    for cost in vector:
        largest = np.concatenate([largest, np.maximum(largest, cost)])
    return CoalitionalGame(-largest)


def gloves(left: int, right: int) -> CoalitionalGame:
    """`left` players own a left glove each, `right` a right one; a pair is worth 1."""
    if left < 0 or right < 0:
        raise TheoryError(f"left is {left} and right {right}; numbers of at least 0 would work.")
    checked_count(left + right)
    first = coalition_sums(np.array([1.0] * left + [0.0] * right))
    return CoalitionalGame(np.minimum(first, sizes(left + right) - first))


def non_negative(values: Sequence[float] | np.ndarray, name: str) -> Float[np.ndarray, " players"]:
    """A vector of finite numbers of at least 0, one per player."""
    vector = numbers(values, name)
    if vector.ndim != 1 or vector.size == 0:
        raise TheoryError(f"{name} has shape {vector.shape}; a list with one number per player would work.")
    if (vector < 0).any():
        bad = int((vector < 0).argmax())
        raise TheoryError(f"{name}[{bad}] is {vector[bad]}; numbers of at least 0 would work.")
    return vector
