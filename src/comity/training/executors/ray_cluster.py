"""A connection to a Ray cluster: one on this machine alone, which listens on loopback, or one elsewhere."""

import importlib.util
import logging
import os
import socket
import sys
from typing import Any

from comity.core.errors import ComityError

ANSWER_SECONDS = 5.0  # how long an address may take to answer
_LOOPBACK = ("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # makes Ray listen on loopback, on every system


def connect(address: str | None) -> list[dict[str, Any]]:
    """Connects this process to a cluster, unless it is connected, and returns the machines in it.

    Without an address, Ray is started on this machine, with its cores, for as long as this process lives.
    """
    if importlib.util.find_spec("ray") is None:
        raise ComityError("Ray is not installed, which --executor ray needs: pip install 'comity[ray]'.")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # of workers that are ended on purpose
    os.environ.setdefault("RAY_worker_niceness", "0")  # as processes of one's own, not 15
    if address is None and "ray" not in sys.modules:
        os.environ.setdefault(*_LOOPBACK)
    import ray

    if not ray.is_initialized():
        if address is None:
            _start_here(ray)
        else:
            _join(ray, address)
    return [node for node in ray.nodes() if node["Alive"]]


def _start_here(ray: Any) -> None:
    ray.init(
        address="local",
        num_cpus=os.cpu_count(),
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    listens_on = {node["NodeManagerAddress"] for node in ray.nodes()}
    if not listens_on <= {"127.0.0.1", "::1"}:
        ray.shutdown()
        raise ComityError(
            f"Ray would listen on {' and '.join(sorted(listens_on))} and not on this machine alone, since it "
            f"came before Comity: set {'='.join(_LOOPBACK)} before, or start Ray and give its address."
        )


def _join(ray: Any, address: str) -> None:
    if address != "auto":
        _knock(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # whatever goes wrong inside of Ray, the user has one thing to look at
        reason = " ".join(str(error).split()).partition(". ")[0] or type(error).__name__
        raise ComityError(f"address = {address!r}: no Ray cluster can be joined there ({reason}).") from None


def _knock(address: str) -> None:
    """Raises if nothing listens at an address: Ray itself would wait for a minute."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise ComityError(
            f"address = {address!r} is not possible: it must be auto, HOST:PORT or ray://HOST:PORT."
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER_SECONDS).close()
    except OSError as error:
        raise ComityError(
            f"address = {address!r} does not answer ({error.strerror or error}): is a Ray cluster there?"
        ) from None
