"""A folder to show: runs made by hand, a league, and what an attacker might put there."""

import json
from pathlib import Path
from typing import Any

CONFIG: dict[str, Any] = {
    "game": {"name": "prisoners-dilemma", "horizon": 16},
    "agents": [{"name": "ppo", "learning_rate": 0.001}],
    "batch": 4,
    "unroll": 16,
    "iterations": 100,
    "seed": 0,
}
NASTY = "<script>alert(1)</script>"
OUTSIDE = [
    "../secret.json", "..", "/etc/passwd", "ppo/../../secret.json", "..\\secret.json", "....//secret.json",
    "%2e%2e/secret.json", "..%2fsecret.json", "%252e%252e%252fsecret.json", "ppo/./../../secret.json", "\0",
    "ppo\0/../x", "\u2025/secret.json", "\uff0e\uff0e/secret.json", "~", "~root", "file:///etc/passwd",
    "//etc/passwd", ".hidden", "C:\\x", "a" * 5000, "link/secret.json", "link",
]  # fmt: skip


def make_run(folder: Path, rows: int = 100, **config: Any) -> Path:
    """A run folder with so many rows, whose reward is a hundredth of the iteration plus the seed."""
    folder.mkdir(parents=True)
    data = {**CONFIG, **config}
    (folder / "config.json").write_text(json.dumps(data))
    facts = {"status": "finished", "command": "comity train", "process": {"pid": 2**30}}
    (folder / "run.json").write_text(json.dumps(facts))
    (folder / "metrics.jsonl").write_text("".join(row(i, data["seed"]) for i in range(1, rows + 1)))
    timing = ({"iteration": i, "seconds": i * 0.5, "cpu_seconds": i * 0.25} for i in range(1, rows + 1))
    (folder / "timing.jsonl").write_text("".join(json.dumps(own) + "\n" for own in timing))
    return folder


def row(iteration: int, seed: int = 0) -> str:
    """A line of metrics."""
    return json.dumps({"iteration": iteration, "reward": iteration / 100 + seed, "entropy": 1.0}) + "\n"


def _member(generation: int, number: int) -> dict[str, Any]:
    return {
        "name": f"generation-{generation}/member-{number}",
        "parent": f"generation-{generation - 1}/member-0" if generation else None,
        "settings": {"rate": 0.1 * number},
        "fitness": generation + 0.1 * number,
    }


def make_folder(root: Path) -> Path:
    """Two kinds of runs, a league, and a file outside."""
    (root.parent / "secret.json").write_text('{"kind": "comity-play", "players": [], "secret": 1}')
    for seed in range(3):
        make_run(root / "ppo" / f"seed-{seed}", seed=seed)
    make_run(root / "other", agents=[{"name": "ppo", "learning_rate": 0.01}])
    make_run(root / NASTY.replace("/", "_"), rows=2)
    league = {
        "kind": "comity-league",
        "version": 1,
        "game": "prisoners-dilemma",
        "game_settings": {"name": "prisoners-dilemma", "horizon": 16},
        "horizon": 16,
        "episodes": 10,
        "seed": 0,
        "players": ["tit-for-tat", NASTY],
        "mean": [[-1.0, -2.0], [-1.9, -2.0]],
        "low": [[-1.0, -2.1], [-2.0, -2.0]],
        "high": [[-1.0, -1.9], [-1.8, -2.0]],
    }
    (root / "league.json").write_text(json.dumps(league))
    members = [[_member(i, k) for k in range(3)] for i in range(3)]
    lineage = {"kind": "comity-population", "version": 1, "measure": "reward", "generations": members}
    (root / "population.json").write_text(json.dumps(lineage))
    (root / "half.json").write_text('{"kind": "comity-league", "pla')
    return root
