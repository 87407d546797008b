"""Importing Comity costs little more than importing what it stands on."""

import subprocess
import sys

import pytest

BASE = "import jax, equinox, optax"
EVERYTHING = "import comity; [getattr(comity, name) for name in comity.__all__]"


def seconds(statement: str) -> float:
    """The best of three tries, each in a process of its own; processor time, since others use the cores."""
    code = f"{statement}\nimport time; print(time.process_time())"
    tries = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True) for _ in range(3)]
    assert all(done.returncode == 0 for done in tries), tries[0].stderr
    return min(float(done.stdout) for done in tries)


@pytest.fixture(scope="module")
def base() -> float:
    return seconds(BASE)


def test_importing_comity_is_quick(base: float) -> None:
    assert seconds("import comity") < 1.5 * base


def test_using_everything_public_is_quick(base: float) -> None:
    assert seconds(EVERYTHING) < 1.5 * base


def test_importing_comity_loads_no_heavy_library() -> None:
    code = (
        "import sys, comity; print([m for m in ('jax', 'matplotlib', 'tyro', 'scipy') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("command", ["games", "agents", "zoo", "completion bash", "--help"])
def test_lists_load_no_heavy_library(command: str) -> None:
    code = (
        "import sys; from comity.cli import run; run(sys.argv[1:]);"
        "print([m for m in ('jax', 'equinox', 'matplotlib', 'scipy', 'numpy') if m in sys.modules])"
    )
    command_line = [sys.executable, "-c", code, *command.split()]
    found = subprocess.run(command_line, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "[]"
