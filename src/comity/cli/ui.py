"""`comity ui [FOLDER]`: runs, leagues, replays and games with people, in a browser."""

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path

import tyro

from comity.cli.parser import parse_arguments
from comity.core.errors import ComityError, require

NEEDED = ("starlette", "uvicorn")


@dataclass
class Settings:
    """Shows what lies in a folder in a browser, live; lets people play, build trainings and watch replays."""

    folder: tyro.conf.Positional[Path] = Path("runs")  # runs, sweeps and leagues are looked for below it
    host: str = "127.0.0.1"  # who can reach it: by default this machine; others need the token for everything
    port: int = 8400  # 0: any that is free
    browser: bool = True  # open the page


def run(name: str, arguments: list[str]) -> int:
    """Serves until Ctrl-C."""
    settings = parse_arguments(Settings, arguments, "comity ui")
    if any(importlib.util.find_spec(package) is None for package in NEEDED):
        raise ComityError("comity ui needs more packages: pip install 'comity[ui]' installs them.")
    require(0 <= settings.port < 65536, "port", settings.port, "between 0 and 65535")
    if not settings.folder.is_dir():
        raise ComityError(f"{settings.folder} is no folder: comity ui shows what lies in one.")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")  # games with people are small, and trainings have the GPU
    from comity.web.serve import serve

    serve(settings.folder, settings.host, settings.port, settings.browser)
    return 0
