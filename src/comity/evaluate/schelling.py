"""Schelling diagrams (Schelling, 1973; Perolat et al., 2017): what cooperating pays by how many cooperate.

A game is a social dilemma where all earn more if all cooperate, and a seat gains by defecting where nobody
else cooperates (fear) or where all others do (greed).
"""

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from comity.core.agent import Player
from comity.core.errors import require
from comity.core.game import Environment, PerSeat
from comity.evaluate.replay import LONGEST
from comity.evaluate.statistics import bootstrap_mean
from comity.games.transforms import with_horizon
from comity.play.loading import check_player
from comity.play.match import play_matches

WITHIN = 0.02  # of the spread of all payoffs: what is nearer counts as equal
Curve = Float[np.ndarray, " others"]


class Schelling(NamedTuple):
    """Return per step of a focal seat that cooperates or defects, by how many of the others cooperate.

    `low` and `high` are 95% intervals over episodes; rows are `cooperates` and `defects`. `welfare` is the
    mean over all seats by how many of all cooperate.
    """

    cooperates: Curve
    defects: Curve
    low: Float[np.ndarray, "two others"]
    high: Float[np.ndarray, "two others"]
    welfare: Float[np.ndarray, " cooperators"]

    @property
    def fear(self) -> float:
        """How much defecting pays more where nobody else cooperates."""
        return float(self.defects[0] - self.cooperates[0])

    @property
    def greed(self) -> float:
        """How much defecting pays more where all others cooperate."""
        return float(self.defects[-1] - self.cooperates[-1])

    @property
    def gain(self) -> float:
        """How much more everybody earns where all cooperate than where nobody does."""
        return float(self.cooperates[-1] - self.defects[0])

    @property
    def is_dilemma(self) -> bool:
        """All gain by cooperating together, and who fears or is greedy defects."""
        payoffs = np.concatenate([self.cooperates, self.defects])
        near = WITHIN * max(float(np.ptp(payoffs)), 1e-9)
        return self.gain > near and (self.fear > near or self.greed > near)

    def as_data(self) -> dict[str, Any]:
        """All of it as plain data."""
        data: dict[str, Any] = {name: np.asarray(value).tolist() for name, value in self._asdict().items()}
        return {
            **data,
            "fear": self.fear,
            "greed": self.greed,
            "gain": self.gain,
            "dilemma": self.is_dilemma,
        }


def schelling(
    game: Environment,
    cooperator: Player | PerSeat[Player],
    defector: Player | PerSeat[Player],
    episodes: int = 20,
    seed: int = 0,
) -> Schelling:
    """Lets every number of cooperators play beside defectors; who they are rotates over the seats."""
    require(episodes >= 1, "episodes", episodes, "at least 1")
    game = game if game.horizon is not None else with_horizon(game, LONGEST)
    assert game.horizon is not None
    seats = len(game.seats)
    require(seats >= 2, "game", f"a game of {seats} seat", "a game of several seats")
    everyone: list[Player] = []
    for name, given in (("cooperator", cooperator), ("defector", defector)):
        by_seat = (given,) * seats if isinstance(given, Player) else given
        for seat, player in enumerate(by_seat):
            check_player(game, name, player, seat)
        everyone += by_seat
    cooperates = np.asarray([[(s + turn) % seats < count for s in range(seats)]
                             for count in range(seats + 1) for turn in range(seats)])  # fmt: skip
    pairings = np.where(cooperates, 0, seats) + np.arange(seats)
    played = play_matches(game, everyone, pairings, jax.random.key(seed), episodes, game.horizon).reward
    others = cooperates.sum(axis=1, keepdims=True) - cooperates
    curves = np.zeros((3, 2, seats))  # mean, low, high; cooperates, defects
    for row, chosen in enumerate((cooperates, ~cooperates)):
        for count in range(seats):
            found = [played[p, s] for p, s in zip(*np.nonzero(chosen & (others == count)), strict=True)]
            curves[:, row, count] = bootstrap_mean(np.mean(found, axis=0).astype(np.float64))
    counts = cooperates.sum(axis=1)
    welfare = np.asarray([played[counts == n].mean() for n in range(seats + 1)])
    return Schelling(curves[0, 0], curves[0, 1], curves[1], curves[2], welfare)
