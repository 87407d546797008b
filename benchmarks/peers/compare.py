"""Training on simple_spread beside JaxMARL and skrl: joint steps per CPU-second, all on one core in one run.

    python benchmarks/peers/compare.py --jaxmarl CHECKOUT --jaxmarl-python PYTHON --skrl-python PYTHON

    python benchmarks/peers/compare.py --skrl-python PYTHON     # skrl alone, the other rows stay

CHECKOUT is a copy of JaxMARL's repository (its training scripts are not in its package); the two interpreters
are those of virtual environments with `jaxmarl distrax hydra-core wandb matplotlib` and with `skrl torch
mpe2`. Each side is measured in a process of its own on the same core of a Linux machine, one after the other,
several times in turns; the median counts. Writes benchmarks/results/peers.json.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ONE_CORE = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
ONE_CORE |= {"OMP_NUM_THREADS": "1", "WANDB_MODE": "disabled"}
# The settings of JaxMARL's own scripts for these games, and a larger batch. Its scripts compute in float32;
# its feed-forward one for these games is IPPO, whose critic sees what its own seat sees.
FEED_FORWARD = {
    "agent": "mappo", "recurrent": False, "width": 64, "epochs": 4, "minibatches": 4, "precision": "float32",
}  # fmt: skip
RECURRENT = FEED_FORWARD | {"recurrent": True, "width": 128}
MIXED = RECURRENT | {"precision": "bfloat16"}
CASES: dict[str, dict[str, Any]] = {
    "feed-forward, 16 x 128": FEED_FORWARD | {"environments": 16, "steps": 128, "updates": 60},
    "feed-forward, 16 x 128, ippo": FEED_FORWARD
    | {"agent": "ippo", "environments": 16, "steps": 128, "updates": 60},
    "feed-forward, 128 x 25": FEED_FORWARD | {"environments": 128, "steps": 25, "updates": 30},
    "recurrent, 16 x 128": RECURRENT | {"environments": 16, "steps": 128, "updates": 6},
    "recurrent, 16 x 128, bfloat16": MIXED | {"environments": 16, "steps": 128, "updates": 6},
    "recurrent, 128 x 25": RECURRENT | {"environments": 128, "steps": 25, "updates": 4},
    "recurrent, 128 x 25, bfloat16": MIXED | {"environments": 128, "steps": 25, "updates": 4},
}

# skrl's own settings of MAPPO, with one copy of a PettingZoo environment and networks for each agent: the
# same on both sides, but that Comity's critics see all observations, which are all that the state says.
SKRL = FEED_FORWARD | {"epochs": 8, "minibatches": 2, "environments": 1, "steps": 16}
SKRL_CASES: dict[str, dict[str, Any]] = {
    "skrl, equal settings, MPE2 on both sides": SKRL
    | {"equal": True, "game": "pettingzoo:mpe2.simple_spread_v3", "updates": 60},
    "skrl, equal settings, Comity's own simple-spread": SKRL
    | {"equal": True, "game": "simple-spread", "updates": 400},
}


def comity(settings: dict[str, Any]) -> dict[str, Any]:
    """The same training by Comity. In MAPPO the critic sees what everybody sees, once for the whole team.

    That of JaxMARL's MAPPO sees the same for each seat, and computes it for each.
    """
    import jax

    from comity.core.compilation import compiled, use_compilation_cache
    from comity.play.specs import make_agent, make_game
    from comity.training import loop
    from comity.training.experiment import make_experiment

    if os.environ.get("COMITY_CACHE"):
        use_compilation_cache()
    recurrent = {"name": "gru", "depth": 1, "after": 1, "skip": False}
    shape = recurrent if settings["recurrent"] else {"name": "mlp", "depth": 2}
    shape |= {"width": settings["width"], "precision": settings["precision"]}
    nets = {f"{net}.{k}": v for net in ("network", "critic.network") for k, v in shape.items()}
    kind, sees = settings["agent"], {"critic.view": "team"}
    passes = {name: settings[name] for name in ("epochs", "minibatches")}
    equal = settings.get("equal", False)
    if equal:  # networks for each agent, and minibatches of single steps
        sees = {"critic.view": "joint", "minibatch_order": "steps"}
    agent = make_agent(kind, **nets, **passes, **(sees if kind == "mappo" else {}))
    updates = settings["updates"]
    name = settings.get("game", "simple-spread")
    game = make_game(name, workers=0) if ":" in name else make_game(name)
    experiment = make_experiment(
        game, agent, batch=settings["environments"], unroll=settings["steps"], share=False if equal else None
    )
    begun = time.process_time()
    state = compiled(loop.start, once=True)(experiment)
    advance = compiled(loop.advance)
    state, _ = advance(experiment, state, updates)
    jax.block_until_ready(state)
    first = time.process_time() - begun
    begun = time.process_time()
    state, _ = advance(experiment, state, updates)
    jax.block_until_ready(state)
    seconds = time.process_time() - begun
    steps = updates * settings["environments"] * settings["steps"]
    return {"compile_seconds": first - seconds, "seconds": seconds, "steps": steps}


def run(command: list[str], **environment: str) -> dict[str, Any]:
    """What a measuring process printed last, and how long it took by the clock."""
    begun, core = time.monotonic(), min(os.sched_getaffinity(0))
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | ONE_CORE | environment, check=False,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:2])} failed:\n{done.stderr[-2000:]}")
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    found: dict[str, Any] = json.loads(lines[-1])
    return {**found, "wall_seconds": time.monotonic() - begun}


def middle(found: list[dict[str, Any]]) -> dict[str, float]:
    """Medians over repetitions: joint steps per CPU-second, and seconds of compilation."""
    return {
        "steps_per_second": round(statistics.median(x["steps"] / x["seconds"] for x in found), 1),
        "compile_seconds": round(statistics.median(x.get("compile_seconds", 0.0) for x in found), 1),
    }


def main() -> None:
    """Measures, prints the table, writes the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--jaxmarl", type=Path, help="a checkout of JaxMARL's repository")
    parser.add_argument("--jaxmarl-python", help="an interpreter with jaxmarl and what its scripts import")
    parser.add_argument("--skrl-python", help="an interpreter with skrl, torch and mpe2")
    parser.add_argument("--repeats", type=int, default=3, help="how often each side is measured")
    parser.add_argument("--measure", help=argparse.SUPPRESS)  # Comity's own process
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(comity(json.loads(given.measure))))
        return
    if not given.skrl_python or bool(given.jaxmarl) != bool(given.jaxmarl_python):
        parser.error("--skrl-python is needed, and --jaxmarl and --jaxmarl-python go together")
    out = HERE.parent / "results" / "peers.json"
    if not given.jaxmarl:
        found = json.loads(out.read_text())
        found["rows"] |= beside_skrl(given.skrl_python, given.repeats)
        found["cases"] |= SKRL_CASES
        out.write_text(json.dumps(found, indent=2) + "\n")
        return
    rows: dict[str, Any] = {}
    for name, settings in CASES.items():
        as_json = json.dumps(settings)
        ours, theirs = [], []
        for _ in range(given.repeats):
            ours.append(run([sys.executable, str(HERE / "compare.py"), "--measure", as_json]))
            script = str(HERE / "of_jaxmarl.py")
            theirs.append(run([given.jaxmarl_python, script, str(given.jaxmarl), as_json]))
        rows[name] = _row("JaxMARL", middle(ours), middle(theirs))
        _show(name, rows[name])
    with tempfile.TemporaryDirectory() as cache:
        settings = CASES["feed-forward, 16 x 128"] | {"updates": 10}
        command = [sys.executable, str(HERE / "compare.py"), "--measure", json.dumps(settings)]
        starts = [run(command, COMITY_CACHE=cache) for _ in range(2)]
    rows["start"] = {k: round(x["wall_seconds"], 1) for k, x in zip(("first", "second"), starts, strict=True)}
    print(f"whole process with 20 updates: first {starts[0]['wall_seconds']:.1f} s, second start from the "
          f"compilation cache {starts[1]['wall_seconds']:.1f} s")  # fmt: skip
    skrl = [run([given.skrl_python, str(HERE / "of_skrl.py"), json.dumps({"steps": 1600, "width": 64})])
            for _ in range(given.repeats)]  # fmt: skip
    first = rows["feed-forward, 16 x 128"]["comity"]
    rows["skrl on MPE2, its defaults"] = _row("skrl", first, middle(skrl))
    _show("skrl on MPE2, its defaults", rows["skrl on MPE2, its defaults"])
    rows |= beside_skrl(given.skrl_python, given.repeats)
    out.write_text(
        json.dumps({"cases": CASES | SKRL_CASES, "repeats": given.repeats, "rows": rows}, indent=2) + "\n"
    )


def beside_skrl(python: str, repeats: int) -> dict[str, Any]:
    """The rows at equal settings: one game, rollouts of 16 steps, 8 epochs of 2 minibatches."""
    theirs = [run([python, str(HERE / "of_skrl.py"), json.dumps({"steps": 1600, "width": 64})])
              for _ in range(repeats)]  # fmt: skip
    rows = {}
    for name, settings in SKRL_CASES.items():
        command = [sys.executable, str(HERE / "compare.py"), "--measure", json.dumps(settings)]
        rows[name] = _row("skrl", middle([run(command) for _ in range(repeats)]), middle(theirs))
        _show(name, rows[name])
    return rows


def _row(peer: str, ours: dict[str, float], theirs: dict[str, float]) -> dict[str, Any]:
    ratio = round(ours["steps_per_second"] / theirs["steps_per_second"], 2)
    return {"peer": peer, "comity": ours, "other": theirs, "ratio": ratio}


def _show(name: str, row: dict[str, Any]) -> None:
    ours, other = row["comity"], row["other"]
    print(
        f"{name}: Comity {ours['steps_per_second']:,.0f} joint steps per CPU-second (compile "
        f"{ours['compile_seconds']:.0f} s), {row['peer']} {other['steps_per_second']:,.0f} (compile "
        f"{other['compile_seconds']:.0f} s): {row['ratio']:.1f}x",
        flush=True,
    )


if __name__ == "__main__":
    main()
