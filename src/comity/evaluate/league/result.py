"""The result of a league."""

import csv
import importlib.util
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from comity.core.display import Shaded, html_table
from comity.core.files import write_atomically, write_json
from comity.core.palette import shade
from comity.core.rows import Rows

KIND = "comity-league"
VERSION = 2  # of the JSON file; version 1 knew nothing of seats
Matrix = Float[np.ndarray, "players players"]


class Outcome(NamedTuple):
    """A social outcome of every pairing, as `League.mean` is one: row player, column player.

    NaN where it was not defined, such as cooperation where nobody had a choice.
    """

    mean: Matrix
    low: Matrix
    high: Matrix
    by_seat: Float[np.ndarray, "seats players players"]  # with the row player in each seat

    def to_data(self) -> dict[str, Any]:
        """As JSON data, with null for NaN."""
        return {name: _without_nan(table.tolist()) for name, table in self._asdict().items()}


@dataclass(frozen=True, repr=False)
class League:
    """The result of a league.

    `mean[i, j]` is what player i earns per step when it meets player j, seats averaged, with the bounds
    `low` and `high` of a 95% bootstrap interval over episodes. In a game of more than two seats player i
    sits in one seat and player j in all the others. `samples[i, j]` are the episodes.

    `by_seat[s, i, j]` is the same for player i in seat s alone. Where the seats differ (`symmetric` is
    false) that, or the mean over the seats of a role, says more than the mean over all seats.

    `outcomes` are what else came of the pairings, by the names of `comity.evaluate.league.outcomes`.
    """

    game: dict[str, Any]
    horizon: int
    episodes: int
    seed: int
    players: tuple[str, ...]
    mean: Matrix
    low: Matrix
    high: Matrix
    samples: Float[np.ndarray, "players players episodes"] | None = None
    seats: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()  # of each seat: its role, or its name if it has none
    symmetric: bool = True
    by_seat: Float[np.ndarray, "seats players players"] | None = None
    deterministic: bool = False  # whether everybody did what was most likely instead of drawing
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)  # social outcomes, by name
    sources: Mapping[str, str] = field(default_factory=dict)  # where players are, by what they are called

    def __repr__(self) -> str:
        return f"<League of {len(self.players)} players in {self.game['name']}: {', '.join(self.players)}>"

    def _repr_html_(self) -> str:
        least, most = float(np.nanmin(self.mean)), float(np.nanmax(self.mean))

        def cell(mean: float, low: float, high: float) -> Shaded | str:
            text = f"{mean:.3f} [{low:.3f}, {high:.3f}]"
            return Shaded(text, shade(mean, least, most)) if np.isfinite(mean) else text

        rows = [
            [name, *map(cell, *own)]
            for name, *own in zip(self.players, self.mean, self.low, self.high, strict=True)
        ]
        caption = (
            f"{self.game['name']}: reward per step of the row's player against the column's, 95% intervals"
        )
        return html_table(["", *self.players], rows, caption)

    def table(self) -> Any:
        """One line per pairing, as a pandas data frame; as plain rows where pandas is not installed."""
        rows = self.pairings()
        return rows.table() if importlib.util.find_spec("pandas") else rows

    @property
    def by_role(self) -> dict[str, Matrix]:
        """For each role the mean over its seats; empty where that is not known."""
        if self.by_seat is None:
            return {}
        return {
            role: self.by_seat[[s for s, own in enumerate(self.roles) if own == role]].mean(axis=0)
            for role in dict.fromkeys(self.roles)
        }

    @property
    def unlike_roles(self) -> dict[str, Matrix]:
        """`by_role` if the seats differ, else nothing: what tables and pages show."""
        return {} if self.symmetric else self.by_role

    def to_data(self) -> dict[str, Any]:
        """The league as JSON data."""
        return {
            "kind": KIND,
            "version": VERSION,
            "game": self.game["name"],
            "game_settings": self.game,
            "horizon": self.horizon,
            "episodes": self.episodes,
            "seed": self.seed,
            "players": list(self.players),
            "mean": self.mean.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "seats": list(self.seats),
            "roles": list(self.roles),
            "symmetric": self.symmetric,
            "by_seat": None if self.by_seat is None else self.by_seat.tolist(),
            "deterministic": self.deterministic,
            "outcomes": {name: outcome.to_data() for name, outcome in self.outcomes.items()},
            "sources": dict(self.sources),
        }

    def save(self, path: Path) -> None:
        """Writes the league as JSON."""
        write_json(path, self.to_data())

    def save_csv(self, path: Path) -> None:
        """Writes one line per pairing: `pairings` as a file."""
        rows = self.pairings()
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(rows.columns)
        for row in rows:
            writer.writerow([f"{x:.6f}" if isinstance(x, float) else x for x in row.values()])
        write_atomically(path, text.getvalue().encode())

    def pairings(self) -> Rows:
        """One row per pairing: what the player earns, by role too where seats differ, and social outcomes."""
        tables = {"mean": self.mean, "low": self.low, "high": self.high}
        tables |= {f"mean as {role}": table for role, table in self.unlike_roles.items()}
        tables |= {name: outcome.mean for name, outcome in self.outcomes.items()}
        return Rows(
            {
                "player": player,
                "opponent": opponent,
                **{name: float(table[i, j]) for name, table in tables.items()},
            }
            for i, player in enumerate(self.players)
            for j, opponent in enumerate(self.players)
        )

    def standings(self) -> Rows:
        """One row per player, the best first by self-play less exploitation, and outcomes of self-play."""
        from comity.evaluate.standing import standings

        rows = Rows()
        for row in standings(self):
            own = self.players.index(row.player)
            outcomes = {name: found.mean[own, own] for name, found in self.outcomes.items() if name != "lead"}
            rows.append({**row._asdict(), "secured": row.secured, **outcomes})
        return rows


def _without_nan(numbers: Any) -> Any:
    if isinstance(numbers, list):
        return [_without_nan(number) for number in numbers]
    return None if np.isnan(numbers) else numbers
