"""Learners of action values in two social dilemmas, beside Advantage Alignment, in one league each.

Learners of a team (VDN, QMIX, COMA) are paid the mean of both seats while they learn, as a team is; all
others are paid their own reward. Whether cooperation learned so holds against others, the league shows.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comity.core.agent import Player
from comity.core.files import write_atomically
from comity.evaluate.league import League, by_kind, league_from_data, play_league
from comity.play.loading import scripted_player, zoo_player
from comity.play.specs import make_agent, make_game
from comity.play.zoo import zoo_names
from comity.report import html, plots, sections
from comity.report.verdicts import league_verdict
from comity.studies.base import RESULTS, Results, Study, Table, chosen
from comity.studies.progress import Progress, silent
from comity.studies.training import Trained, make_experiment, train

SCRIPTED = ("always-cooperate", "always-defect", "tit-for-tat")
ALIGNED = "adalign"
REPLAY = {"memory.updates": 8, "memory.batch": 256, "memory.capacity": 50_000}
LEARNERS: dict[str, dict[str, Any]] = {
    "iql": REPLAY, "dqn": {**REPLAY, "memory": "prioritised-replay", "n_step": 1}, "vdn": REPLAY,
    "qmix": {**REPLAY, "memory.states": True}, "pqn": {}, "coma": {"paid": "team"},
}  # fmt: skip
FEW = {"network": "tabular", "optimiser.learning_rate": 0.02}  # the prisoner's dilemma has five observations
WIDE = {"network": "mlp", "network.width": 64, "network.depth": 2}
# Of each game: settings of all networks, games side by side, iterations, steps of an episode in the league.
GAMES: dict[str, tuple[dict[str, Any], int, int, int]] = {
    "prisoners-dilemma": (FEW, 32, 400, 16),
    "coin": (WIDE, 64, 300, 50),
}


@dataclass(frozen=True)
class Dilemmas(Study):
    """What IQL, DQN, VDN, QMIX, PQN and COMA do in the prisoner's dilemma and the Coin Game."""

    only: str = ""  # some of the games, separated by commas; by default both
    seeds: int = 3  # how many seeds of each learner
    episodes: int = 100  # of each pairing in each arrangement of the seats

    name = "dilemmas"
    title = "Learners of action values in social dilemmas, beside Advantage Alignment"
    note = (
        "Reward per step of the row player against the column player, the mean over all pairings of two "
        "kinds of players; learners of values act greedily. VDN, QMIX and COMA learn as one team, paid the "
        "mean. Trainings are short: 200,000 joint steps in the prisoner's dilemma, a million in the Coin "
        "Game. AdAlign: the zoo's players."
    )
    needs = "about 20 CPU-minutes"
    committed = RESULTS / "dilemmas.json"

    def run(self, out: Path, from_committed: bool = False, progress: Progress = silent) -> Results:
        """Trains what is missing in `out` and plays one league in each game."""
        if from_committed:
            return self.committed_results()
        return {
            **self.about(),
            "games": {name: self._game(name, out, progress) for name in chosen(self.only, GAMES)},
        }

    def _game(self, name: str, out: Path, progress: Progress) -> dict[str, Any]:
        started = time.monotonic()
        game = make_game(name)
        trained = {label: self._train(name, label, out, progress) for label in LEARNERS}
        players = {label: [seed.player() for seed in seeds] for label, seeds in trained.items()}
        players[ALIGNED] = [zoo_player(found) for found in zoo_names(name, ALIGNED)[: self.seeds]]
        players |= {label: [scripted_player(label, game)] for label in SCRIPTED}
        league = self._league(name, players)
        spent = {
            label: [seed.metadata().get("cpu_seconds") for seed in seeds] for label, seeds in trained.items()
        }
        seconds = round(time.monotonic() - started, 1)
        return {"league": league.to_data(), "cpu_seconds": spent, "seconds": seconds}

    def _train(self, name: str, label: str, out: Path, progress: Progress) -> list[Trained]:
        shape, batch, iterations, _ = GAMES[name]
        critic = {"critic.network": "mlp", "critic.network.width": 32, "critic.network.depth": 1}
        settings = {**shape, **LEARNERS[label], **(critic if label == "coma" else {})}
        if label == "pqn" and name == "coin":
            settings["network.layer_norm"] = True
        own = make_experiment(
            make_game(name), make_agent(label, **settings), iterations=iterations, batch=batch, chunk=50
        )
        place = out / "runs" / name / label
        return train(own, range(self.seeds), place, self.command(), progress, f"{name}, {label}")

    def _league(self, name: str, players: Mapping[str, list[Player]]) -> League:
        everyone = {f"{kind} {i}": player for kind, own in players.items() for i, player in enumerate(own)}
        league = play_league(make_game(name), everyone, self.episodes, GAMES[name][3], 0)
        kinds: dict[str, list[int]] = {kind: [] for kind in players}
        for i, player in enumerate(league.players):
            kinds[player.rsplit(" ", 1)[0]].append(i)
        return by_kind(league, kinds)

    def summary(self, results: Results) -> list[Table | str]:
        """One table for each game."""
        tables = [
            Table(f"{name}: reward per step of the row player", *_table(name, found))
            for name, found in results["games"].items()
        ]
        return [*tables, self.note]

    def page(self, results: Results, out: Path) -> Path:
        """The tables and a heat map for each game."""
        parts = [html.section("What is compared", html.paragraph(self.note))]
        verdicts = []
        for name, found in results["games"].items():
            league = league_from_data(found["league"], name)
            learners = [player for player in league.players if player not in SCRIPTED]
            verdicts.append(f"{name}: {league_verdict(league, learners)}")
            picture = plots.heat_map(league.players, league.mean)
            write_atomically(out / f"league-{name}.svg", picture.encode())
            about = f"{name}, episodes of {GAMES[name][3]} steps; all players of a kind as one."
            parts.append(sections.league_section(league, about))
        return self.write_page(results, out, " ".join(verdicts), parts)


def _table(name: str, found: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    league = league_from_data(found["league"], name)
    rows = [
        [kind, *(f"{value:.2f}" for value in row)]
        for kind, row in zip(league.players, league.mean, strict=True)
    ]
    return ["", *league.players], rows
