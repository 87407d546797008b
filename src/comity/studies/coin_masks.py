"""Which part of the alignment term does what: the Coin Game in self-play with cases of the term left out.

The zoo's recipe, shortened, with the paper's term (no goodwill) and less weight, and nothing changed but the
cases left out. Source: Duque et al., 2024, "Advantage Alignment Algorithms", figure 7.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from comity.evaluate.league import play_league
from comity.play.zoo import zoo_recipe
from comity.studies.base import RESULTS
from comity.studies.comparison import Comparison, Measures, Variant
from comity.studies.training import Trained, recipe

ITERATIONS = 800
BATCH = 256
WEIGHT = 0.8  # at the zoo's 2.2 agents without vengeance and spite do best with themselves
HORIZON = 50
# label: cases left out, and the published reward of self-play
MASKS: dict[str, tuple[tuple[str, ...], float]] = {
    "none": ((), 0.305),
    "V, S": (("vengeful", "spiteful"), 0.135),
    "V": (("vengeful",), 0.126),
    "S": (("spiteful",), 0.107),
    "E": (("empathetic",), 0.027),
    "C, E": (("cooperative", "empathetic"), 0.002),
}


@dataclass(frozen=True)
class CoinMasks(Comparison):
    """The Coin Game with cases of the alignment term left out, beside the paper's figure 7."""

    name = "coin-masks"
    title = f"Coin Game, self-play after {ITERATIONS} iterations, T = {HORIZON}"
    note = (
        "C, E, V, S: the cooperative, empathetic, vengeful and spiteful cases of the alignment term. The "
        "paper's order does not come out whole: see experiments/README.md."
    )
    needs = "about 7 CPU-minutes for three seeds"
    committed = RESULTS / "coin-masks.json"
    headings = ("left out", "published", "Comity", "seeds")

    def variants(self) -> dict[str, Variant]:
        """The zoo's experiment, shortened, with the paper's term but for some of its cases."""
        agent = zoo_recipe("coin", "adalign")["agents"][0]
        term = {**agent["term"], "goodwill": 0.0, "weight": WEIGHT}
        return {
            label: Variant(
                recipe(
                    "coin",
                    "adalign",
                    agents=[{**agent, "term": {**term, "masked_cases": list(masked)}}],
                    iterations=ITERATIONS,
                    batch=BATCH,
                ),
                facts={"masked_cases": list(masked), "published": published},
            )
            for label, (masked, published) in MASKS.items()
        }

    def measure(self, variant: Variant, trained: Trained) -> Measures:
        """What the trained player earns per step with itself."""
        game = variant.experiment.game
        league = play_league(game, {"player": trained.player()}, self.episodes, HORIZON, seed=0)
        return {"self": float(league.mean[0, 0])}

    def cells(self, label: str, row: Mapping[str, Any]) -> list[str]:
        """The published reward beside Comity's."""
        seeds = " ".join(f"{x:.3f}" for x in row["seeds"])
        return [label, f"{row['published']:.3f}", f"{row['mean']:.3f}", seeds]
