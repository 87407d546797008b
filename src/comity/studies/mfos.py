"""M-FOS against a naive learner in the prisoner's dilemma: PPO and evolution on the meta-game.

Source: Lu et al., 2022, "Model-Free Opponent Shaping": it extorts, so it earns more than mutual cooperation
would (-1 per step).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from comity.play.match import play
from comity.play.specs import make_agent, make_game
from comity.studies.base import RESULTS
from comity.studies.comparison import Comparison, Measures, Variant
from comity.studies.training import Trained, make_experiment

MUST = -1.05
ITERATIONS = {"mfos": 150, "evolution": 300}


@dataclass(frozen=True)
class MFOSStudy(Comparison):
    """Model-free opponent shaping of a naive learner, by PPO and by evolution."""

    seeds: int = 5  # how many seeds of each learner
    episodes: int = 256  # meta-episodes to measure a seed

    name = "mfos"
    title = "Meta-game, prisoner's dilemma: reward per step against a naive learner"
    note = "Published: it extorts, so it earns more than mutual cooperation would (-1 per step)."
    needs = "394 and 276 s for five seeds on 2 cores that trained two other runs meanwhile"
    committed = RESULTS / "mfos.json"
    headings = ("learner", "must", "mean", "interval", "seeds")

    def variants(self) -> dict[str, Variant]:
        """Both learners with their own settings."""
        game = make_game("meta-game")
        return {
            name: Variant(
                make_experiment(game, make_agent(name, game), iterations=iterations, batch=64, chunk=10),
                must=MUST,
            )
            for name, iterations in ITERATIONS.items()
        }

    def measure(self, variant: Variant, trained: Trained) -> Measures:
        """What the shaper earns per step over meta-episodes, and in their last tenth."""
        game = variant.experiment.game
        assert game.horizon is not None
        played = play(game, (trained.player(),), jax.random.key(0), self.episodes, game.horizon)
        reward = np.asarray(played.step.reward[0])
        # What the naive learner does at the end: P(cooperate) after start, CC, CD, DC, DD in its own view.
        other = np.asarray(played.step.obs[0])[-1, :, 5:].mean(axis=0)
        last = reward[-game.horizon // 10 :].mean()
        return {"reward": float(reward.mean()), "last": float(last), "after_cc": float(other[1])}

    def cells(self, label: str, row: Mapping[str, Any]) -> list[str]:
        """The mean, and what it must be."""
        seeds = " ".join(f"{x:.3f}" for x in row["seeds"])
        between = f"[{row['low']:.3f}, {row['high']:.3f}]"
        return [label, f"{row['must']:.2f}", f"{row['mean']:.3f}", between, seeds]
