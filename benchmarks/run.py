"""Runs every benchmark in a process of its own, one after another."""

import subprocess
import sys
from pathlib import Path

BENCHMARKS = (
    "foundation.py",
    "adalign.py",
    "shaping.py",
    "particles.py",
    "harvest.py",
    "replay.py",
    "theory.py",
    "exported.py",
)


def main() -> None:
    """Runs them in this order, or those named on the command line."""
    for name in sys.argv[1:] or BENCHMARKS:
        print(f"== {name}", flush=True)
        subprocess.run([sys.executable, str(Path(__file__).parent / name)], check=True)


if __name__ == "__main__":
    main()
