"""The Coin Game's league of methods, head to head: the published table beside the zoo's players.

Published: Duque et al., 2024, "Advantage Alignment Algorithms", figure 2: mean reward per step of the row
player and of the column player, ten seeds each. The authors' code plays some pairings for 16 steps and some
for 50.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from comity.core.agent import Player
from comity.core.files import write_atomically
from comity.core.game import Environment
from comity.evaluate.league import League, by_kind, league_from_data, play_league
from comity.evaluate.standing import best_first
from comity.play.loading import scripted_player, zoo_player
from comity.play.specs import make_game
from comity.play.zoo import zoo_names
from comity.report import html, plots, sections
from comity.report.svg import as_file
from comity.studies.base import RESULTS, Results, Study, Table
from comity.studies.progress import Progress, silent

HORIZONS = (16, 50)
NEAR = 0.05  # reward per step: a pairing this close to the published one is called near
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

    def to_data(self) -> dict[str, Any]:
        """For JSON."""
        found = None if self.found is None else list(self.found)
        return {
            "row": self.first,
            "column": self.second,
            "published": list(self.published),
            "comity": found,
        }


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


@dataclass(frozen=True)
class CoinLeague(Study):
    """All methods of the zoo and scripted players in the Coin Game; nothing is trained."""

    episodes: int = 200  # of each pairing in each arrangement of the seats

    name = "coin-league"
    title = "The Coin Game's league"
    note = (
        "Published: the league of the Advantage Alignment paper, ten seeds each, which does not keep "
        "horizons apart; Comity's are the zoo's players, one table for each horizon. A method that has no "
        "players in the zoo stands with its published numbers alone."
    )
    needs = "2.5 minutes"
    committed = RESULTS / "coin-league.json"

    def run(self, out: Path, from_committed: bool = False, progress: Progress = silent) -> Results:
        """Plays the zoo's players, whether asked for the committed ones or not."""
        game = make_game("coin")
        started = time.monotonic()
        players: dict[str, list[Player]] = {}
        for kind, agent in METHODS.items():
            names = zoo_names("coin", agent)
            if names:
                players[kind] = [zoo_player(name) for name in names]
        players |= {kind: [scripted_player(name, game)] for kind, name in SCRIPTED.items()}
        leagues = {horizon: play_coin_league(game, players, self.episodes, horizon) for horizon in HORIZONS}
        return {
            **self.about(),
            "players": {kind: len(own) for kind, own in players.items()},
            "seconds": round(time.monotonic() - started, 1),
            "tables": {
                str(horizon): [row.to_data() for row in beside_published(league)]
                for horizon, league in leagues.items()
            },
            "leagues": {str(horizon): league.to_data() for horizon, league in leagues.items()},
        }

    def summary(self, results: Results) -> list[Table | str]:
        """One table for each horizon."""
        tables = [
            Table(
                f"Coin Game, T = {horizon}: row / column, reward per step",
                ("row", "column", "published", "Comity"),
                [_cells(row) for row in rows],
            )
            for horizon, rows in results["tables"].items()
        ]
        return [*tables, self.note]

    def page(self, results: Results, out: Path) -> Path:
        """The tables and a heat map for each horizon."""
        who = {**{kind: f"zoo:coin/{agent}" for kind, agent in METHODS.items()}, **SCRIPTED}
        rows = [[kind, who[kind], count] for kind, count in results["players"].items()]
        kinds = html.table(["kind", "who", "players"], rows)
        parts = [html.section("What is compared", html.paragraph(self.note), kinds)]
        for horizon, data in results["leagues"].items():
            league = league_from_data(data, f"the league of {horizon} steps")
            picture = plots.heat_map(league.players, league.mean)
            write_atomically(out / f"league-{horizon}.svg", as_file(picture))
            rows = [_cells(row) for row in results["tables"][horizon]]
            headings = ["row", "column", "published, row / column", "Comity, row / column"]
            title = f"Beside the published league, T = {horizon}"
            parts.append(html.section(title, html.table(headings, rows)))
            about = f"Episodes of {horizon} steps; all players of a kind as one."
            parts.append(sections.league_section(best_first(league), about, f"League, T = {horizon}"))
        return self.write_page(results, out, coin_verdict(results["tables"]), parts)


def coin_verdict(tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Which method does best with itself, what always-defect takes from it, and how near the paper is."""
    horizon, rows = max(tables.items(), key=lambda item: int(item[0]))
    known = [row for row in rows if row["comity"] is not None]
    with_itself = {row["row"]: row["comity"][0] for row in known if row["row"] == row["column"] in METHODS}
    against_defect = {row["row"]: row["comity"][0] for row in known if row["column"] == "AD"}
    best = max(with_itself, key=lambda name: float(with_itself[name]))
    near = sum(abs(row["comity"][0] - row["published"][0]) <= NEAR for row in known)
    return (
        f"In episodes of {horizon} steps {best} does best with itself, {with_itself[best]:.3f} per step, and "
        f"earns {against_defect[best]:.3f} against always-defect. In {near} of {len(known)} pairings the row "
        f"player earns within {NEAR} of what is published."
    )


def _cells(row: Mapping[str, Any]) -> list[str]:
    pairs = (row["published"], row["comity"])
    return [row["row"], row["column"], *("" if p is None else f"{p[0]:.3f} / {p[1]:.3f}" for p in pairs)]
