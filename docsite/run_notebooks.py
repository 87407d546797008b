"""Runs the tutorials and keeps what they show: each NAME.py becomes NAME.ipynb beside it.

make notebooks                                     # all of them, in some minutes
.venv/bin/python -m docsite.run_notebooks NAME     # one of them
"""

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "docs" / "tutorials"
LONGEST = 900  # seconds a cell may take


def names() -> list[str]:
    """The tutorials."""
    return sorted(path.stem for path in PLACE.glob("*.py"))


def read(name: str) -> Any:
    """A tutorial as a notebook without outputs."""
    notebook = jupytext.read(PLACE / f"{name}.py")
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
    return notebook


def run(notebook: Any, settings: Mapping[str, int] | None = None) -> Any:
    """Runs all cells in an empty folder, with other values of the parameters where `settings` gives them."""
    for cell in notebook.cells if settings else ():
        if "parameters" in cell["metadata"].get("tags", ()):
            cell["source"] += "".join(f"\n{name} = {value}" for name, value in (settings or {}).items())
    with tempfile.TemporaryDirectory() as folder:
        found = os.environ.get("PYTHONPATH", "")
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *filter(None, [found])]),
        }
        client = NotebookClient(notebook, timeout=LONGEST, kernel_name="python3")
        client.execute(cwd=folder, env=environment)
    return notebook


def clean(notebook: Any) -> Any:
    """The notebook without what differs from run to run: times, counts, warnings about the machine."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "jupytext": {"formats": "ipynb,py:percent"},
    }
    for cell in notebook.cells:
        cell["metadata"].pop("execution", None)
        if cell["cell_type"] == "code":
            cell["execution_count"] = None
            cell["outputs"] = [own for own in cell["outputs"] if own.get("name") != "stderr"]
            for output in cell["outputs"]:
                if "execution_count" in output:
                    output["execution_count"] = None
    return notebook


def main() -> None:
    """Runs the named tutorials, or all."""
    failed = 0
    for name in sys.argv[1:] or names():
        notebook = read(name)
        try:
            run(notebook)
        except Exception as error:
            print(f"{name}: {error}", flush=True)
            failed += 1
            continue
        (PLACE / f"{name}.ipynb").write_text(str(nbformat.writes(clean(notebook))) + "\n", encoding="utf-8")  # type: ignore[no-untyped-call]
        print(f"{name}: {sum(len(own.get('outputs', ())) for own in notebook.cells)} outputs", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
