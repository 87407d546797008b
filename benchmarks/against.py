"""This checkout beside another one, in one run: CPU time of the same work, alternately, as ratios.

Usage: python benchmarks/against.py OTHER_CHECKOUT [WORK ...] [--rounds N]

For each kind of work one process per checkout is kept ready, and they take turns, so that what else the
machine does falls on both alike. Writes results/against.json. Ratios are this checkout's time over the
other's: below 1 this one is faster.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
RECIPES = {  # of the zoo, and how many iterations are one turn
    "coin/adalign": 8,
    "coin/loqa": 8,
    "negotiation/adalign": 40,
    "prisoners-dilemma/adalign": 100,
    "simple-spread/mappo": 4,
    "commons-harvest-open/ppo": 2,
    "commons-harvest-open/proximal-adalign": 2,
}
STARTS = ("import", "cached-start")
ROUNDS = 9


class Worker:
    """A process that does one kind of work with one checkout, one turn for each line that it is sent."""

    def __init__(self, checkout: Path, work: str, cache: str) -> None:
        environment = os.environ | {
            "PYTHONPATH": str(checkout / "src"),
            "JAX_PLATFORMS": "cpu",
            "COMITY_CACHE": cache,
            "JAX_COMPILATION_CACHE_DIR": cache,
            "PYTHONDONTWRITEBYTECODE": "",  # an installed package has its bytecode, so both write theirs
            "PYTHONPYCACHEPREFIX": f"{cache}/bytecode",
        }
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "turns.py"), work, str(RECIPES.get(work, 1))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=tempfile.gettempdir(),
        )

    def turn(self) -> float:
        """CPU-seconds of one turn."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("The work failed: see above.")
        return float(line)

    def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


class Comparison(NamedTuple):
    """CPU-seconds of one turn, and this checkout's over the other's."""

    this: float
    other: float
    ratio: float
    low: float  # quartiles of the ratio
    high: float


def compare(work: str, checkouts: tuple[Path, Path], rounds: int) -> Comparison:
    """Turns of this checkout and the other, and the median of their ratios."""
    with tempfile.TemporaryDirectory() as folder:
        workers = [Worker(checkout, work, f"{folder}/{i}") for i, checkout in enumerate(checkouts)]
        for worker in workers:  # compiles, fills caches
            worker.turn()
        pairs = []
        for i in range(rounds):
            order = (0, 1) if i % 2 == 0 else (1, 0)
            seconds = {which: workers[which].turn() for which in order}
            pairs.append((seconds[0], seconds[1]))
        for worker in workers:
            worker.close()
    ratios = sorted(this / other for this, other in pairs)
    return Comparison(
        this=statistics.median(this for this, _ in pairs),
        other=statistics.median(other for _, other in pairs),
        ratio=statistics.median(ratios),
        low=ratios[len(ratios) // 4],
        high=ratios[-1 - len(ratios) // 4],
    )


def main() -> None:
    """Measures what is asked for, or everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, help="the root of another checkout")
    parser.add_argument("work", nargs="*", default=[*RECIPES, "league", *STARTS])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    rows = {}
    print(f"{'':42s}{'this':>10s}{'other':>10s}{'ratio':>8s}   quartiles")
    for work in arguments.work:
        row = compare(work, (HERE.parent, arguments.other.resolve()), arguments.rounds)
        rows[work] = row._asdict()
        print(
            f"{work:42s}{row.this:10.4f}{row.other:10.4f}{row.ratio:8.3f}   {row.low:.3f} to {row.high:.3f}"
        )
    commits = [
        subprocess.run(
            ["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True
        ).stdout.strip()
        for root in (HERE.parent, arguments.other)
    ]
    data = {"unit": "CPU-seconds of one turn", "this": commits[0], "other": commits[1], "rows": rows}
    (HERE / "results" / "against.json").write_text(json.dumps(data, indent=2) + "\n")


if __name__ == "__main__":
    main()
