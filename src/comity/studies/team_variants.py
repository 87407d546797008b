"""What a faster MAPPO costs in what is learned: simple-spread, shorter than in `teams`.

One value for the whole team (`critic.view team`) instead of one for each seat, and products in bfloat16, for
a perceptron and a GRU. Reported as "PZ-sum", like `teams`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from comity.play.specs import make_game
from comity.studies.base import RESULTS
from comity.studies.comparison import Comparison, Measures, Variant
from comity.studies.teams import BATCH, STEPS, returns, team_experiment
from comity.studies.training import Trained

ITERATIONS = 200
JOINT_STEPS = ITERATIONS * BATCH * STEPS
# network, what the critic sees, precision
VARIANTS = (
    ("mlp", "joint", "float32"),
    ("mlp", "team", "float32"),
    ("mlp", "team", "bfloat16"),
    ("gru", "team", "float32"),
    ("gru", "team", "bfloat16"),
)


@dataclass(frozen=True)
class TeamVariants(Comparison):
    """MAPPO in simple-spread by kind of network, what its critic sees, and precision."""

    name = "team-variants"
    title = f"simple-spread, PZ-sum after {JOINT_STEPS / 1e6:.1f}M joint steps"
    note = "The sum over agents of what each earns in an episode of 25 steps."
    needs = "14 to 90 CPU-seconds a run"
    committed = RESULTS / "team-variants.json"
    headings = ("network, critic sees, precision", "mean", "seeds", "CPU-seconds")
    executor = "processes"  # so that the time of each run is its own

    def variants(self) -> dict[str, Variant]:
        """MAPPO in simple-spread, with other networks and critics."""
        found = {}
        for network, view, precision in VARIANTS:
            depth = 2 if network == "mlp" else 1
            shape: dict[str, Any] = {"name": network, "precision": precision, "depth": depth}
            settings = {f"{net}.{k}": v for net in ("network", "critic.network") for k, v in shape.items()}
            settings["critic.view"] = view
            own = team_experiment(make_game("simple-spread"), "mappo", ITERATIONS, **settings)
            found[f"{network}, {view}, {precision}"] = Variant(own, facts={"joint_steps": JOINT_STEPS})
        return found

    def measure(self, variant: Variant, trained: Trained) -> Measures:
        """The return of an episode, summed over seats."""
        game = variant.experiment.game
        return {"sum": float(returns(game, trained.players(game), self.episodes).sum())}

    def cells(self, label: str, row: Mapping[str, Any]) -> list[str]:
        """What was learned, and what it took."""
        seeds = " ".join(f"{x:.1f}" for x in row["seeds"])
        costs = " ".join("-" if x is None else f"{x:.0f}" for x in row["cpu_seconds"])
        return [label, f"{row['mean']:.1f}", seeds, costs]
