"""The tutorials run, show something, and their notebooks hold the same cells as their programs."""

import json
from typing import Any

import pytest

from tests.docs.pages import ROOT

pytest.importorskip("jupytext")
from docsite import notebooks, run_notebooks

NAMES = run_notebooks.names()
# Small settings, so that a run shows that all works and not what comes out.
SMALL: dict[str, dict[str, int]] = {
    "first_cooperator": {"ITERATIONS": 100, "EPISODES": 8},
    "league_game_theory": {"ITERATIONS": 5, "EPISODES": 8},
    "many_cores": {"ITERATIONS": 4, "SEEDS": 1},
    "naive_learners": {"ITERATIONS": 10, "EPISODES": 8},
    "pettingzoo_to_deployment": {"ITERATIONS": 2, "BATCH": 2},
    "your_game": {"ITERATIONS": 10, "EPISODES": 8},
}


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook["cells"] for output in cell.get("outputs", ())]


def test_there_are_six_tutorials() -> None:
    assert sorted(SMALL) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_and_its_program_have_the_same_cells(name: str) -> None:
    kept = json.loads((ROOT / "docs" / "tutorials" / f"{name}.ipynb").read_text())
    program = run_notebooks.read(name)
    assert ["".join(cell["source"]) for cell in kept["cells"]] == [cell["source"] for cell in program.cells]


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_becomes_a_page_and_keeps_no_errors(name: str) -> None:
    path = ROOT / "docs" / "tutorials" / f"{name}.ipynb"
    assert all(output["output_type"] != "error" for output in outputs(json.loads(path.read_text())))
    text = notebooks.page(path).text
    assert text.startswith("# ")
    assert text.count("```python") >= 5


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_tutorial_runs(name: str) -> None:
    done = run_notebooks.run(run_notebooks.read(name), SMALL[name])
    shown = outputs(done)
    assert [output["ename"] for output in shown if output["output_type"] == "error"] == []
    if name == "many_cores":  # it prints times
        assert any("processes: " in str(output.get("text", "")) for output in shown)
        return
    assert any("<table>" in str(output.get("data", {}).get("text/html", "")) for output in shown)
