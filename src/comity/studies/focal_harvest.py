"""What a player makes of Commons Harvest: alone, and five of it among others who take what they can get.

Melting Pot's own scenarios seat five copies of the evaluated player with two background bots, which come with
its assets and are not run here: two scripted ones stand in for them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from comity.core.agent import Player
from comity.core.game import PerSeat
from comity.evaluate.commons import Commons, play_commons
from comity.games.commons_harvest import CommonsHarvest
from comity.play.loading import scripted_player
from comity.play.specs import make_game

GAME = "commons-harvest-open"
LENGTH = 1000  # steps of an episode
FOCAL = 5  # how many copies of the player that is measured
MIXED = ("greedy", "free-rider")  # who sits in the other seats
COMPANIES = {"itself": (), **{f"2 {name}": (name, name) for name in MIXED}}


def harvest_game(length: int = LENGTH) -> CommonsHarvest:
    """Commons Harvest with seven seats, in episodes of one length."""
    game = make_game(GAME, horizon=length)
    assert isinstance(game, CommonsHarvest)
    return game


def seat_scripted(game: CommonsHarvest, names: Sequence[str], first: int = 0) -> PerSeat[Player]:
    """Scripted players in the seats from `first` on."""
    return tuple(scripted_player(name, game, first + i) for i, name in enumerate(names))


class Harvested(NamedTuple):
    """Means over episodes: what came of one player in one company.

    - `collective`, `focal`, `others`: what all get together, each copy of the player, each of the others.
    - `equality`, `sustainability` (in steps), `peace` (players who were not out).
    - `bushes`, `apples`: what is left at the end; `over_time`: apples after each step.
    """

    collective: float
    focal: float
    others: float
    equality: float
    sustainability: float
    peace: float
    bushes: float
    apples: float
    over_time: Float[np.ndarray, " time"]

    def to_data(self) -> dict[str, float]:
        """The numbers for JSON, without the course of time."""
        return {name: round(float(x), 3) for name, x in self._asdict().items() if name != "over_time"}


def harvest(
    game: CommonsHarvest, player: Player, others: PerSeat[Player], episodes: int, length: int, seed: int = 0
) -> Harvested:
    """Copies of a player in the first seats, and others, or more copies, in the last two."""
    seats = len(game.seats)
    focal = seats - len(others)
    found = play_commons(game, (player,) * focal + others, episodes, length, seed)
    return summary(found, min(focal, FOCAL))


def summary(found: Commons, focal: int) -> Harvested:
    """The means of what was measured; the first `focal` seats are those of the player."""
    return Harvested(
        collective=float(found.collective.mean()),
        focal=float(found.per_seat[:focal].mean()),
        others=float(found.per_seat[focal:].mean()),
        equality=float(found.equality.mean()),
        sustainability=float(found.sustainability.mean()),
        peace=float(found.peace.mean()),
        bushes=float(found.bushes.mean()),
        apples=float(found.apples[-1].mean()),
        over_time=found.apples.mean(axis=1),
    )


def shown_steps(length: int, most: int = 120) -> list[int]:
    """Steps to keep of a course of time that is drawn on a logarithmic axis: 1 up to `length`."""
    return [int(step) for step in np.unique(np.geomspace(1, length, most).round().astype(int))]
