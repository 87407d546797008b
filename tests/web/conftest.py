"""An application over a folder, for the tests of its requests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="comity ui needs the extra ui")
from starlette.testclient import TestClient

from comity.web.app import make_app
from comity.web.rooms import Rooms
from tests.web.folder import make_folder

TOKEN = "a token for tests"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("web") / "runs")


@pytest.fixture(scope="module")
def client(root: Path) -> Iterator[TestClient]:
    """Somebody at this machine without the token."""
    with TestClient(make_app(root, TOKEN, ["testserver"]), raise_server_exceptions=False) as found:
        yield found


@pytest.fixture(scope="module")
def owner(root: Path) -> Iterator[TestClient]:
    """Somebody with the token."""
    app = make_app(root, TOKEN, ["testserver"])
    assert app.state is not None
    app.state.rooms = Rooms(0.0)  # nobody waits in tests
    bearer = {"authorization": f"Bearer {TOKEN}"}
    with TestClient(app, headers=bearer, raise_server_exceptions=False) as found:
        yield found
