"""MAPPO and IPPO in the multi-particle games, beside random play.

simple-spread is reported as the sum over agents of what each earns in an episode of 25 steps ("PZ-sum"); the
older convention, which shares the sum and counts an agent's collision with itself, is 2 x PZ-sum - 75. The
games with unlike seats are reported seat by seat. Source: Yu et al., 2022, "The Surprising Effectiveness of
PPO in Cooperative Multi-Agent Games".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from comity.core.agent import Player
from comity.core.game import Environment, PerSeat
from comity.play.loading import scripted_player
from comity.play.match import play
from comity.play.specs import make_agent, make_game
from comity.studies.base import RESULTS
from comity.studies.comparison import Comparison, Measures, Variant
from comity.studies.training import Experiment, Trained, make_experiment

BATCH = 128
STEPS = 25  # of an episode
SETTINGS: dict[str, Any] = {
    "network": "mlp",
    "network.width": 64,
    "network.depth": 2,
    "critic.network": "mlp",
    "critic.network.width": 64,
    "critic.network.depth": 2,
    "optimiser.learning_rate": 2e-3,
    "schedule.final_learning_rate": 0.05,
    "schedule.final_entropy": 0.1,
    "epochs": 10,
    "discount": 0.9,
}
# game and learner: iterations of BATCH x 25 joint steps, and what the sum over seats must be
RUNS: dict[tuple[str, str], tuple[int, float | None]] = {
    ("simple-spread", "mappo"): (1500, -30.0),
    ("simple-spread", "ippo"): (1500, -30.0),
    ("simple-speaker-listener", "mappo"): (300, None),
    ("simple-tag", "mappo"): (300, None),
}


@dataclass(frozen=True)
class Teams(Comparison):
    """MAPPO and IPPO in simple-spread, MAPPO in simple-speaker-listener and simple-tag."""

    seeds: int = 5  # how many seeds of each learner

    name = "teams"
    title = "Return of an episode of 25 steps, summed over seats"
    note = "By seat: the mean over seeds, and what random play earns there."
    needs = "about 300 CPU-seconds a seed in simple-spread (4.8M joint steps), 60 in the others"
    committed = RESULTS / "teams.json"
    headings = ("game", "random", "must", "Comity", "interval", "by seat (random)")

    def variants(self) -> dict[str, Variant]:
        """Each learner in each game."""
        found = {}
        for (name, learner), (iterations, must) in RUNS.items():
            own = team_experiment(make_game(name), learner, iterations)
            seats = range(len(own.game.seats))
            idle = returns(own.game, tuple(scripted_player("random", own.game, i) for i in seats), 400)
            facts = {
                "joint_steps": iterations * BATCH * STEPS,
                "seat_names": [seat.name for seat in own.game.seats],
                "random": [round(float(x), 3) for x in idle],
            }
            found[f"{name}, {learner}"] = Variant(own, must, facts)
        return found

    def measure(self, variant: Variant, trained: Trained) -> Measures:
        """The return of an episode: summed over seats, then of each seat."""
        game = variant.experiment.game
        found = returns(game, trained.players(game), self.episodes)
        by_seat = {seat.name: float(x) for seat, x in zip(game.seats, found, strict=True)}
        return {"sum": float(found.sum()), **by_seat}

    def cells(self, label: str, row: Mapping[str, Any]) -> list[str]:
        """The sum beside random play, and seat by seat."""
        seats = ", ".join(
            f"{seat} {row['means'][seat]:.1f} ({idle:.1f})"
            for seat, idle in zip(row["seat_names"], row["random"], strict=True)
        )
        must = "" if row["must"] is None else f"{row['must']:.0f}"
        between = f"[{row['low']:.1f}, {row['high']:.1f}]"
        return [label, f"{sum(row['random']):.1f}", must, f"{row['mean']:.1f}", between, seats]


def team_experiment(game: Environment, learner: str, iterations: int, **settings: Any) -> Experiment:
    """The experiment of one learner in one game."""
    agent = make_agent(learner, **{**SETTINGS, **settings})
    return make_experiment(game, agent, iterations=iterations, batch=BATCH, chunk=25)


def returns(game: Environment, players: PerSeat[Player], episodes: int) -> Float[np.ndarray, " seats"]:
    """What each seat earns in an episode, averaged over episodes."""
    played = play(game, players, jax.random.key(0), episodes, STEPS)
    return np.asarray([np.asarray(reward).sum(axis=0).mean() for reward in played.step.reward])
