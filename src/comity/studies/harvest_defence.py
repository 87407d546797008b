"""What learns to defend a commons: five seats that learn among two strangers, one thing changed at a time.

Episodes of 1,000 steps in rollouts of 200, strangers in the last two seats, planes, a GRU of 32.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from comity.core.errors import unknown_name
from comity.evaluate.commons import play_commons
from comity.evaluate.statistics import bootstrap_mean
from comity.evaluate.strangers import FOCAL, KINDS
from comity.play.most_likely import most_likely
from comity.play.zoo import zoo_recipe
from comity.report import html
from comity.studies.base import RESULTS, Results, Study, Table
from comity.studies.focal_harvest import GAME, LENGTH
from comity.studies.harvest_strangers import encounters, strangers_game
from comity.studies.progress import Progress, silent
from comity.studies.stages import Stage, train_stages
from comity.studies.training import Experiment, Trained, train

SEATS = 7
ALONE = 4  # episodes of seven copies
# Shared pay within the five: an oracle of a team. Strangers are paid for themselves.
SHARED = [[float(i == j or (i < FOCAL and j < FOCAL)) for j in range(SEATS)] for i in range(SEATS)]
# A greedy walker with 80% random moves: weak enough to be beaten while nothing is learned yet.
WEAK = {"name": "stranger", "blunders": {"start": 0.8, "end": 0.8, "over": 0.7}, "plenty": 122}
HARDER = {
    **WEAK, "blunders": {"start": 0.8, "end": 0.5, "over": 0.7}, "zappers": 0.5, "variety": 0.1,
}  # fmt: skip
PUBLISHED = {"weight": 1.0, "past": {"name": "averaged"}, "past_lambda": 0.95, "opponent_lambda": 0.95}
TERM = {**PUBLISHED, "lasting": True}
KIND = {**TERM, "goodwill": 1.0}
VARIANTS: dict[str, dict[str, Any]] = {
    "shared pay": {"pay": "shared"},
    "shared pay, identity": {"pay": "shared", "identity": "seat"},
    "shared pay, harder strangers": {"pay": "shared", "strangers": HARDER, "iterations": 1200},
    "shared pay, low entropy": {"pay": "shared", "entropy": 0.004},
    "shared pay, team critic": {"pay": "shared", "team_critic": True},
    "shared pay, team critic, identity": {"pay": "shared", "team_critic": True, "identity": "seat"},
    "own pay": {},
    "own pay, low entropy": {"entropy": 0.004},
    "alignment": {"term": TERM},
    "alignment with fellows": {"term": TERM, "align_with": "team"},
    "alignment with fellows, goodwill": {"term": KIND, "align_with": "team"},
    "alignment by culprit, identity": {"term": {**KIND, "attributed": True}, "identity": "seat"},
}
# What keeps zapping alive: games out of step, a short trace, longer steps, strangers that grow stronger.
SHORT = {**TERM, "past_lambda": 0.8, "opponent_lambda": 0.8}
VARIANTS |= {
    "shared pay, team critic, identity, short trace": {
        "pay": "shared", "team_critic": True, "identity": "seat", "short_trace": True,
    },
    "shared pay, identity, short trace": {"pay": "shared", "identity": "seat", "short_trace": True},
    "own pay, identity, short trace": {"identity": "seat", "short_trace": True},
    "alignment with fellows, identity, short trace": {
        "term": SHORT, "align_with": "team", "identity": "seat", "short_trace": True,
    },
    "alignment with fellows, goodwill, identity, short trace": {
        "term": {**SHORT, "goodwill": 1.0}, "align_with": "team", "identity": "seat", "short_trace": True,
    },
}  # fmt: skip
# Stages with strangers that grow stronger, each from the player of the one before: what keeps zapping alive
# from weak strangers to strong ones. A new critic learns alone at the start of each.
STAGES = (
    Stage({"learner.optimiser.learning_rate": 0.004, "learner.schedule.critic_only_fraction": 0.1}, 600),
    Stage(
        {
            "learner.optimiser.learning_rate": 0.006, "learner.gae_lambda": 0.8, "learner.entropy_coef": 0.01,
            "learner.critic.td_lambda": 0.9, "strangers.blunders.start": 0.7, "strangers.blunders.end": 0.5,
            "strangers.zappers": 0.5,
        },
        450,
    ),
    Stage(
        {
            "learner.entropy_coef": 0.005, "strangers.blunders.start": 0.5, "strangers.blunders.end": 0.4,
            "strangers.variety": 0.1,
        },
        330,
    ),
)  # fmt: skip
VARIANTS |= {
    "shared pay, staged": {"pay": "shared", "team_critic": True, "identity": "seat", "staged": True},
    "own pay, staged": {"identity": "seat", "staged": True},
    "alignment with fellows, staged": {
        "term": SHORT, "align_with": "team", "identity": "seat", "staged": True,
    },
    "alignment with fellows, goodwill, staged": {
        "term": {**SHORT, "goodwill": 1.0}, "align_with": "team", "identity": "seat", "staged": True,
    },
}  # fmt: skip
GROWING = {**HARDER, "blunders": {"start": 0.8, "end": 0.4, "over": 0.9}}
HEADINGS = (
    "five learners", "zappers", "pacifists", "normalised: mean", "best", "seeds", "drawn",
    "hits on fellows, on strangers", "factor below 0", "alone: collective", "alone: bushes", "CPU-seconds",
)  # fmt: skip


@dataclass(frozen=True)
class HarvestDefence(Study):
    """Learners among strangers in Commons Harvest, one thing changed at a time."""

    variant: str = ""  # one row of the table alone; by default all
    seeds: int = 1  # how many seeds of each
    first_seed: int = 0  # the first of them
    episodes: int = 8  # of each player among strangers of each kind

    name = "harvest-defence"
    title = "Learning to defend a commons"
    note = (
        "Trained with scripted strangers in the last two seats, measured among the stand-ins of "
        "harvest-strangers; 0 is random, 1 an exploiter, as published. Players do what is most likely, "
        "but in the column `drawn`. Hits are in 100 steps of a seat, among zappers. Identity: planes show "
        "who is who by seat. One seed says little."
    )
    needs = "4 to 8 CPU-minutes a seed"
    committed = RESULTS / "harvest-defence.json"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant and self.variant not in VARIANTS:
            raise unknown_name("variant", self.variant, list(VARIANTS))

    def run(self, out: Path, from_committed: bool = False, progress: Progress = silent) -> Results:
        """Trains what is missing, and measures each player among strangers and alone."""
        if from_committed:
            return self.committed_results()
        rows = []
        for label in [self.variant] if self.variant else list(VARIANTS):
            place = out / "runs" / label.replace(", ", "-").replace(" ", "-")
            experiment = defence_experiment(**VARIANTS[label])
            seeds = range(self.first_seed, self.first_seed + self.seeds)
            if VARIANTS[label].get("staged"):
                stages = defence_stages(experiment)
                trained = [
                    train_stages(experiment, stages, n, place / f"seed-{n}", self.command(), progress, label)
                    for n in seeds
                ]
            else:
                runs = train(experiment, seeds, place, self.command(), progress, label)
                trained = [[run] for run in runs]
            measured = [
                {"seed": n, **measure(stages, VARIANTS[label], self.episodes)}
                for n, stages in zip(seeds, trained, strict=True)
            ]
            rows.append({"player": label, "settings": VARIANTS[label], "seeds": measured})
        return {**self.about(), "rows": rows}

    def summary(self, results: Results) -> list[Table | str]:
        """One row for each variant."""
        rows = [_cells(row) for row in results["rows"]]
        return [Table("Five learners among two strangers, each player's return", HEADINGS, rows), self.note]

    def page(self, results: Results, out: Path) -> Path:
        """The table."""
        table, *_ = self.summary(results)
        assert isinstance(table, Table)
        part = html.section(table.title, table.html())
        note = html.section("How to read it", html.paragraph(self.note))
        return self.write_page(results, out, defence_verdict(results["rows"]), [part, note])


def defence_verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    """Which variant keeps most among strangers, and how many keep more than an exploiter gets."""
    means = {row["player"]: float(np.mean([seed["score"] for seed in row["seeds"]])) for row in rows}
    best = max(means, key=lambda label: means[label])
    counts = {row["player"]: len(row["seeds"]) for row in rows}
    over = "1 seed" if counts[best] == 1 else f"{counts[best]} seeds"
    above = sum(mean > 1 for mean in means.values())
    return (
        f"Of {len(means)} variants {best!r} keeps most among two strangers: {means[best]:.2f} ({over}), "
        f"where 0 is random and 1 what an exploiter gets. {above} of {len(means)} score above 1."
    )


def defence_experiment(
    pay: str = "own",
    identity: str = "none",
    strangers: dict[str, Any] = WEAK,
    term: dict[str, Any] | None = None,
    align_with: str = "everybody",
    entropy: float | None = None,
    team_critic: bool = False,
    short_trace: bool = False,
    staged: bool = False,
    iterations: int = 900,
) -> Experiment:
    """Five seats that learn by PPO, or with a term Proximal Advantage Alignment, among two strangers."""
    base = zoo_recipe(GAME, "ppo")
    game: dict[str, Any] = {**base["game"], "horizon": LENGTH, "identity": identity}
    if short_trace or staged:  # episodes that end by chance: a rollout shows all parts of them
        game = {"name": "time-limit", "game": game, "horizon": LENGTH, "end_chance": 0.003}
    if pay == "shared":
        game = {"name": "shared-reward", "game": game, "others": 1.0, "weights": SHARED}
    agent: dict[str, Any] = base["agents"][0] if term is None else _aligned(term, align_with)
    if entropy is not None:  # constant, instead of falling from .02 to .004
        learner = agent if term is None else agent["learner"]
        learner["entropy_coef"], learner["schedule"]["final_entropy"] = entropy, 1.0
    if team_critic:  # one value for all five from what everybody sees, by a network of its own
        critic = {"shared": False, "view": {"name": "team"}, "learning_rate": 1e-3, "persistent": False}
        agent["critic"] |= critic
    sizes: dict[str, Any] = {"iterations": iterations}
    if staged:
        learner = agent if term is None else agent["learner"]
        learner |= {"clip_ratio": 0.2, "discount": 0.995}  # the same for all who are staged
        learner["schedule"]["decay_from"] = 0.0
        learner["critic"] |= {"shared": False, "learning_rate": 0.002, "persistent": False}
        sizes = {"iterations": sum(stage.iterations for stage in STAGES), "batch": 32, "unroll": 100}
    if short_trace:
        _shorten(agent if term is None else agent["learner"])
        strangers, sizes = GROWING, {"iterations": 750, "batch": 32, "unroll": 100}
    return Experiment.from_data(
        {
            **base,
            "game": game,
            "agents": [agent, strangers],
            "seating": [list(range(FOCAL)), list(range(FOCAL, SEATS))],
            "matchmaker": {"name": "self-play"},
            **sizes,
        }
    )


def defence_stages(experiment: Experiment, stages: Sequence[Stage] = STAGES) -> list[Stage]:
    """The stages for this experiment, whose learner may stand inside an agent that shapes its advantages."""
    inner = "agent.learner." if "learner" in experiment.to_data()["agents"][0] else "agent."
    names = {"learner.": inner, "strangers.": "agent2."}

    def named(setting: str) -> str:
        first, dot, rest = setting.partition(".")
        return names[first + dot] + rest

    return [Stage({named(k): x for k, x in stage.changes.items()}, stage.iterations) for stage in stages]


def _shorten(learner: dict[str, Any]) -> None:
    """Less noise in what a zap is worth: a critic that is ahead of the policy, and a trace of few steps."""
    learner["gae_lambda"] = 0.8
    learner["clip_ratio"] = 0.2
    learner["critic"]["td_lambda"] = 0.9
    learner["optimiser"]["learning_rate"] = 0.006
    learner["schedule"] |= {"decay_from": 0.5, "critic_only_fraction": 0.06}
    if learner["critic"]["learning_rate"] > 0:
        learner["critic"]["learning_rate"] = 0.002


def _aligned(term: dict[str, Any], align_with: str) -> dict[str, Any]:
    """The published settings where they do not depend on the size of the network."""
    own: dict[str, Any] = zoo_recipe(GAME, "proximal-adalign")["agents"][0]
    learner = own["learner"]
    critic = {**learner["critic"], "td_lambda": 0.95}
    published = {"discount": 0.99, "clip_ratio": 0.1, "normalise_advantages": "batch"}
    learner = {**learner, **published, "critic": critic}
    return {
        **own,
        "learner": learner,
        "term": term,
        "opponent_values": {"name": "own-view", "learn_from": "all", "align_with": align_with},
    }


def measure(stages: Sequence[Trained], settings: dict[str, Any], episodes: int) -> dict[str, Any]:
    """The player of the last stage among strangers and alone, and what the runs logged at their ends."""
    game = strangers_game(settings.get("identity", "none"))
    player = stages[-1].player()
    alone = play_commons(game, (most_likely(player),) * SEATS, ALONE, LENGTH)
    return {
        **encounters(game, player, episodes),
        "drawn": encounters(game, player, episodes, deterministic=False),
        "alone": {
            "collective": round(float(alone.collective.mean()), 1),
            "bushes": round(float(alone.bushes.mean()), 2),
        },
        "logged": _logged(stages[-1]),
        "cpu_seconds": sum(stage.metadata().get("cpu_seconds", 0.0) for stage in stages),
        "stages": [
            {"cpu_seconds": stage.metadata().get("cpu_seconds"), "logged": _logged(stage)} for stage in stages
        ],
    }


def _logged(run: Trained) -> dict[str, float]:
    logged = ("past_negative", "opponent_explained_variance", "entropy")
    return {name: round(float(x), 3) for name, x in run.metrics()[-1].items() if name.endswith(logged)}


def _cells(row: dict[str, Any]) -> list[str]:
    seeds = row["seeds"]
    scores = np.asarray([seed["score"] for seed in seeds])
    interval = bootstrap_mean(scores)
    spread = f" [{interval.low:.2f}, {interval.high:.2f}]" if len(seeds) > 1 else ""

    def mean(*path: str) -> float:
        found = []
        for seed in seeds:
            value: Any = seed
            for name in path:
                value = value[name]
            found.append(float(value))
        return float(np.mean(found))

    negative = [x for seed in seeds for name, x in seed["logged"].items() if name.endswith("past_negative")]
    hits = ("kinds", "zappers", "hits_in_100_steps")
    costs = [seed["cpu_seconds"] for seed in seeds]
    return [
        row["player"],
        *(f"{mean('kinds', kind, 'focal'):.1f} ({mean('kinds', kind, 'strangers'):.1f})" for kind in KINDS),
        f"{interval.mean:.2f}{spread}",
        f"{scores.max():.2f}",
        " ".join(f"{x:.2f}" for x in scores),
        f"{mean('drawn', 'score'):.2f}",
        f"{mean(*hits, 'focal on focal'):.2f}, {mean(*hits, 'focal on strangers'):.2f}",
        f"{np.mean(negative):.2f}" if negative else "",
        f"{mean('alone', 'collective'):.0f}",
        f"{mean('alone', 'bushes'):.1f}",
        " ".join("-" if x is None else f"{x:.0f}" for x in costs),
    ]
