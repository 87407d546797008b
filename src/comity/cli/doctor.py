"""`comity doctor`: versions, devices, the cache, what is installed, and a short test that all of it works."""

import json
import os
import platform
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from comity import __version__
from comity.cli.parser import parse_arguments
from comity.core.cache import cache_folder, cache_is_on

PACKAGES = ("jax", "jaxlib", "equinox", "optax", "numpy", "scipy", "safetensors", "tyro", "matplotlib")
OPTIONAL = {  # what each is for
    "pettingzoo": "third-party environments: pip install 'comity[pettingzoo]'",
    "gymnasium": "third-party environments: pip install 'comity[pettingzoo]'",
    "ray": "many machines: pip install 'comity[ray]'",
    "wandb": "tracking of runs: pip install 'comity[wandb]'",
    "pandas": "tables as data frames: pip install pandas",
    "dm-meltingpot": "Melting Pot's substrates: see its own instructions",
}


@dataclass
class Settings:
    """Says what Comity runs on and tries it: exits with 0 if all is well, with 1 if something is not."""

    json: bool = False  # print JSON for a program instead of lines
    quick: bool = False  # leave the test out, which trains a player for a moment
    address: str | None = None  # of a Ray cluster, to say what it has: auto, HOST:PORT, ray://HOST:PORT


def run(name: str, arguments: list[str]) -> int:
    """Prints what was found."""
    settings = parse_arguments(Settings, arguments, "comity doctor")
    cluster = None if settings.address is None else _cluster(settings.address)
    found = examine(quick=settings.quick)
    if cluster is not None:
        found = {**found, "cluster": cluster}
    if settings.json:
        print(json.dumps(found, indent=2))
    else:
        _print(found)
    return 1 if found["problems"] else 0


def examine(quick: bool = False) -> dict[str, Any]:
    """All that there is to say, as JSON data; `problems` are sentences, none if all is well."""
    problems: list[str] = []
    parts: dict[str, Callable[[], Any]] = {
        "versions": _versions,
        "machine": _machine,
        "devices": _devices,
        "cache": _cache,
        "optional": lambda: {package: _version(package) for package in OPTIONAL},
    }
    if not quick:
        parts["test"] = _test
    found: dict[str, Any] = {}
    for name, part in parts.items():
        try:
            found[name] = part()
        except Exception as error:  # whatever is broken is what the user wants to know
            found[name] = None
            problems.append(f"{name}: {' '.join(str(error).split()) or type(error).__name__}")
    return {**found, "problems": problems}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _versions() -> dict[str, str | None]:
    return {"comity": __version__, "python": platform.python_version(), **{p: _version(p) for p in PACKAGES}}


def _machine() -> dict[str, Any]:
    affinity = getattr(os, "sched_getaffinity", None)
    pages = {
        name: os.sysconf(name) for name in ("SC_PHYS_PAGES", "SC_AVPHYS_PAGES") if name in os.sysconf_names
    }
    page = os.sysconf("SC_PAGE_SIZE") if pages else 0
    return {
        "system": f"{platform.system()} {platform.release()} ({platform.machine()})",
        "cores": len(affinity(0)) if affinity else os.cpu_count(),
        "memory_bytes": pages.get("SC_PHYS_PAGES", 0) * page or None,
        "free_memory_bytes": pages.get("SC_AVPHYS_PAGES", 0) * page or None,
    }


def _devices() -> list[str]:
    import jax

    return [f"{device.platform} ({device.device_kind})" for device in jax.devices()]


def _cache() -> dict[str, Any]:
    folder = cache_folder()
    if not cache_is_on():
        return {"folder": None, "files": 0, "bytes": 0}
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):  # raises if it cannot be written to
        sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return {"folder": str(folder), "files": len(sizes), "bytes": sum(sizes)}


def _cluster(address: str) -> list[dict[str, Any]]:
    """The machines of a Ray cluster; raises if there is none."""
    from comity.training.executors.ray_cluster import connect

    return [
        {
            "machine": node["NodeManagerAddress"],
            "cores": node["Resources"].get("CPU", 0.0),
            "gpus": node["Resources"].get("GPU", 0.0),
            "memory_bytes": node["Resources"].get("memory", 0.0),
        }
        for node in connect(address)
    ]


def _test() -> dict[str, float]:
    """Trains a player for a moment, reads it back, and lets it act; raises if anything goes wrong."""
    import numpy as np

    from comity.api import load_player, train
    from comity.core.compilation import use_compilation_cache
    from comity.play.specs import make_agent, make_game

    began = time.perf_counter()
    use_compilation_cache()
    game, agent = make_game("prisoners-dilemma", horizon=8), make_agent("a2c", network="tabular")
    with tempfile.TemporaryDirectory(prefix="comity-doctor-") as place:
        run = train(game, agent, iterations=2, batch=8, out=Path(place) / "run")
        reward = run.metrics[-1]["reward"]
        player = load_player(run.folder)
        same = np.array_equal(player.probabilities(0), run.players[0].probabilities(0))
    if not np.isfinite(reward) or not same:
        raise RuntimeError(f"A player trained for a moment earned {reward}, and was read back {same}.")
    return {"seconds": round(time.perf_counter() - began, 1)}


def _print(found: dict[str, Any]) -> None:
    lines: list[tuple[str, str]] = []
    if found["versions"]:
        lines += [(name, value or "NOT INSTALLED") for name, value in found["versions"].items()]
    if found["machine"]:
        machine = found["machine"]
        sizes = [machine[name] for name in ("memory_bytes", "free_memory_bytes")]
        memory = " GB, ".join("?" if size is None else f"{size / 1e9:.1f}" for size in sizes)
        lines += [("system", machine["system"]), ("cores", str(machine["cores"]))]
        lines.append(("memory", f"{memory} GB free"))
    if found["devices"]:
        lines.append(("devices", ", ".join(found["devices"])))
    if found["cache"]:
        cache = found["cache"]
        size = f"{cache['folder']} ({cache['files']} files, {cache['bytes'] / 1e6:.1f} MB)"
        lines.append(("cache", size if cache["folder"] else "off"))
    if found["optional"]:
        lines += [
            (name, value or f"not installed ({OPTIONAL[name]})") for name, value in found["optional"].items()
        ]
    for node in found.get("cluster", ()):
        memory = node["memory_bytes"] / 1e9
        words = f"{node['cores']:g} cores, {node['gpus']:g} gpus, {memory:.1f} GB for {node['machine']}"
        lines.append(("cluster", words))
    if found.get("test"):
        lines.append(("test", f"trained, read back and acted in {found['test']['seconds']} seconds"))
    for name, value in lines:
        print(f"{name:<15}{value}")
    print()
    for problem in found["problems"]:
        print(f"PROBLEM  {problem}")
    if not found["problems"]:
        print("All is well.")
