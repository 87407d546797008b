"""Learners from a replay in environments that others know: Pendulum-v1, CartPole-v1 and simple-spread.

Players are measured by what is most likely for them, as published tables are. SAC reaches -157 and TD3 -152
after 20,000 steps of Pendulum-v1 in the benchmark of RL Baselines3 Zoo, DQN 500 after 50,000 of CartPole-v1.
simple-spread is reported as the sum over agents of what each earns in an episode of 25 steps ("PZ-sum").
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from comity.core.agent import Player
from comity.core.game import Environment, PerSeat
from comity.play.match import play
from comity.play.most_likely import most_likely
from comity.play.specs import make_agent, make_game
from comity.studies.base import RESULTS
from comity.studies.comparison import Comparison, Measures, Variant
from comity.studies.training import Experiment, Trained, make_experiment

TEN = 10  # episodes of a published measurement
ACTORS: dict[str, Any] = {
    "memory.capacity": 20_000,
    "memory.batch": 128,
    "memory.updates": 20,
    "memory.learning_starts": 1_000,
    "discount": 0.98,
    "target_tau": 0.01,
}
PENDULUM: dict[str, dict[str, Any]] = {
    "sac": {**ACTORS, "temperature.start": 1.0},
    "td3": {**ACTORS, "noise.start": 1.0, "noise.end": 0.1, "noise.over": 0.15},
}


@dataclass(frozen=True)
class OffPolicy(Comparison):
    """SAC and TD3 in Pendulum-v1: each seed must reach -200 after 20,000 steps."""

    seeds: int = 5  # how many seeds of each learner
    episodes: int = TEN  # to measure a seed

    name = "off-policy"
    title = "Return of an episode, most likely actions"
    note = "The mean of ten episodes of each seed, without drawing; every seed must reach the bar."
    needs = "about a CPU-minute a seed"
    committed = RESULTS / "off-policy.json"
    headings = ("environment, learner", "steps", "must", "mean", "worst seed", "seeds", "CPU-seconds")
    executor = "processes"  # so that the time of each run is its own

    def variants(self) -> dict[str, Variant]:
        """Each learner in its environment."""
        return {
            f"Pendulum-v1, {name}": Variant(pendulum(name), -200.0, {"steps": 20_000}) for name in PENDULUM
        }

    def measure(self, variant: Variant, trained: Trained) -> Measures:
        """The return of the first episode of some games."""
        game = variant.experiment.game
        return {"return": float(first_returns(game, trained.players(game), self.episodes).mean())}

    def cells(self, label: str, row: Mapping[str, Any]) -> list[str]:
        """The mean, the worst seed and all of them."""
        costs = " ".join("-" if x is None else f"{x:.0f}" for x in row["cpu_seconds"])
        seeds = " ".join(f"{x:.0f}" for x in row["seeds"])
        numbers = (f"{row['must']:.0f}", f"{row['mean']:.1f}", f"{min(row['seeds']):.1f}")
        return [label, f"{row['steps']:,}", *numbers, seeds, costs]


def pendulum(learner: str, **settings: Any) -> Experiment:
    """20,000 steps of Pendulum-v1, with as many updates."""
    game = make_game("gymnasium:Pendulum-v1", workers=0, length=200)
    agent = make_agent(learner, **{**PENDULUM[learner], **settings})
    return make_experiment(game, agent, iterations=1000, batch=4, unroll=5, chunk=200)


def first_returns(
    game: Environment, players: PerSeat[Player], episodes: int
) -> Float[np.ndarray, " episodes"]:
    """What all seats together earn in the first episode of some games, with what is most likely."""
    assert game.horizon is not None
    greedy = tuple(most_likely(player) for player in players)
    played = play(game, greedy, jax.random.key(0), episodes, game.horizon)
    ends = np.asarray(played.step.terminated | played.step.truncated)
    before = np.cumsum(ends, axis=0) - ends == 0  # steps of the first episode
    earned = np.asarray(sum(played.step.reward))
    return np.asarray((earned * before).sum(axis=0))
