"""JAX's persistent compilation cache, so that a second start does not compile again."""

import os
from pathlib import Path

import jax


def cache_folder() -> Path:
    """Where compiled programs are kept: COMITY_CACHE, or the user's cache folder."""
    chosen = os.environ.get("COMITY_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(chosen) if chosen else Path(base) / "comity"


def use_compilation_cache() -> None:
    """Turns the cache on, unless the user chose one of their own or turned it off with COMITY_CACHE=off."""
    if os.environ.get("COMITY_CACHE") == "off" or jax.config.values.get("jax_compilation_cache_dir"):
        return
    jax.config.update("jax_compilation_cache_dir", str(cache_folder() / "compiled"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
