"""Strict types in all tests: shapes checked at run time, no silent promotion of types or ranks."""

import atexit
import ctypes
import gc
import os
import shutil
import signal
import sys
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

# Workers that fill one cache of numba's (that of quantecon, with which solvers are compared) at the same time
# leave code that crashes whoever loads it: each process has its own.
os.environ["NUMBA_CACHE_DIR"] = f"{os.environ['JAX_COMPILATION_CACHE_DIR']}/numba-{os.getpid()}"

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

# Bytes. A worker that keeps all programs grows; what it has freed, it gets back only in part.
MOST_MEMORY = 1_500_000_000
GROWTH = (
    300_000_000  # since it last forgot them: forgetting after every test would mean to trace everything anew
)
resident_after = 0

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
    """Forgets compiled programs now and then: they take memory, and make every garbage collection longer.

    A process may also hold only so many pieces of mapped memory, which is another reason.
    """
    yield
    global resident_after
    if resident_bytes() > max(MOST_MEMORY, resident_after + GROWTH):
        jax.clear_caches()
        gc.collect()
        give_back()
        resident_after = resident_bytes()


def resident_bytes() -> int:
    """What this process holds in memory; 0 where the system does not say."""
    resident = Path("/proc/self/statm")
    return int(resident.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if resident.exists() else 0


def give_back() -> None:
    """Returns freed memory to the system, where the C library can."""
    if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "malloc_trim"):
        ctypes.CDLL(None).malloc_trim(0)


def pytest_collection_finish() -> None:
    """What is imported by now stays: the garbage collector need not look at it again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
