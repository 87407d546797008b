"""Trainings and leagues that a page starts: each is the command that anybody could type, in a process.

Arguments are made from checked parts and never pass through a shell. What is cancelled is interrupted as by
Ctrl-C, so a training is saved and can go on.
"""

import os
import re
import secrets
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from comity.agents.registry import AGENTS
from comity.core.errors import ComityError, unknown_name
from comity.games.registry import GAMES
from comity.play.specs import make_game
from comity.play.zoo import PREFIX, zoo_names
from comity.web.places import OutsideError, Root
from comity.web.players import scripted_names
from comity.web.replies import BadRequestError, text_of, texts_of, whole_of

MOST_RUNNING = 2
KEPT = 50
PATIENCE = 120.0  # seconds before a process that does not end when interrupted is ended
LAST_PATIENCE = 15.0  # the same when the server ends
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}")
SETTING = re.compile(r"(agent|game)(\.[a-z][a-z0-9_]*)+|batch|unroll|chunk|schedule_iterations|warm_up|share")
VALUE = re.compile(r"[A-Za-z0-9+-][A-Za-z0-9_.+-]{0,60}")  # no colon: no code of one's own, no file


class Job:
    """A process, what it was told, and what it said."""

    def __init__(self, kind: str, arguments: list[str], out: str, folder: Path) -> None:
        self.name = secrets.token_hex(6)
        self.kind, self.out, self._arguments = kind, out, arguments
        self.cancelled = False
        self._started, self._ended = time.time(), 0.0
        self._log = folder / f".comity-ui-{self.name}.log"
        threads = {"OMP_NUM_THREADS": "1"}  # beside the pages, one core is left
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "comity", *arguments],
                cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                start_new_session=True, env={**os.environ, **threads},
            )  # fmt: skip

    @property
    def code(self) -> int | None:
        """How the process ended; None while it runs."""
        code = self._process.poll()
        if code is not None and not self._ended:
            self._ended = time.time()
        return code

    def cancel(self) -> None:
        """Interrupts the process as Ctrl-C does, so that a training is saved; the second time it is ended."""
        if self.code is None:
            if self.cancelled:
                self._process.kill()
                return
            self.cancelled = True
            self._process.send_signal(signal.SIGINT)
            threading.Thread(target=self._end, args=(PATIENCE,), daemon=True).start()

    def _end(self, patience: float) -> None:
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def close(self) -> None:
        """Cancels unless that was done, waits, and leaves no log behind."""
        if not self.cancelled:
            self.cancel()
        self._end(LAST_PATIENCE)
        self._process.wait()
        self._log.unlink(missing_ok=True)

    def describe(self) -> dict[str, Any]:
        """The job as data."""
        code = self.code
        if code is None:
            status = "cancelling" if self.cancelled else "running"
        else:
            status = "cancelled" if self.cancelled else "finished" if code == 0 else "failed"
        return {
            "id": self.name,
            "kind": self.kind,
            "out": self.out,
            "command": command_line(self._arguments),
            "status": status,
            "seconds": round((self._ended or time.time()) - self._started, 1),
            "said": self._said(),
        }

    def _said(self) -> str:
        try:
            text = self._log.read_bytes()[-3000:].decode("utf-8", "replace")
        except OSError:
            return ""
        lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "\n").splitlines()
        return "\n".join(line for line in lines[-12:] if line.strip())


class Jobs:
    """All jobs that pages started."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()

    def start(self, request: dict[str, Any]) -> Job:
        """Starts what a request describes."""
        kind, arguments, out = self.plan(request)
        with self._lock:
            if sum(job.code is None for job in self._jobs.values()) >= MOST_RUNNING:
                raise ComityError(f"{MOST_RUNNING} jobs are running: wait for one, or cancel one.")
            job = Job(kind, arguments, out, self._root.folder)
            self._jobs[job.name] = job
            for old in [own for own in self._jobs.values() if own.code is not None][:-KEPT]:
                old.close()
                del self._jobs[old.name]
        return job

    def plan(self, request: dict[str, Any]) -> tuple[str, list[str], str]:
        """The kind of a job, the arguments of its command, and where its result will be."""
        kind = text_of(request, "kind")
        if kind not in ("train", "league"):
            raise BadRequestError("kind must be train or league.")
        game = text_of(request, "game")
        if ":" in game or game not in GAMES:
            raise unknown_name("game", game[:100], GAMES.rows())
        out = text_of(request, "out", "")
        if not NAME.fullmatch(out):
            raise ComityError("The name of the result has letters, digits, - and _ only.")
        out = f"{out}.json" if kind == "league" else out
        if (self._root.folder / out).exists():
            raise ComityError(f"{out} exists already: choose another name.")
        parts = self._training(request, game, out) if kind == "train" else self._league(request, game, out)
        return kind, parts, out

    def _training(self, request: dict[str, Any], game: str, out: str) -> list[str]:
        family = make_game(game).family
        agents = texts_of(request, "agents", 8)
        for agent in agents:
            known = {**AGENTS.rows(), **scripted_names(family)}
            if ":" in agent or agent not in known:
                raise unknown_name("agent", agent[:100], known)
        arguments = ["train", game, *agents, "--out", out]
        for name, low, high in (("iterations", 1, 10**7), ("seeds", 1, 32), ("seed", 0, 2**31 - 1)):
            if (number := whole_of(request, name, None, low, high)) is not None:
                arguments += [f"--{name}", str(number)]
        settings = request.get("settings", {})
        if not isinstance(settings, dict) or len(settings) > 60:
            raise BadRequestError("settings must be an object of names and values.")
        for name, value in settings.items():
            text = str(value)
            if not SETTING.fullmatch(name) or not VALUE.fullmatch(text) or text.startswith("--"):
                raise ComityError(f"{name[:60]} = {text[:60]!r} is no setting that can be given here.")
            arguments += [f"--{name.replace('_', '-')}", text]
        return arguments

    def _league(self, request: dict[str, Any], game: str, out: str) -> list[str]:
        family, known = make_game(game).family, set(zoo_names())
        players = texts_of(request, "players", 24)
        for player in players:
            if player not in scripted_names(family) and player not in known:
                if player.startswith(PREFIX):
                    raise unknown_name("player in the zoo", player[:100], known)
                try:
                    self._root.find(player)
                except OutsideError:
                    raise unknown_name("player", player[:100], scripted_names(family)) from None
                if player.startswith("-") or "=" in player:
                    raise ComityError(f"{player[:100]!r} cannot be named here.")
        last = Counter(Path(player).name for player in players if not player.startswith(PREFIX))
        named = [
            f"{player.replace('/', '-')}={player}" if last[Path(player).name] > 1 else player
            for player in players
        ]
        arguments = ["league", game, *named, "--json", out]
        for name, low, high in (("episodes", 1, 100_000), ("seed", 0, 2**31 - 1)):
            if (number := whole_of(request, name, None, low, high)) is not None:
                arguments += [f"--{name}", str(number)]
        return arguments

    def get(self, name: str) -> Job | None:
        """A job by its name."""
        with self._lock:
            return self._jobs.get(name)

    def listing(self) -> list[dict[str, Any]]:
        """All jobs, the last first."""
        with self._lock:
            return [job.describe() for job in reversed(self._jobs.values())]

    def close(self) -> None:
        """Cancels what runs, when the server ends."""
        running = [job for job in self._jobs.values() if not job.cancelled]
        for job in running:
            job.cancel()
        for job in self._jobs.values():
            job.close()


def command_line(arguments: list[str]) -> str:
    """What one would type to do the same."""
    return shlex.join(["comity", *arguments])
