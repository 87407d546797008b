"""What an iteration of each learner costs beside A2C: one game, one batch, networks of one shape.

The iterated prisoner's dilemma of 16 steps, 256 games, GRU of 32 for policy and critic, everything else as
each agent has it by default. Each is measured in turn with A2C, and the ratio of the two counts.

Also an iteration of LOQA at its published setting, the Coin Game 512 x 50 with GRUs of 128 for policy and
critic. The published code takes 4.84 CPU-seconds on a core that does 84 GFLOP per CPU-second on a large
matrix product, which is 406 GFLOP-equivalents.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import peak_gflops

from comity.core.compilation import compiled
from comity.play.matchmaking import PastSelves
from comity.play.specs import make_agent, make_game
from comity.training import loop
from comity.training.experiment import Experiment, make_experiment

LEARNERS = ("a2c", "ppo", "trpo", "adalign", "proximal-adalign", "loqa", "lola-dice", "pola")
SHAPE: dict[str, Any] = {"name": "gru", "width": 32, "depth": 1}
PUBLISHED = 406.0
LEARN_FROM = "opponent_values.learn_from"
TD_LAMBDA, TARGET_TAU = "learner.critic.td_lambda", "learner.critic.target_tau"
# Whose view LOQA's critic learns from, and how fast its slow copy follows.
CRITICS: dict[str, dict[str, Any]] = {
    "own view": {LEARN_FROM: "own", TD_LAMBDA: 0.9, TARGET_TAU: 1.0},
    "own view, slow copy": {LEARN_FROM: "own", TARGET_TAU: 0.05},
    "all views": {LEARN_FROM: "all", TD_LAMBDA: 0.9, TARGET_TAU: 1.0},
    "all views, slow copy": {LEARN_FROM: "all", TARGET_TAU: 0.05},
}
RESULTS = Path(__file__).parent / "results" / "shaping.json"


def iterations(name: str) -> Callable[[], float]:
    """A function that trains one more iteration and says what CPU time it took; compiled already."""
    learner = "learner." if hasattr(make_agent(name), "learner") else ""
    agent = make_agent(name, None, **networks(SHAPE, learner))
    return timed(make_experiment(make_game("prisoners-dilemma"), agent, batch=256))


def networks(shape: dict[str, Any], learner: str = "") -> dict[str, Any]:
    """The settings of policy and critic with networks of one shape."""
    nets = (f"{learner}network", f"{learner}critic.network")
    return {f"{net}.{field}": value for net in nets for field, value in shape.items()}


def timed(experiment: Experiment) -> Callable[[], float]:
    """A function that trains one more iteration as training does, and says what CPU time it took."""
    # The state is donated, so that an agent replay buffer is not copied.
    advance = compiled(loop.advance, donate="all-except-first")
    state = [compiled(loop.start, once=True)(experiment)]

    def once() -> float:
        begun = time.process_time()
        state[0], metrics = advance(experiment, state[0], 1)
        float(metrics["reward"][0])
        return time.process_time() - begun

    once()
    return once


def published_loqa(**settings: Any) -> dict[str, float]:
    """LOQA's iteration at its published setting, in what the same process does on a large matrix product.

    Each iteration is measured beside a matrix product, since what a core does changes from minute to minute.
    """
    shape = networks({"name": "gru", "width": 128}, "learner.")
    agent = make_agent("loqa", None, **shape, **settings)
    experiment = make_experiment(make_game("coin"), agent, matchmaker=PastSelves(), batch=512)
    once = timed(experiment)
    pairs = [(once(), peak_gflops(repeats=2)) for _ in range(7)]
    cost = sorted(seconds * peak for seconds, peak in pairs)[len(pairs) // 2]
    seconds, peak = sorted(pairs)[len(pairs) // 2]
    about = ", ".join(f"{name} {value}" for name, value in settings.items())
    print(f"LOQA at its published setting, {about}: {seconds:.2f} CPU-s, {cost:.0f} GFLOP-equivalents, the "
          f"published code's {PUBLISHED:.0f}: 1/{PUBLISHED / cost:.1f}", flush=True)  # fmt: skip
    return {
        "seconds": round(seconds, 3),
        "peak_gflops": round(peak, 1),
        "gflop_equivalents": round(cost, 1),
        "of_published": round(cost / PUBLISHED, 3),
    }


def main() -> None:
    """Prints the table and writes benchmarks/results/shaping.json."""
    loqa = {name: published_loqa(**settings) for name, settings in CRITICS.items()}
    base = iterations("a2c")
    rows = {}
    for name in LEARNERS:
        own = iterations(name)
        pairs = [(own(), base()) for _ in range(7)]
        ratio = sorted(mine / its for mine, its in pairs)[len(pairs) // 2]
        seconds = sorted(mine for mine, _ in pairs)[len(pairs) // 2]
        rows[name] = {"seconds": round(seconds, 4), "of_a2c": round(ratio, 2)}
        print(f"{name:20s}{seconds:10.4f} CPU-s{ratio:8.1f} x A2C", flush=True)
    RESULTS.write_text(
        json.dumps(
            {"batch": 256, "steps": 16, "network": SHAPE, "rows": rows, "loqa_published_setting": loqa},
            indent=2,
        )
        + "\n"
    )


if __name__ == "__main__":
    main()
