"""Studies that hold one agent in one game to a list of claims: train seeds, play a league, compare."""

import base64
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from comity.core.files import write_atomically
from comity.core.game import Environment
from comity.evaluate.curves import learning_curve
from comity.evaluate.league import League, by_kind, league_from_data
from comity.evaluate.replay import replay
from comity.evaluate.standing import best_first
from comity.play.loading import scripted_player
from comity.play.specs import game_from_data
from comity.play.zoo import zoo_recipe
from comity.report import html, plots, replays, sections
from comity.report.svg import as_file
from comity.studies.base import Results, Study, Table
from comity.studies.claims import Claim, measure
from comity.studies.progress import Progress, silent
from comity.studies.training import curves_of, player_of, recipe, train

SCRIPTED = ("always-cooperate", "always-defect", "tit-for-tat", "random")
SOURCES = {
    "published": "published",
    "checkpoints": "authors' checkpoints, measured again",
    "tit_for_tat": "tit-for-tat",
}


@dataclass(frozen=True)
class ClaimStudy(Study):
    """The recipe is the zoo's, by game and agent; a subclass names these and lists the claims."""

    seeds: int = 10  # how many seeds
    episodes: int = 200  # of each pairing in each arrangement of the seats

    game: ClassVar[str]
    agent: ClassVar[str]
    claims: ClassVar[tuple[Claim, ...]]
    additions: ClassVar[str]  # what the recipe has that the papers do not

    def make_game(self) -> Environment:
        """The game, with the settings that the zoo's players were trained with."""
        game: Environment = game_from_data(zoo_recipe(self.game, self.agent)["game"])
        return game

    def run(self, out: Path, from_committed: bool = False, progress: Progress = silent) -> Results:
        """Trains, or takes the zoo's players, and measures them."""
        started = time.monotonic()
        if from_committed:
            sources = [f"zoo:{self.game}/{self.agent}/{seed}" for seed in range(self.seeds)]
        else:
            experiment = recipe(self.game, self.agent)
            trained = train(experiment, range(self.seeds), out / "runs", self.command(), progress)
            sources = [seed.folder.relative_to(out).as_posix() for seed in trained]
        game = self.make_game()
        players = [player_of(source, out) for source in sources]
        scripted = {name: scripted_player(name, game) for name in SCRIPTED}
        measured, leagues = measure(self.claims, game, players, scripted, self.episodes)
        return {
            **self.about(from_committed),
            "game": self.game,
            "agent": self.agent,
            "players": sources,
            "seconds": round(time.monotonic() - started, 1),
            "claims": [item.to_data() for item in measured],
            "leagues": {str(horizon): self._small(league).to_data() for horizon, league in leagues.items()},
        }

    def _small(self, league: League) -> League:
        """All seeds of the agent as one."""
        rest = league.players[self.seeds :]
        kinds = {self.agent: list(range(self.seeds))} | {n: [self.seeds + i] for i, n in enumerate(rest)}
        return by_kind(league, kinds)

    def summary(self, results: Results) -> list[Table | str]:
        """Each claim beside what the seeds reach."""
        title = f"{self.agent} in {self.game}: mean over seeds [95% interval over seeds]"
        return [Table(title, *_table(results), left=1), self.note, self.additions]

    def page(self, results: Results, out: Path) -> Path:
        """Claims, behaviour, leagues, learning curves and replays."""
        explained = "Intervals are 95% bootstrap intervals over seeds; the last iterate counts."
        parts = [
            html.section(
                "Paper and Comity",
                html.paragraph(self.note),
                html.table(*_table(results)),
                html.paragraph(explained),
                html.paragraph(self.additions),
            ),
            *_cooperation(results, out),
        ]
        for horizon, data in results["leagues"].items():
            league = league_from_data(data, f"the league of {horizon} steps")
            picture = plots.heat_map(league.players, league.mean)
            write_atomically(out / f"league-{horizon}.svg", as_file(picture))
            about = f"Episodes of {horizon} steps; all seeds of the agent as one, each with itself."
            title = f"League, T = {horizon}"
            parts.append(sections.league_section(best_first(league), about, title))
        curves = curves_of(results["players"], out)
        if curves:
            picture = plots.learning_curves({self.agent: learning_curve(curves, "reward")}, "reward per step")
            write_atomically(out / "curves.svg", as_file(picture))
            parts.append(sections.curves_section({self.agent: curves}))
        parts.append(self._replays(results, out))
        return self.write_page(
            results, out, claims_verdict(results["claims"], len(results["players"])), parts
        )

    def _replays(self, results: Results, out: Path) -> str:
        """Sample episodes as pictures and one animation: with itself, and against always-defect."""
        game = self.make_game()
        player = player_of(results["players"][0], out)
        parts = []
        for name, other in {
            "itself": player,
            "always-defect": scripted_player("always-defect", game),
        }.items():
            shown = replay(game, (player, other), names=(self.agent, name))
            pictures = replays.frames(shown)
            moving = replays.animation(pictures)
            write_atomically(out / f"replay-{name}.gif", moving)
            write_atomically(out / f"episode-{name}.png", replays.strip(pictures))
            data = base64.b64encode(moving).decode()
            caption = f"{self.agent}, seed 0, and {name}."
            parts.append(html.figure(f'<img alt="replay" src="data:image/gif;base64,{data}">', caption))
        return html.section("Replays", *parts)


def claims_verdict(claims: Sequence[Mapping[str, Any]], seeds: int) -> str:
    """How many of the claims hold, and which miss."""
    held = [claim for claim in claims if claim["holds"] is not None]
    misses = [claim["label"].strip() for claim in held if not claim["holds"]]
    first = f"{len(held) - len(misses)} of {len(held)} claims hold over {seeds} seeds."
    if misses:
        return f"{first} Missed: {', '.join(misses)}."
    free = len(claims) - len(held)
    if free == 0:
        return f"{first} Every number here has a bar."
    return f"{first} {free} further numbers have no bar and stand beside the published ones."


def _cooperation(results: Results, out: Path) -> list[str]:
    """Bars of P(cooperate) in each state, where claims are about it."""
    states = [row for row in results["claims"] if row["kind"] == "cooperates"]
    if not states:
        return []
    series = {"mean over seeds": np.asarray([row["mean"] for row in states])}
    bars = plots.state_bars([row["against"] for row in states], series, "P(cooperate)")
    write_atomically(out / "cooperation.svg", as_file(bars))
    return [html.section("Cooperation in each state", html.figure(bars))]


def _table(results: Results) -> tuple[list[str], list[list[str]]]:
    """Headings and rows; a column for each source that any claim has."""
    claims = results["claims"]
    sources = [key for key in SOURCES if any(row[key] is not None for row in claims)]
    headings = ["what", "T", *(SOURCES[key] for key in sources)]
    headings += ["must", "aim", "Comity", "interval", "worst", "best", ""]
    return headings, [_cells(row, sources) for row in claims]


def _cells(row: Mapping[str, Any], sources: Sequence[str]) -> list[str]:
    return [
        row["label"],
        str(row["horizon"]),
        *("" if row[key] is None else f"{row[key]:.3f}" for key in (*sources, "must", "aim")),
        f"{row['mean']:.3f}",
        f"[{row['low']:.3f}, {row['high']:.3f}]",
        f"{row['worst']:.3f}",
        f"{row['best']:.3f}",
        "holds" if row["holds"] else "misses",
    ]
