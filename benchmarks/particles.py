"""MAPPO on simple-spread, feed-forward and recurrent, and training on a third-party environment (MPE2's own).

Joint steps per CPU-second including learning. For the third-party environment, also the share of the wall
time in which the slower side (the workers that step it) is busy.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import time
from pathlib import Path
from typing import Any

from foundation import stepping, training
from harness import Measurement, peak_gflops, report

from comity.bridges.host import HostGame
from comity.core.compilation import compiled
from comity.play.specs import make_agent, make_game
from comity.training import loop
from comity.training.experiment import Experiment, make_experiment

HERE = Path(__file__).parent


def experiment(kind: str, batch: int, **settings: Any) -> Experiment:
    """MAPPO on simple-spread with networks of one kind, 4 epochs of 1 minibatch."""
    shape = {f"{net}.{name}": value for net in ("network", "critic.network")
             for name, value in {"name": kind, "width": 64, "depth": 2}.items()}  # fmt: skip
    agent = make_agent("mappo", **shape, **settings)
    return make_experiment(make_game("simple-spread"), agent, batch=batch)


def hosted(workers: int, batch: int, iterations: int) -> Measurement:
    """Training on MPE2's own simple_spread, with the share of the wall time in which its workers are busy."""
    game = make_game("pettingzoo:mpe2.simple_spread_v3", workers=workers)
    assert isinstance(game, HostGame)
    agent = make_agent("mappo", **{"network": "mlp", "critic.network": "mlp"})
    own = make_experiment(game, agent, batch=batch, unroll=25)
    advance = compiled(loop.advance)
    begun = time.monotonic()
    state, metrics = advance(own, compiled(loop.start, once=True)(own), 1)
    float(metrics["reward"][0])
    first = time.monotonic() - begun
    busy, begun = _cpu_seconds(game), time.monotonic()
    for _ in range(iterations):
        state, metrics = advance(own, state, 1)
        float(metrics["reward"][0])
    wall = time.monotonic() - begun
    share = (_cpu_seconds(game) - busy) / (wall * workers)
    seconds = wall / iterations
    name = f"mappo on MPE2's simple_spread, {batch} x 25, wall time, {workers} worker busy {share:.0%}"
    return Measurement(name, first, seconds, batch * 25 / seconds)


def _cpu_seconds(game: HostGame) -> float:
    """CPU time that the workers have used so far."""
    ticks = 0
    for process in game.pool.workers():
        fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Prints the table and writes benchmarks/results/particles.json."""
    peak = peak_gflops()
    rows = [
        stepping("stepping, simple-spread 1024 x 25", make_game("simple-spread"), 1024, 25, peak),
        training("training, mappo mlp 64 x 2, 128 x 25, 4 epochs", experiment("mlp", 128), peak),
        training("training, mappo gru 64, 128 x 25, 4 epochs", experiment("gru", 128), peak),
    ]
    report("particles", [*rows, hosted(1, 32, 10)], peak, HERE / "results" / "particles.json")


if __name__ == "__main__":
    main()
