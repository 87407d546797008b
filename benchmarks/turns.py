"""One kind of work, a turn for each line on standard input: prints the CPU-seconds of each turn.

Used by against.py with several checkouts, so it imports from whatever Comity is on the path, by the names
that it has had there.
"""

import importlib
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

START = "prisoners-dilemma a2c --iterations 2 --batch 16 --game.horizon 4 --json --out"
EQUAL = "--agent.critic.shared"  # what A2C did before critics had networks of their own by default
PUBLIC = "import comity; [getattr(comity, name) for name in dir(comity)]"
LEAGUE = ("zoo:coin/adalign/0", "zoo:coin/loqa/0", "always-cooperate", "always-defect", "tit-for-tat")


def module(*names: str) -> Any:
    """The first of these modules that there is."""
    for name in names:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            continue
    raise SystemExit(f"none of {names} is there")


def recipe(name: str, iterations: int) -> Callable[[], float]:
    """Some iterations of a recipe of the zoo, by the compiled program alone."""
    import equinox as eqx
    import jax

    loop = module("comity.training.loop", "comity.train.loop")
    experiments = module("comity.training.experiment", "comity.train.experiment")
    zoo = Path(module("comity").__file__).parent / "zoo"
    data = json.loads((zoo / name / "experiment.json").read_text())
    experiment = experiments.Experiment.from_data(
        {k: v for k, v in data.items() if k not in ("kind", "version")}
    )
    program = eqx.filter_jit(loop.advance)
    state = loop.start(experiment)

    def turn() -> float:
        nonlocal state
        begun = time.process_time()
        state, metrics = program(experiment, state, iterations)
        jax.block_until_ready(metrics)
        return time.process_time() - begun

    return turn


def league() -> float:
    """A league of five in the Coin Game, as a user plays it."""
    import comity

    begun = time.process_time()
    comity.league(comity.make_game("coin"), LEAGUE, episodes=256)
    return time.process_time() - begun


def command(*arguments: str) -> float:
    """CPU-seconds of a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=dict(os.environ))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cached_start() -> float:
    """`comity train` of a tiny experiment whose program was compiled before."""
    equal = [EQUAL] if importlib.util.find_spec("comity.training") else []
    with tempfile.TemporaryDirectory() as folder:
        return command("-m", "comity", "train", *START.split(), f"{folder}/run", *equal)


def main() -> None:
    """Takes turns until the input ends."""
    work, iterations = sys.argv[1], int(sys.argv[2])
    if "/" in work:
        turn = recipe(work, iterations)
    else:
        turn = {"league": league, "import": lambda: command("-c", PUBLIC), "cached-start": cached_start}[work]
    for _ in sys.stdin:
        print(turn(), flush=True)


if __name__ == "__main__":
    main()
