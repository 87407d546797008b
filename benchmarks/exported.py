"""How long a step of an exported player takes, with NumPy alone on one core; printed as JSON."""

import json
import os
import statistics
import tempfile
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

import comity
from comity.play.numpy_player import load

STEPS, REPEATS = 2000, 5
PLAYERS = {
    "Coin Game: dense 64 x 2, GRU 64, dense 64": ("zoo:coin/adalign/0", np.zeros((4, 3, 3), np.float32)),
    "Prisoner's dilemma: dense 32, GRU 32": ("zoo:prisoners-dilemma/adalign/0", np.int32(0)),
}


def seconds(act: object, obs: object) -> float:
    """Seconds of one call: the median of some repeats."""
    assert callable(act)
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        for _ in range(STEPS):
            act(obs)
        times.append((time.perf_counter() - began) / STEPS)
    return statistics.median(times)


def main() -> None:
    """Measures each player."""
    for name, (source, obs) in PLAYERS.items():
        player = comity.load_player(source)
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "player.pyz"
            difference = comity.export_player(player, path)
            exported = load(path)
        row = {
            "player": name,
            "numpy_milliseconds": round(1e3 * seconds(exported.act, obs), 4),
            "jax_milliseconds": round(1e3 * seconds(player.act, obs), 4),
            "largest_difference": difference,
        }
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
