"""Strict types in all tests: shapes checked at run time, no silent promotion of types or ranks."""

import atexit
import os
import shutil
import signal
import tempfile
import threading

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Many tests compile the same program: all processes of a session share what was compiled, and nothing is
# left of it for the next one. Workers and commands that tests start inherit these settings.
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    os.environ["JAX_COMPILATION_CACHE_DIR"] = tempfile.mkdtemp(prefix="comity-tests-")
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "0"
    atexit.register(shutil.rmtree, os.environ["JAX_COMPILATION_CACHE_DIR"], ignore_errors=True)

from collections.abc import Iterator
from pathlib import Path

import jax
import pytest
from jaxtyping import config, install_import_hook

import tests.typecheck  # noqa: F401 (the hook names it)

# For the whole session, not for a block of imports: games and agents load when first asked for.
install_import_hook("comity", "tests.typecheck.check")

# A shell starts commands in the background with Ctrl-C ignored; tests send it to runs and to themselves.
in_background = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
if in_background and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

MOST_MAPS = 20_000  # Linux allows 65,530, and a process that asks for more dies

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")


@pytest.fixture
def unchecked() -> Iterator[None]:
    """For tests that pass a wrong type on purpose: the code's own refusal is looked at, not the checker's."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)


@pytest.fixture(autouse=True)
def few_programs() -> Iterator[None]:
    """Forgets compiled programs now and then: a process may hold only so many pieces of mapped memory."""
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > MOST_MAPS:
        jax.clear_caches()
