"""What an iteration of each learner costs beside A2C: one game, one batch, networks of one shape.

The iterated prisoner's dilemma of 16 steps, 256 games, GRU of 32 for policy and critic, everything else as
each agent has it by default. Each is measured in turn with A2C, and the ratio of the two counts.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx

from comity.play.specs import make_agent, make_game
from comity.train import loop
from comity.train.experiment import make_experiment

LEARNERS = ("a2c", "ppo", "trpo", "adalign", "proximal-adalign", "loqa", "lola-dice", "pola")
SHAPE: dict[str, Any] = {"kind": "gru", "width": 32, "depth": 1}
RESULTS = Path(__file__).parent / "results" / "shaping.json"


def iterations(name: str) -> Callable[[], float]:
    """A function that trains one more iteration and says what CPU time it took; compiled already."""
    default = make_agent(name)
    nets = [net for net in ("network", "critic_network") if hasattr(default, net)]
    settings = {f"{net}.{field}": value for net in nets for field, value in SHAPE.items()}
    experiment = make_experiment(make_game("prisoners-dilemma"), make_agent(name, **settings), batch=256)
    advance = eqx.filter_jit(loop.advance)
    state = [eqx.filter_jit(loop.start)(experiment)]

    def once() -> float:
        begun = time.process_time()
        state[0], metrics = advance(experiment, state[0], 1)
        float(metrics["reward"][0])
        return time.process_time() - begun

    once()
    return once


def main() -> None:
    """Prints the table and writes benchmarks/results/shaping.json."""
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
        json.dumps({"batch": 256, "steps": 16, "network": SHAPE, "rows": rows}, indent=2) + "\n"
    )


if __name__ == "__main__":
    main()
