"""Well-known games, by name.

Source: Osborne and Rubinstein, "A Course in Game Theory", 1994; Rapoport and Guyer, "A taxonomy of 2 x 2
games", 1966; Shapley, "Some topics in two-person games", 1964 (the game in which fictitious play cycles).
"""

from collections.abc import Callable

import numpy as np

from comity.theory.errors import TheoryError
from comity.theory.normal_form.game import NormalFormGame


def prisoners_dilemma(
    reward: float = 3, sucker: float = 0, temptation: float = 5, punishment: float = 1
) -> NormalFormGame:
    """Temptation > reward > punishment > sucker: to defect is dominant."""
    return two_by_two("Prisoner's dilemma", reward, sucker, temptation, punishment, ("cooperate", "defect"))


def chicken() -> NormalFormGame:
    """Each prefers to go straight alone, and a crash is worst for both."""
    return two_by_two("Chicken", 6, 2, 7, 0, ("swerve", "straight"))


def stag_hunt() -> NormalFormGame:
    """Two pure equilibria: one pays more, the other is safer."""
    return two_by_two("Stag hunt", 4, 0, 3, 3, ("stag", "hare"))


def two_by_two(
    title: str, both_first: float, first_alone: float, second_alone: float, both_second: float,
    actions: tuple[str, str],
) -> NormalFormGame:  # fmt: skip
    """A symmetric game of two actions, from the row player's payoffs."""
    own = np.array([[both_first, first_alone], [second_alone, both_second]], dtype=np.float64)
    return NormalFormGame(np.stack([own, own.T]), actions=(actions, actions), title=title)


def battle_of_the_sexes() -> NormalFormGame:
    """Both want to meet, each at another place."""
    row, column = np.array([[3.0, 0.0], [0.0, 2.0]]), np.array([[2.0, 0.0], [0.0, 3.0]])
    names = ("opera", "football")
    return NormalFormGame(np.stack([row, column]), actions=(names, names), title="Battle of the sexes")


def matching_pennies() -> NormalFormGame:
    """One wins if they match, the other if not; the only equilibrium is mixed."""
    row = np.array([[1.0, -1.0], [-1.0, 1.0]])
    names = ("heads", "tails")
    return NormalFormGame(np.stack([row, -row]), actions=(names, names), title="Matching pennies")


def rock_paper_scissors() -> NormalFormGame:
    """Each action beats one and loses to another."""
    row = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
    names = ("rock", "paper", "scissors")
    return NormalFormGame(np.stack([row, -row]), actions=(names, names), title="Rock, paper, scissors")


def coordination(actions: int = 3) -> NormalFormGame:
    """Both earn 1 if they choose the same: 2^n - 1 equilibria, one for each set of actions."""
    return NormalFormGame(np.stack([np.eye(actions), np.eye(actions)]), title=f"Coordination on {actions}")


def shapleys_game() -> NormalFormGame:
    """Fictitious play cycles here for ever (Shapley, 1964)."""
    row = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    return NormalFormGame(np.stack([row, np.roll(row, 1, axis=1)]), title="Shapley's game")


def public_goods(players: int = 3, factor: float = 1.6) -> NormalFormGame:
    """Everyone may put 1 in a pot that is multiplied by `factor` and shared by all."""
    given = 1 - np.indices((2,) * players)  # action 0 contributes
    pot = factor * given.sum(axis=0) / players
    names = (("contribute", "keep"),) * players
    return NormalFormGame(pot[None] - given + 1.0, actions=names, title="Public goods")


NAMED_GAMES: dict[str, Callable[[], NormalFormGame]] = {
    "prisoners-dilemma": prisoners_dilemma,
    "chicken": chicken,
    "stag-hunt": stag_hunt,
    "battle-of-the-sexes": battle_of_the_sexes,
    "matching-pennies": matching_pennies,
    "rock-paper-scissors": rock_paper_scissors,
    "coordination": coordination,
    "shapley": shapleys_game,
    "public-goods": public_goods,
}


def named_game(name: str) -> NormalFormGame:
    """The game of that name."""
    if name not in NAMED_GAMES:
        raise TheoryError(f"There is no game named {name!r}; {', '.join(sorted(NAMED_GAMES))} would work.")
    return NAMED_GAMES[name]()
