"""Requests read, and replies written as JSON in which what is no number is null."""

import json
import math
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import numpy as np
from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

T = TypeVar("T")
MOST_THREADS = {"files": 4, "games": 2}  # at a time, for reading and for what computes with JAX


class BadRequestError(Exception):
    """A request that cannot be answered; the message says why."""


class Threads:
    """Work off the event loop, a little at a time."""

    def __init__(self) -> None:
        self._limits: dict[str, anyio.CapacityLimiter] = {}

    async def run(self, kind: str, function: Callable[..., T], *arguments: Any) -> T:
        """What a function returns that reads files ("files") or computes ("games")."""
        limit = self._limits.get(kind)
        if limit is None:
            limit = self._limits[kind] = anyio.CapacityLimiter(MOST_THREADS[kind])
        return await to_thread.run_sync(function, *arguments, limiter=limit)


def plain(value: Any) -> Any:
    """Data for JSON: arrays as lists, and null for what is not finite."""
    if isinstance(value, np.ndarray):
        return [plain(own) for own in value.tolist()]
    if isinstance(value, dict):
        return {str(name): plain(own) for name, own in value.items()}
    if isinstance(value, list | tuple):
        return [plain(own) for own in value]
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    return value


def reply(data: Any, status: int = 200) -> Response:
    """Data as JSON. Pieces of text that are no Unicode are replaced."""
    text = json.dumps(plain(data), allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return Response(text.encode(), status, media_type="application/json")


async def read_body(request: Request) -> dict[str, Any]:
    """The JSON object in the body of a request."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise BadRequestError("A body must be JSON, with the content type application/json.")
    try:
        data = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise BadRequestError("The body is not JSON.") from None
    if not isinstance(data, dict):
        raise BadRequestError("The body must be a JSON object.")
    return data


def text_of(data: Any, name: str, default: str | None = None, most: int = 300) -> str:
    """A text among the fields of a request."""
    value = data.get(name, default)
    if not isinstance(value, str) or len(value) > most or "\0" in value or not _is_unicode(value):
        raise BadRequestError(f"{name} must be a text of at most {most} characters.")
    return value


def _is_unicode(text: str) -> bool:
    """JSON can hold half of a pair of surrogates, which no file and no command can."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def texts_of(data: Any, name: str, most: int) -> list[str]:
    """A list of texts among the fields of a request."""
    values = data.get(name)
    if not isinstance(values, list) or not 1 <= len(values) <= most:
        raise BadRequestError(f"{name} must be a list of 1 to {most} texts.")
    return [text_of({name: value}, name) for value in values]


def whole_of(data: Any, name: str, default: int | None, low: int, high: int) -> int | None:
    """A whole number among the fields of a request; as text too, as in an address."""
    value = data.get(name, default)
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        value = int(value[:12])
    if value is None and default is None:
        return None
    if type(value) is not int or not low <= value <= high:
        raise BadRequestError(f"{name} must be a whole number from {low} to {high}.")
    return value
