"""Starts the server, says where it is, and opens the page."""

import contextlib
import ipaddress
import secrets
import socket
import sys
import webbrowser
from pathlib import Path

import uvicorn

from comity.core.errors import ComityError
from comity.web.app import make_app
from comity.web.guard import LOOPBACK

MOST_FILES = 16_384  # open at a time, sockets among them


def serve(folder: Path, host: str, port: int, browser: bool) -> None:
    """Serves until Ctrl-C."""
    local = is_loopback(host)
    token = secrets.token_urlsafe(24)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(2048)  # from now on a browser may come: it waits until there is an answer
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or "this is no port"
        raise ComityError(f"{host}:{port} cannot be served ({reason}): another --port would work.") from None
    number = listening.getsockname()[1]
    names = {*LOOPBACK, host} if local else {host, *own_names(host)}
    shown = f"[{host}]" if ":" in host else host if host != "0.0.0.0" else socket.gethostname()
    address = f"http://{shown}:{number}/"
    more_files()
    print(f"{folder} is shown at {address}\nTo start and play things, open {address}?token={token}")
    if not local:
        print("Whoever has this address can see the folder and start trainings; it is not encrypted.")
    print("Ctrl-C ends.", flush=True)
    if browser:
        with contextlib.suppress(webbrowser.Error):
            webbrowser.open(f"{address}?token={token}")
    app = make_app(folder, token, names, open_on_loopback=local)
    config = uvicorn.Config(
        app, log_level="error", access_log=False, timeout_graceful_shutdown=1, server_header=False,
        timeout_keep_alive=30, ws="none", h11_max_incomplete_event_size=32_768,
    )  # fmt: skip
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def own_names(host: str) -> set[str]:
    """The names of this machine, where all its addresses are served."""
    if host not in ("0.0.0.0", "::"):
        return set()
    name = socket.gethostname()
    found = {*LOOPBACK, name.lower()}
    with contextlib.suppress(OSError):
        found |= {str(own[4][0]) for own in socket.getaddrinfo(name, None)}
    return found


def more_files() -> None:
    """Lets this process hold many open sockets, as far as the system allows it."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)
    if soft < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
