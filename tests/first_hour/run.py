"""The first hour: a wheel in an empty environment, and what a newcomer types, outside the checkout.

Usage: python tests/first_hour/run.py [PYTHON ...]

For each interpreter (by default this one): builds the wheel, installs it in a new virtual environment, and
runs commands.txt and the cells of cells.txt from top to bottom in an empty folder; what is about trained runs
and what is not go side by side. Every line must end with exit code 0 and show no traceback.
"""

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EXTRAS = "pettingzoo"
LONGEST = 600  # seconds a line may take
NOTEBOOK = "python notebook.py"


def built_wheel(folder: Path) -> Path:
    """The wheel of this checkout."""
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(build, check=True)
    return next(folder.glob("comity-*.whl"))


def installed(python: str, wheel: Path, folder: Path) -> Path:
    """The folder of commands of a new environment with the wheel."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    install = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "-c", str(ROOT / "constraints.txt"), f"{wheel}[{EXTRAS}]"], check=True)
    return folder / "bin"


def lines() -> list[str]:
    """The commands, and the notebook as one more."""
    typed = (HERE / "commands.txt").read_text().splitlines()
    return [line for line in typed if line and not line.startswith("#")]


def cells() -> str:
    """The cells as one program that shows what a notebook would: the last value of each cell."""
    program = ["import ast", "scope = {'__name__': '__main__'}"]
    for cell in (HERE / "cells.txt").read_text().split("# %%\n")[1:]:
        program += [f"source = {cell!r}", "tree = ast.parse(source)", "shown = None"]
        program += ["if isinstance(tree.body[-1], ast.Expr): shown = ast.Expression(tree.body.pop().value)"]
        program += ["exec(compile(tree, 'cell', 'exec'), scope)"]
        program += ["if shown: print(repr(eval(compile(shown, 'cell', 'eval'), scope))[:500])"]
    return "\n".join(program)


def streams(typed: list[str]) -> list[list[str]]:
    """Lines that are about what was trained, and the others: each in its order, both at once on two cores."""
    about_runs = [line for line in typed if "runs/" in line or "league.json" in line]
    return [about_runs, [line for line in typed if line not in about_runs]]


def follow(commands: Path, folder: Path) -> list[str]:
    """Runs everything and returns the lines that failed."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COMITY", "JAX"))
    }
    environment |= {
        "PATH": f"{commands}{os.pathsep}{environment['PATH']}",
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    (folder / "notebook.py").write_text(cells())

    def passes(line: str) -> bool:
        begun = time.monotonic()
        typed = ["bash", "-o", "pipefail", "-c", line]
        done = subprocess.run(
            typed, cwd=folder, env=environment, capture_output=True, text=True, timeout=LONGEST
        )
        wrong = done.returncode != 0 or "Traceback" in done.stdout + done.stderr
        shown = f"{'FAILED' if wrong else 'ok':7s}{time.monotonic() - begun:6.1f} s  {line}"
        if wrong:
            shown += f"\nexit code {done.returncode}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}"
        print(shown, flush=True)
        return not wrong

    both = streams([*lines(), NOTEBOOK])
    with ThreadPoolExecutor(len(both)) as pool:
        failed = pool.map(lambda stream: [line for line in stream if not passes(line)], both)
    return [line for stream in failed for line in stream]


def main() -> None:
    """Follows the script with every interpreter that is given."""
    passed = failures = 0
    with tempfile.TemporaryDirectory() as place:
        wheel = built_wheel(Path(place))
        size = wheel.stat().st_size / 1e6
        print(f"{wheel.name}: {size:.1f} MB", flush=True)
        for number, python in enumerate(sys.argv[1:] or [sys.executable]):
            print(f"== {python}", flush=True)
            folder = Path(place) / f"user-{number}"
            folder.mkdir()
            failed = follow(installed(python, wheel, Path(place) / f"environment-{number}"), folder)
            failures += len(failed)
            passed += len(lines()) + 1 - len(failed)
    print(f"{passed} passed, {failures} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
