"""Who may ask for what: checks of every request before the application sees it.

- `Host` must be a name under which the server was started, so a page that rebinds its own name to this
  machine is refused; `Origin`, where a browser sends it, must be the same.
- On a host other than loopback everything needs the token; on loopback whatever starts or plays something.
- A body has at most so many bytes; a reply says that nothing from elsewhere may run in it.
"""

import hashlib
import hmac
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 64_000  # bytes
LONGEST_QUERY = 16_000
LOOPBACK = ("127.0.0.1", "localhost", "::1")
FREE_POSTS = ("/api/theory",)  # compute without starting anything
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


class TooLargeError(Exception):
    """A body has more bytes than are read."""


class Guard:
    """The application behind its checks."""

    def __init__(self, app: ASGIApp, token: str, hosts: Iterable[str], open_on_loopback: bool) -> None:
        self._app, self._token = app, token
        self.state: Any = None  # of the application behind it
        self._hosts = {host.lower() for host in hosts}
        self._open = open_on_loopback
        # Browsers share cookies between the ports of a host: each server has a name of its own.
        self._cookie = f"comity-{hashlib.sha256(token.encode()).hexdigest()[:12]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuses, or passes the request on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        reply = self._refusal(scope)
        if reply is not None:
            await reply(scope, receive, with_headers(send))
            return
        await self._app(scope, limited(receive), with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host_name(host) not in self._hosts:
            return PlainTextResponse("This name is not one under which the server was started.", 421)
        origin = headers.get("origin")
        if origin is not None and not same_host(origin, host):
            return PlainTextResponse("Requests from other pages are refused.", 403)
        foreign = headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
        if foreign and (scope["method"] != "GET" or scope["path"] != "/"):  # a link to "/" may be followed
            return PlainTextResponse("Requests from other pages are refused.", 403)
        if len(scope["query_string"]) > LONGEST_QUERY:
            return PlainTextResponse("The address is too long.", 414)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:12]) > LARGEST_BODY:
            return PlainTextResponse(f"A body has at most {LARGEST_BODY} bytes.", 413)
        return self._without_token(scope, headers)

    def _without_token(self, scope: Scope, headers: Headers) -> Response | None:
        """What is said to a request that has no token, or has one in its address."""
        safe = scope["method"] in ("GET", "HEAD")
        if safe and scope["path"] == "/":
            given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
            if self._is_token(given):
                reply = RedirectResponse("/", 303)
                reply.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/")
                return reply
        if self.has_token(headers):
            return None
        if self._open and (safe or scope["path"] in FREE_POSTS):
            return None
        return PlainTextResponse("Open the address that the terminal printed: it has the token.", 401)

    def has_token(self, headers: Headers) -> bool:
        """Whether a request has the token, in its cookie or as `Authorization: Bearer`."""
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        cookie = cookie_parser(headers.get("cookie", "")).get(self._cookie, "")
        return self._is_token(cookie) or self._is_token(bearer)

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode())


def host_name(host: str) -> str:
    """The name in a Host header, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.rpartition(":")[0].lower() if host.count(":") == 1 else host.lower()


def same_host(origin: str, host: str) -> bool:
    """Whether an Origin header is that of a page of this very server."""
    try:
        return urlsplit(origin).netloc.lower() == host.lower() != ""
    except ValueError:
        return False


def limited(receive: Receive) -> Receive:
    """Receives a body as long as it is not too large."""
    taken = 0

    async def inner() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > LARGEST_BODY:
            raise TooLargeError
        return message

    return inner


def with_headers(send: Send) -> Send:
    """Sends with the headers that every reply has."""

    async def inner(message: Message) -> None:
        if message["type"] == "http.response.start":
            found = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                found.setdefault(name, value)
        await send(message)

    return inner
