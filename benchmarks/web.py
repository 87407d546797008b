"""How quick the browser application is, in headless Chromium, and what viewers cost a training.

`python benchmarks/web.py` prints a line for each figure and writes `benchmarks/results/web.json`:

- `first_page`: seconds from the request until the list of a folder of 500 runs is drawn, cold and warm.
  The server's CPU time says how much of that is its own, on a machine that is busy.
- `large_run`: the same for the curves of a run with 1,000,000 rows.
- `viewers`: CPU-seconds per 1000 iterations of a training, by itself and with 50 pages that listen to it and
  ask for its curve whenever it grows, in turns; the server runs in a process of its own.
- `sockets`: seconds of a request while 1,000 sockets are open that say nothing.
"""

import json
import os
import platform
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPEATS, WINDOW, ROUNDS, VIEWERS, SOCKETS = 5, 12.0, 4, 50, 1000
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
RESULT = Path(__file__).parent / "results" / "web.json"
NAMES = ("reward", "reward/player 1", "episode_return", "entropy", "loss", "value_loss", "gradient_norm")


def make_run(folder: Path, rows: int, seed: int) -> None:
    """A run folder that has so many rows of metrics."""
    folder.mkdir(parents=True)
    config = {
        "game": {"name": "prisoners-dilemma", "horizon": 16},
        "agents": [{"name": "ppo", "learning_rate": 0.001}],
        "batch": 64, "unroll": 16, "iterations": rows, "seed": seed,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "run.json").write_text(json.dumps({"status": "finished", "command": "comity train"}))
    with open(folder / "metrics.jsonl", "w") as file:
        for i in range(1, rows + 1):
            row = {"iteration": i, "steps": 1024 * i} | dict.fromkeys(NAMES, (i * 7919 + seed) % 1000 / 1000)
            file.write(json.dumps(row) + "\n")


class Server:
    """`comity ui` in a process of its own."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "comity", "ui", str(folder), "--port", "0", "--no-browser"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        said = "".join(self._process.stdout.readline() for _ in range(3))
        found = re.search(r"(http://[^/\s]+/)\?token=\S+", said)
        assert found is not None, said
        self.address, self.opened = found[1], found[0]

    def get(self, path: str) -> bytes:
        """What the server answers."""
        with urllib.request.urlopen(self.address + path, timeout=60) as reply:
            content: bytes = reply.read()
        return content

    @property
    def cpu(self) -> float:
        """CPU-seconds that it has taken so far."""
        return cpu_seconds(self._process.pid)

    def close(self) -> None:
        """Ends it."""
        self._process.terminate()
        self._process.wait(30)


def page_seconds(server: Server, where: str, ready: str) -> float:
    """Seconds until a page in a new browser window shows what it is for."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        began = time.perf_counter()
        page.goto(server.address + where)
        page.wait_for_selector(ready)
        took = time.perf_counter() - began
        browser.close()
    return took


def pages(folder: Path, where: str, ready: str) -> dict[str, float]:
    """The first time with a new server, its CPU time then, and the median of the times after it."""
    cold, warm, busy = [], [], []
    for _ in range(3):
        server = Server(folder)
        server.get("theme.css")  # it has begun
        before = server.cpu
        cold.append(page_seconds(server, where, ready))
        busy.append(server.cpu - before)
        warm += [page_seconds(server, where, ready) for _ in range(REPEATS)]
        server.close()
    found = {"cold": cold, "warm": warm, "server_cpu_cold": busy}
    return {name: round(statistics.median(own), 3) for name, own in found.items()}


def viewers(folder: Path) -> dict[str, Any]:
    """CPU time of a training that nobody, or many, look at."""
    arguments = "train prisoners-dilemma ppo --iterations 10000000 --batch 64 --chunk 50 --out live"
    command = [sys.executable, "-m", "comity", *arguments.split(), "--checkpoint-seconds", "100000"]
    silent: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    training = subprocess.Popen(command, cwd=folder, **silent)
    metrics = folder / "live" / "metrics.jsonl"
    while not (metrics.exists() and metrics.stat().st_size > 2000):
        time.sleep(0.5)
    server = Server(folder)
    found: dict[str, list[float]] = {"nobody": [], "viewers": []}
    try:
        for _ in range(ROUNDS):
            found["nobody"].append(cost(training.pid, metrics))
            watched = [Viewer(server) for _ in range(VIEWERS)]
            time.sleep(2)
            found["viewers"].append(cost(training.pid, metrics))
            asked = sum(viewer.stop() for viewer in watched)
    finally:
        training.terminate()
        training.wait(60)
        server.close()
    told = {name: [round(x, 3) for x in own] for name, own in found.items()}
    means = {f"{name}_median": round(statistics.median(own), 3) for name, own in found.items()}
    return {**told, **means, "curves_asked_for_in_the_last_window": asked}


class Viewer(threading.Thread):
    """A page that listens to a run, and asks for its curve whenever it hears that it grew."""

    def __init__(self, server: Server) -> None:
        super().__init__(daemon=True)
        self._server, self._over, self.count = server, False, 0
        self.start()

    def run(self) -> None:
        """Listens until it is stopped."""
        address = self._server.address + "api/live?path=live"
        try:
            with urllib.request.urlopen(address, timeout=60) as events:
                for line in events:
                    if self._over:
                        return
                    if line.startswith(b"event: changed"):
                        self._server.get("api/curves?path=live&metric=reward")
                        self.count += 1
        except OSError:
            return

    def stop(self) -> int:
        """Leaves; how many curves it asked for."""
        self._over = True
        return self.count


def cost(pid: int, metrics: Path) -> float:
    """CPU-seconds of a process per 1000 iterations, over a window."""
    began, first = cpu_seconds(pid), last_iteration(metrics)
    time.sleep(WINDOW)
    return 1000 * (cpu_seconds(pid) - began) / max(last_iteration(metrics) - first, 1)


def cpu_seconds(pid: int) -> float:
    """CPU time that a process has taken so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))


def last_iteration(metrics: Path) -> int:
    """The iteration of the last whole row."""
    with open(metrics, "rb") as file:
        file.seek(max(metrics.stat().st_size - 20_000, 0))
        lines = file.read().split(b"\n")
    return int(json.loads(lines[-2])["iteration"])


def sockets(folder: Path) -> dict[str, float]:
    """A request among many open sockets."""
    server = Server(folder)
    host, port = server.address.removeprefix("http://").strip("/").split(":")
    server.get("api/index")
    held = [socket.create_connection((host, int(port)), timeout=30) for _ in range(SOCKETS)]
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        server.get("api/index")
        times.append(time.perf_counter() - began)
    for own in held:
        own.close()
    server.get("api/index")  # it is still there
    server.close()
    return {"open": SOCKETS, "request": round(statistics.median(times), 3)}


def main() -> None:
    """Measures all, or what is named."""
    if CHROMIUM is None:
        raise SystemExit("There is no Chromium: apt-get install chromium, or CHROMIUM=PATH.")
    wanted = sys.argv[1:] or ["first_page", "large_run", "sockets", "viewers"]
    found: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    with tempfile.TemporaryDirectory() as place:
        many, large, live = (Path(place) / name for name in ("many", "large", "live"))
        for i in range(500 if {"first_page", "sockets"} & set(wanted) else 0):
            make_run(many / f"kind-{i // 10}" / f"seed-{i % 10}", 50, i % 10)
        if "large_run" in wanted:
            make_run(large / "run", 1_000_000, 0)
            found["large_run_megabytes"] = round((large / "run" / "metrics.jsonl").stat().st_size / 1e6)
        live.mkdir()
        measures: dict[str, Callable[[], Any]] = {
            "first_page": lambda: pages(many, "", "tbody tr"),
            "large_run": lambda: pages(large, "#/curves?path=run", ".chart canvas"),
            "sockets": lambda: sockets(many),
            "viewers": lambda: viewers(live),
        }
        for name in wanted:
            found[name] = {**measures[name](), "load": round(os.getloadavg()[0], 1)}
            print(name, json.dumps(found[name]), flush=True)
            RESULT.write_text(json.dumps(found, indent=1) + "\n")
    found["machine"] = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
