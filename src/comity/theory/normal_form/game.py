"""Games in normal form: one payoff tensor per player, and what a mixed strategy earns in it.

A game with n players is a tensor `payoffs[player, a_1, ..., a_n]`. A mixed profile is one probability
vector per player. The quantity that everything else is judged by is the regret of a profile x,

    regret(x) = max_i [ max_a u_i(a, x_-i) - u_i(x) ],

the most that some player gains by deviating alone; x is a Nash equilibrium if and only if it is 0
(Nash, "Non-cooperative games", Annals of Mathematics, 1951).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from comity.core.display import displayed, html_table, number
from comity.theory.errors import TheoryError

Vector = Float[np.ndarray, " _"]  # one entry per action
Profile = tuple[Vector, ...]  # entry i is player i's probability of each of their actions
MOST_PROFILES = 64  # of a game of more than two players, in a notebook
LARGEST = 1e100  # products of larger payoffs overflow


@dataclass(frozen=True, eq=False)
class NormalFormGame:
    """`payoffs[i, a_1, ..., a_n]` is what player i earns when every player j plays action a_j."""

    payoffs: Float[np.ndarray, " players *actions"]
    players: tuple[str, ...] = ()  # names; "player 1", "player 2", ... when left out
    actions: tuple[tuple[str, ...], ...] = ()  # names of each player's actions; "1", "2", ... when left out
    title: str = ""

    def __repr__(self) -> str:
        sizes = " x ".join(str(count) for count in self.payoffs.shape[1:])
        return f"<NormalFormGame{f' {self.title!r}' if self.title else ''} of {sizes} actions>"

    def _repr_html_(self) -> str:
        """The payoffs: of two players as a bimatrix, of more a line for each profile."""
        if self.payoffs.ndim == 3:
            rows, columns = self.payoffs.shape[1:]
            cells = [
                [", ".join(map(number, self.payoffs[:, i, j])) for j in range(columns)] for i in range(rows)
            ]
            lines = [[name, *row] for name, row in zip(self.actions[0], cells, strict=True)]
            return html_table(["", *self.actions[1]], lines, self.title)
        profiles = list(np.ndindex(self.payoffs.shape[1:]))[:MOST_PROFILES]
        lines = [
            [names[a] for names, a in zip(self.actions, profile, strict=True)]
            + [number(payoff) for payoff in self.payoffs[(slice(None), *profile)]]
            for profile in profiles
        ]
        return html_table(
            [*self.players, *(f"{name} earns" for name in self.players)], lines, repr(self).strip("<>")
        )

    def __post_init__(self) -> None:
        payoffs = checked_tensor(self.payoffs)
        object.__setattr__(self, "payoffs", payoffs)
        number = payoffs.shape[0]
        players = self.players or tuple(f"player {i + 1}" for i in range(number))
        actions = self.actions or tuple(tuple(str(a + 1) for a in range(k)) for k in payoffs.shape[1:])
        if len(players) != number:
            raise TheoryError(f"players has {len(players)} names for {number} players; give one name each.")
        if tuple(len(names) for names in actions) != payoffs.shape[1:]:
            raise TheoryError(
                f"actions names {[len(names) for names in actions]} actions, the payoffs have "
                f"{list(payoffs.shape[1:])}; give one name for each action of each player."
            )
        for where, names in (("players", players), *((f"actions[{i}]", a) for i, a in enumerate(actions))):
            if len(set(names)) < len(names):
                twice = next(name for name in names if list(names).count(name) > 1)
                raise TheoryError(f"{where} holds the name {twice!r} twice; different names would work.")
        object.__setattr__(self, "players", tuple(players))
        object.__setattr__(self, "actions", tuple(tuple(names) for names in actions))

    @classmethod
    def from_bimatrix(
        cls,
        row: Float[np.ndarray, "rows columns"] | Sequence[Sequence[float]],
        column: Float[np.ndarray, "rows columns"] | Sequence[Sequence[float]] | None = None,
        **names: Any,
    ) -> "NormalFormGame":
        """A two-player game from two tables; without the second one the game is zero-sum."""
        first = numbers(row, "the row player's payoffs")
        second = -first if column is None else numbers(column, "the column player's payoffs")
        if first.ndim != 2 or first.shape != second.shape:
            raise TheoryError(
                f"The tables have shapes {first.shape} and {second.shape}; two tables of one shape "
                "(rows, columns) would work."
            )
        return cls(np.stack([first, second]), **names)

    @classmethod
    def symmetric(cls, table: Float[np.ndarray, "own other"] | Sequence[Sequence[float]]) -> "NormalFormGame":
        """Two players who each earn `table[own action, other's action]`."""
        own = numbers(table, "table")
        if own.ndim != 2 or own.shape[0] != own.shape[1]:
            raise TheoryError(f"A symmetric game needs a square table; this one has shape {own.shape}.")
        return cls(np.stack([own, own.T]))

    @property
    def num_players(self) -> int:
        """How many players there are."""
        return self.payoffs.shape[0]

    @property
    def num_actions(self) -> tuple[int, ...]:
        """How many actions each player has."""
        return self.payoffs.shape[1:]

    @property
    def num_profiles(self) -> int:
        """How many pure profiles there are."""
        return int(np.prod(self.num_actions))

    def bimatrix(self, method: str) -> tuple[np.ndarray, np.ndarray]:
        """Both players' tables; `method` is named in the error when there are not two players."""
        if self.num_players != 2:
            raise TheoryError(
                f"{method} is for 2 players and this game has {self.num_players}; "
                "pure_equilibria, solve_n_player or the correlated equilibria would work."
            )
        return self.payoffs[0], self.payoffs[1]

    def action_payoffs(self, player: int, profile: Sequence[Vector]) -> Vector:
        """u_i(a, x_-i) for each action a of `player` while the others play `profile`."""
        tensor = self.payoffs[player]
        if self.num_players == 2:
            return tensor @ profile[1] if player == 0 else profile[0] @ tensor
        for other in reversed(range(self.num_players)):
            if other != player:
                tensor = np.moveaxis(tensor, other, -1) @ profile[other]
        return tensor

    def expected_payoffs(self, profile: Sequence[Vector]) -> Float[np.ndarray, " players"]:
        """u_i(x) of every player."""
        return np.array([self.action_payoffs(i, profile) @ profile[i] for i in range(self.num_players)])

    def regrets(self, profile: Sequence[Vector]) -> Float[np.ndarray, " players"]:
        """What each player gains by their best deviation from `profile`."""
        gains = np.empty(self.num_players)
        for player in range(self.num_players):
            values = self.action_payoffs(player, profile)
            gains[player] = values.max() - values @ profile[player]
        return gains.clip(0.0)

    def pure(self, actions: Sequence[int]) -> Profile:
        """The mixed profile in which player i plays `actions[i]` for certain."""
        return tuple(np.eye(k)[a] for k, a in zip(self.num_actions, actions, strict=True))

    def restrict(self, kept: Sequence[Sequence[int] | Int[np.ndarray, " kept"]]) -> "NormalFormGame":
        """The game in which player i may only play the actions `kept[i]`."""
        index = [np.asarray(actions, dtype=np.int64) for actions in kept]
        return NormalFormGame(
            self.payoffs[np.ix_(np.arange(self.num_players), *index)],
            self.players,
            tuple(tuple(names[a] for a in chosen) for names, chosen in zip(self.actions, index, strict=True)),
            self.title,
        )


@displayed
@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A mixed profile, what it pays, and the regret by which to trust it."""

    strategies: Profile
    payoffs: Float[np.ndarray, " players"]
    regret: float  # the largest gain of any player from deviating alone, in payoff units
    method: str

    @property
    def supports(self) -> tuple[tuple[int, ...], ...]:
        """The actions that each player plays with positive probability."""
        return tuple(tuple(np.flatnonzero(s > 1e-12).tolist()) for s in self.strategies)


def equilibrium(game: NormalFormGame, profile: Sequence[np.ndarray], method: str) -> Equilibrium:
    """Measure `profile` in `game`: its payoffs and its regret."""
    payoffs: list[float] = []
    regret = 0.0
    for player, strategy in enumerate(profile):
        values = game.action_payoffs(player, profile)
        payoffs.append(float(values @ strategy))
        regret = max(regret, float(values.max()) - payoffs[-1])
    return Equilibrium(tuple(profile), np.array(payoffs), regret, method)


def genuine_equilibria(
    game: NormalFormGame, profiles: Sequence[Sequence[np.ndarray]], method: str
) -> list[Equilibrium]:
    """Those of `profiles` from which nobody gains by deviating, measured.

    Gains are compared with the size of the payoffs that the others' play can bring: rounding is relative.
    """
    sizes = NormalFormGame(np.abs(game.payoffs))

    def is_genuine(profile: Sequence[np.ndarray]) -> bool:
        largest = [sizes.action_payoffs(player, profile).max() for player in range(game.num_players)]
        return bool((game.regrets(profile) <= 1e-9 * np.array(largest)).all())

    return [equilibrium(game, profile, method) for profile in profiles if is_genuine(profile)]


def numbers(values: object, name: str) -> np.ndarray:
    """`values` as finite float64, or an error that says which entry is wrong."""
    if values is None:
        raise TheoryError(f"{name} is empty (null); a table of numbers would work.")
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        raise TheoryError(
            f"{name} is not a table of numbers ({problem}); rows of equal length that hold "
            "only finite numbers would work."
        ) from None
    finite = np.isfinite(array)
    if not finite.all():
        where = tuple(np.argwhere(~finite)[0].tolist())
        raise TheoryError(
            f"{name} holds {array[where]} at index {list(where)}; every entry must be a finite number "
            "(replace an infinite payoff by a large finite one)."
        )
    if array.size and np.abs(array).max() > LARGEST:
        raise TheoryError(
            f"{name} holds numbers up to {np.abs(array).max():g}; up to {LARGEST:g} would work "
            "(use a larger unit)."
        )
    return array


def checked_tensor(payoffs: object) -> Float[np.ndarray, " players *actions"]:
    """`payoffs` as a finite float64 tensor with one axis for players and one per player's actions."""
    array = numbers(payoffs, "payoffs")
    if array.ndim < 2 or array.shape[0] != array.ndim - 1 or array.size == 0:
        raise TheoryError(
            f"payoffs has shape {array.shape}; n players need shape (n, actions of player 1, ..., "
            "actions of player n), for example (2, 3, 3), with at least one action each."
        )
    return np.ascontiguousarray(array)


def checked_profile(game: NormalFormGame, profile: Sequence[Any], name: str = "profile") -> Profile:
    """`profile` as one probability vector per player of `game`, or an error."""
    if len(profile) != game.num_players:
        raise TheoryError(
            f"{name} has {len(profile)} strategies for {game.num_players} players; give one per player."
        )
    vectors = tuple(numbers(x, f"{name}[{i}]") for i, x in enumerate(profile))
    for i, (vector, actions) in enumerate(zip(vectors, game.num_actions, strict=True)):
        if vector.shape != (actions,):
            raise TheoryError(f"{name}[{i}] has shape {vector.shape}; player {i} has {actions} actions.")
        if (vector < -1e-9).any() or abs(float(vector.sum()) - 1.0) > 1e-6:
            raise TheoryError(
                f"{name}[{i}] = {vector.tolist()} is not a probability vector; entries of at least 0 "
                "that add up to 1 would work."
            )
    return vectors
