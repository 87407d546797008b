"""Learners of action values in simple-spread: PQN-VDN from rollouts; VDN, QMIX and IQL from a replay.

Reported as the sum over agents of what each earns in an episode of 25 steps ("PZ-sum"), with greedy players;
the older convention is 2 x PZ-sum - 75. Sources: Sunehag et al., 2018; Rashid et al., 2018; Gallici et al.,
2025.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from comity.play.loading import scripted_player
from comity.play.specs import make_agent, make_game
from comity.studies.base import RESULTS, chosen
from comity.studies.comparison import Comparison, Measures, Variant
from comity.studies.teams import returns
from comity.studies.training import Trained, make_experiment

BAR, AIM = -30.0, -25.5
SHARED: dict[str, Any] = {
    "network": "mlp",
    "network.width": 128,
    "network.depth": 2,
    "network.layer_norm": True,
    "optimiser.learning_rate": 1e-3,
    "final_learning_rate": 0.05,
    "discount": 0.9,
    "epsilon": {"start": 1.0, "end": 0.05, "over": 0.1},
}
REPLAY: dict[str, Any] = {**SHARED, "network.layer_norm": False, "memory.updates": 8, "memory.batch": 256}
# Of each learner: its settings, games side by side, iterations of that many times 25 joint steps.
RUNS: dict[str, tuple[str, dict[str, Any], int, int]] = {
    "PQN-VDN": ("pqn-vdn", SHARED, 64, 2500),
    "VDN": ("vdn", REPLAY, 32, 2000),
    "QMIX": ("qmix", REPLAY, 32, 2000),
    "IQL": ("iql", REPLAY, 32, 2000),
}


@dataclass(frozen=True)
class Values(Comparison):
    """PQN-VDN, VDN, QMIX and IQL in simple-spread."""

    only: str = ""  # some of the learners, separated by commas; by default all

    name = "values"
    title = "Return of an episode of simple-spread, summed over agents, by greedy players"
    note = (
        "At most 4 million joint steps and 20 CPU-minutes a seed. Random play earns about -80, walking to "
        "assigned landmarks -25.1, MAPPO -25.3 in 4.8 million steps."
    )
    needs = "1 to 2 CPU-minutes a seed"
    committed = RESULTS / "values.json"
    headings = ("learner", "joint steps", "CPU-seconds a seed", "random", "must", "Comity", "interval")

    def variants(self) -> dict[str, Variant]:
        """Each learner with its settings."""
        game = make_game("simple-spread")
        seats = range(len(game.seats))
        idle = returns(game, tuple(scripted_player("random", game, i) for i in seats), 400)
        found = {}
        for label, (name, settings, batch, iterations) in RUNS.items():
            if label not in chosen(self.only, RUNS):
                continue
            agent = make_agent(name, **settings)
            own = make_experiment(game, agent, iterations=iterations, batch=batch, chunk=50)
            facts = {
                "joint_steps": iterations * batch * own.unroll, "random": round(float(idle.sum()), 3),
                "aim": AIM,
            }  # fmt: skip
            found[label] = Variant(own, BAR, facts)
        return found

    def measure(self, variant: Variant, trained: Trained) -> Measures:
        """The return of an episode, summed over agents."""
        game = variant.experiment.game
        return {"sum": float(returns(game, trained.players(game), self.episodes).sum())}

    def cells(self, label: str, row: Mapping[str, Any]) -> list[str]:
        """What a learner reaches and what it cost."""
        spent = [x for x in row["cpu_seconds"] if x is not None]
        seconds = f"{sum(spent) / len(spent):.0f}" if spent else ""
        between = f"[{row['low']:.1f}, {row['high']:.1f}]"
        random, must = f"{row['random']:.1f}", f"{row['must']:.0f}"
        steps = f"{row['joint_steps'] / 1e6:.1f}M"
        return [label, steps, seconds, random, must, f"{row['mean']:.1f}", between]
