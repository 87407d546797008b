"""A small service around an exported player: the standard library, NumPy, and the file itself.

    comity export zoo:coin/adalign/0 --out coin.pyz
    python examples/serve.py coin.pyz --port 8000

    curl localhost:8000/                                        # what the player sees and does
    curl localhost:8000/act -d '{"session": "a", "obs": ...}'   # {"action": 2}
    curl localhost:8000/reset -d '{"session": "a"}'             # a new episode

`"deterministic": true` does what is most likely instead of drawing. Each session has a memory of its own; the
one that was not used for the longest time is forgotten when there are too many. It listens on
this machine alone unless --host says otherwise.
"""

import argparse
import json
import signal
import sys
import threading
from collections import OrderedDict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MOST_SESSIONS = 1000
LARGEST_REQUEST = 1_000_000  # bytes


class Sessions:
    """Players by the name of their session, the one used last at the end."""

    def __init__(self, player: Any) -> None:
        self._player = player
        self._open: OrderedDict[str, Any] = OrderedDict()
        self._lock = threading.Lock()
        self._seeds = 0

    def act(self, session: str, obs: Any, deterministic: bool) -> Any:
        """What the session's player does."""
        with self._lock:
            if session not in self._open:
                self._seeds += 1
                self._open[session] = self._player.copy(seed=self._seeds)
            self._open.move_to_end(session)
            if len(self._open) > MOST_SESSIONS:
                self._open.popitem(last=False)
            return self._open[session].act(obs, deterministic)

    def reset(self, session: str) -> None:
        """A new episode for a session."""
        with self._lock:
            if session in self._open:
                self._open[session].reset()


def make_server(path: str, host: str, port: int) -> ThreadingHTTPServer:
    """The server for the player of an exported file."""
    sys.path.insert(0, path)
    import comity_player  # type: ignore[import-not-found]  # from the file itself

    player = comity_player.load(path)
    sessions = Sessions(player)

    class Handler(BaseHTTPRequestHandler):
        """Answers in JSON; what is wrong with a request is said in one sentence."""

        def do_GET(self) -> None:
            """What the player is."""
            if self.path == "/":
                self._answer(200, player.about)
            else:
                self._answer(404, {"error": "There are GET /, POST /act and POST /reset."})

        def do_POST(self) -> None:
            """An action, or a new episode."""
            try:
                request = self._request()
                session = request.get("session", "")
                if not isinstance(session, str) or len(session) > 200:
                    raise ValueError("session must be a text of at most 200 characters.")
                if self.path == "/act":
                    action = sessions.act(session, request.get("obs"), request.get("deterministic") is True)
                    self._answer(200, {"action": comity_player.as_json(action)})
                elif self.path == "/reset":
                    sessions.reset(session)
                    self._answer(200, {})
                else:
                    self._answer(404, {"error": "There are GET /, POST /act and POST /reset."})
            except ValueError as error:
                self._answer(400, {"error": str(error)})

        def _request(self) -> dict[str, Any]:
            length = self.headers.get("Content-Length", "")
            if not length.isdecimal() or int(length) > LARGEST_REQUEST:
                self.close_connection = True
                raise ValueError(f"A request needs a Content-Length of at most {LARGEST_REQUEST} bytes.")
            request = json.loads(self.rfile.read(int(length)))
            if not isinstance(request, dict):
                raise ValueError("A request is a JSON object.")
            return request

        def _answer(self, code: int, data: Any) -> None:
            content = json.dumps(data).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Nothing: whoever wants a log writes it here."""

    return ThreadingHTTPServer((host, port), Handler)


def main() -> None:
    """Serves until Ctrl-C or a request of the system to end."""
    parser = argparse.ArgumentParser(description="Serves an exported player over HTTP.")
    parser.add_argument("player", help="the file that `comity export` wrote")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    parser.add_argument("--port", type=int, default=8000, help="the port; 0 chooses a free one")
    given = parser.parse_args()
    server = make_server(given.player, given.host, given.port)
    host, port = server.server_address[:2]
    print(f"serving {given.player} on http://{host!s}:{port}/", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


if __name__ == "__main__":
    main()
