"""One learner on two devices beside one, in one run: seconds per iteration, turn by turn, as ratios.

Usage: python benchmarks/devices.py [RECIPE] [--devices N] [--rounds N]

One process per number of devices is kept ready, and they take turns, so that what else the machine does falls
on both alike. Writes results/devices.json. `speed_up` is the median over rounds of one device's seconds over
those of several, `speed_up_of_fastest` the ratio of the shortest turns, which a busy machine disturbs least;
`work` is the ratio of CPU-seconds of several devices over one, which says what the division costs.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def work(recipe: str, devices: int, iterations: int) -> None:
    """Does one turn for each line that it reads, and prints what it took."""
    from comity.core.compilation import use_compilation_cache
    from comity.training.sharding import make_devices

    make_devices(devices)  # before anything is computed
    from comity.training.driver import Lanes, start_any_seed
    from comity.training.recipes import read_recipe

    use_compilation_cache()
    experiment = read_recipe(recipe)
    lanes = Lanes([experiment], [start_any_seed(experiment)], devices)
    lanes.advance(iterations)
    print("ready", flush=True)
    for _ in sys.stdin:
        began, spent = time.perf_counter(), time.process_time()
        metrics = lanes.advance(iterations)[0]  # as arrays of the host, so all is done
        took = time.perf_counter() - began, time.process_time() - spent
        seconds, cpu = (part / iterations for part in took)
        print(
            json.dumps({"seconds": seconds, "cpu": cpu, "reward": float(metrics["reward"][-1])}), flush=True
        )


def turn(process: "subprocess.Popen[str]") -> dict[str, float]:
    """Lets a process do one turn."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    found: dict[str, float] = json.loads(process.stdout.readline())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipe", nargs="?", default="zoo:coin/adalign")
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--iterations", type=int, default=8, help="in one turn")
    parser.add_argument("--work", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work is not None:
        work(given.recipe, given.work, given.iterations)
        return
    command = [sys.executable, __file__, given.recipe, "--iterations", str(given.iterations), "--work"]
    processes: dict[int, Any] = {}
    for count in (1, given.devices):
        processes[count] = subprocess.Popen(
            [*command, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert processes[count].stdout.readline().strip() == "ready"
    rounds = [{count: turn(process) for count, process in processes.items()} for _ in range(given.rounds)]
    for process in processes.values():
        process.stdin.close()
        process.wait()

    def ratio(part: str) -> list[float]:
        return [row[1][part] / row[given.devices][part] for row in rounds]

    def fastest(count: int) -> float:
        return min(row[count]["seconds"] for row in rounds)

    result = {
        "command": f"python benchmarks/devices.py {' '.join(sys.argv[1:])}".strip(),
        "recipe": given.recipe,
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[1],
        "devices": given.devices,
        "iterations_in_a_turn": given.iterations,
        "speed_up": statistics.median(ratio("seconds")),
        "speed_up_of_fastest": fastest(1) / fastest(given.devices),
        "speed_ups": [round(x, 3) for x in ratio("seconds")],
        "work": statistics.median(1 / x for x in ratio("cpu")),
        "seconds": {
            str(n): round(statistics.median(row[n]["seconds"] for row in rounds), 4) for n in processes
        },
        "cpu_seconds": {
            str(n): round(statistics.median(row[n]["cpu"] for row in rounds), 4) for n in processes
        },
    }
    (HERE / "results" / "devices.json").write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
