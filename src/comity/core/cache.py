"""Where Comity keeps what it can make again."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """COMITY_CACHE, or the user's cache folder."""
    chosen = os.environ.get("COMITY_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(chosen) if chosen else Path(base) / "comity"


def cache_is_on() -> bool:
    """Whether the user did not turn it off with COMITY_CACHE=off."""
    return os.environ.get("COMITY_CACHE") != "off"
