"""The Coin Game's league of methods: published numbers, and which of Comity's players stand for whom.

Published: Duque et al., 2024, "Advantage Alignment Algorithms", figure 2: mean reward per step of the row
player and of the column player, ten seeds each. The authors' code plays some pairings for 16 steps and some
for 50.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from comity.core.types import Environment, Player
from comity.evaluate.league import League, by_kind, play_league

METHODS = {
    "AdAlign": "adalign",
    "LOQA": "loqa",
    "POLA": "pola",
    "M-FOS": "mfos",
}  # published name, and the zoo's
SCRIPTED = {"AC": "always-cooperate", "AD": "always-defect", "Random": "random"}
PUBLISHED = {
    ("AdAlign", "AdAlign"): (0.279, 0.279),
    ("AdAlign", "LOQA"): (0.292, 0.281),
    ("AdAlign", "POLA"): (0.184, 0.239),
    ("AdAlign", "M-FOS"): (0.187, 0.006),
    ("AdAlign", "AC"): (0.349, 0.313),
    ("AdAlign", "AD"): (-0.084, 0.155),
    ("AdAlign", "Random"): (0.261, -0.179),
    ("LOQA", "LOQA"): (0.298, 0.298),
    ("LOQA", "POLA"): (0.170, 0.238),
    ("LOQA", "M-FOS"): (0.162, 0.064),
    ("LOQA", "AC"): (0.352, 0.318),
    ("LOQA", "AD"): (-0.054, 0.123),
    ("LOQA", "Random"): (0.264, -0.154),
    ("POLA", "POLA"): (0.193, 0.193),
    ("POLA", "M-FOS"): (0.193, 0.013),
    ("POLA", "AC"): (0.375, 0.286),
    ("POLA", "AD"): (-0.032, 0.068),
    ("POLA", "Random"): (0.235, -0.125),
    ("M-FOS", "M-FOS"): (-0.005, -0.005),
    ("M-FOS", "AC"): (0.319, 0.027),
    ("M-FOS", "AD"): (-0.420, 0.415),
    ("M-FOS", "Random"): (0.196, -0.213),
    ("AC", "AC"): (0.347, 0.347),
    ("AC", "AD"): (-0.269, 0.631),
    ("AC", "Random"): (0.053, 0.106),
    ("AD", "AD"): (-0.001, -0.001),
    ("AD", "Random"): (0.526, -0.534),
}


class Row(NamedTuple):
    """A pairing: what was published, and what Comity's players earn; None for who is not there."""

    first: str
    second: str
    published: tuple[float, float]
    found: tuple[float, float] | None


def play_coin_league(
    game: Environment,
    players: Mapping[str, Sequence[Player]],
    episodes: int,
    horizon: int,
    seed: int = 0,
) -> League:
    """A league of kinds, each with one player or more: the mean over all pairings of two kinds."""
    everyone = {f"{kind} {i}": player for kind, own in players.items() for i, player in enumerate(own)}
    league = play_league(game, everyone, episodes, horizon, seed)
    kinds: dict[str, list[int]] = {kind: [] for kind in players}
    for i, name in enumerate(league.players):
        kinds[name.rsplit(" ", 1)[0]].append(i)
    return by_kind(league, kinds)


def beside_published(league: League) -> list[Row]:
    """Every published pairing, with what the league's players earn in it."""
    place = {name: i for i, name in enumerate(league.players)}
    rows = []
    for (first, second), published in PUBLISHED.items():
        found = None
        if first in place and second in place:
            i, j = place[first], place[second]
            found = float(league.mean[i, j]), float(league.mean[j, i])
        rows.append(Row(first, second, published, found))
    return rows
