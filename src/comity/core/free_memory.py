"""How much memory there is, and refusing what would take more of it."""

import os
from pathlib import Path

import jax

from comity.core.errors import ComityError

SHARE = 0.8  # of the free memory that one thing may take
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container
USED = ("/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory/memory.usage_in_bytes")


def refuse_what_does_not_fit(needed: int, field: str, value: object) -> None:
    """Raises, with the number, if what is going to be allocated is more than the free memory allows."""
    free = free_memory()
    if free is not None and needed > SHARE * free:
        raise ComityError(
            f"{field} = {value!r} would take {gigabytes(needed)} of memory, and {gigabytes(free)} are free: "
            f"choose a smaller one."
        )


def free_memory() -> int | None:
    """The free memory in bytes, of the accelerator or of the machine; None where that cannot be known.

    Memory that the system uses for caches and would give back counts as free; a container's limit holds.
    """
    device = jax.devices()[0]
    if device.platform != "cpu":
        stats = device.memory_stats() or {}
        limit, used = stats.get("bytes_limit"), stats.get("bytes_in_use", 0)
        return None if limit is None else int(limit) - int(used)
    known = [found for found in (_available(), _left_in_container()) if found is not None]
    return min(known) if known else None


def gigabytes(count: float) -> str:
    """A number of bytes for people."""
    return f"{count / 1e9:,.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"


def _available() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _left_in_container() -> int | None:
    for limit, used in zip(LIMITS, USED, strict=True):
        try:
            return max(int(Path(limit).read_text()) - int(Path(used).read_text()), 0)
        except (OSError, ValueError):  # there is no such file, or it says "max"
            continue
    return None
