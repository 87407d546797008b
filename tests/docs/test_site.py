"""The generated pages of the documentation: every public name, every setting, every committed result."""

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("latex2mathml")
from docsite import algorithms, gallery, markup, notebooks, reference, results, source

REFERENCE = reference.pages()


def test_every_public_name_is_in_the_reference() -> None:
    text = "\n".join(REFERENCE.values())
    anchors = set(re.findall(r"\{ #([\w.]+) \}", text))
    names = {f"{module.name}.{member.name}" for module in source.modules() for member in module.members}
    assert len(names) > 1000
    assert names <= anchors


def test_settings_stand_with_their_comments() -> None:
    text = algorithms.settings("adalign")
    assert "| `--agent.term.weight` | `2.0` |" in text or "| `--agent.term.weight` | `1.0` |" in text
    assert "beta, the weight of the term" in text
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| `--agent.")]
    assert len(rows) > 30
    assert [row[0] for row in rows if len(row[2].strip(" |")) < 3] == []


def test_every_algorithm_has_a_page_with_equation_settings_and_results() -> None:
    for name in algorithms.names():
        page = algorithms.page(name)
        assert page.startswith("# "), name
        for heading in ("## Settings", "## Measured", "## Code"):
            assert heading in page, (name, heading)
    written = {path.stem for path in algorithms.PAGES.glob("*.md")} - {"index"}
    assert written <= set(algorithms.names())
    for name in written:
        assert "$$" in algorithms.page(name), name
        assert "## What it assumes" in algorithms.page(name), name


def test_an_algorithm_without_a_page_of_its_own_has_what_its_source_says() -> None:
    text = algorithms.first_part("qmix")
    assert text.startswith("# qmix\n")
    assert "$$\nQ_{tot}(s, a) = f_s(Q_1, ..., Q_n)" in text
    assert ".. math::" not in text


def test_results_are_those_that_are_committed() -> None:
    committed = {path.stem for path in results.RESULTS.glob("*.json")}
    assert set(results.names()) == committed
    page = results.page("coin")
    claim = next(own for own in results.read("coin")["claims"] if own["label"] == "self-play")
    assert f"| {claim['mean']:.3f} |" in page
    assert "`comity reproduce coin --from-committed`" in page


def test_every_formula_has_mathml() -> None:
    pages = [*REFERENCE.values(), *map(algorithms.page, algorithms.names())]
    formulas = [
        own
        for page in pages
        for pair in re.findall(r"\$\$\n(.+?)\n\$\$|\$([^$\n`]+)\$", page)
        for own in pair
    ]
    assert len(formulas) > 100
    for formula in filter(None, formulas):
        written, failed = markup.mathml(f'<span class="arithmatex">\\({formula}\\)</span>')
        assert failed == [], formula
        assert written.startswith("<math"), formula
    assert markup.mathml('<span class="arithmatex">\\(\\unknown\\)</span>')[1] == ["\\unknown"]


def test_the_gallery_has_the_pictures_that_it_lists() -> None:
    listed = {picture.file for picture in gallery.pictures_of_all()}
    kept = {path.name for path in gallery.PLACE.iterdir()} - {gallery.LIST}
    assert kept == listed
    page = gallery.page()
    assert all(f"(gallery/{file})" in page for file in listed)


def test_outputs_of_notebooks_become_pictures_tables_and_text(tmp_path: Path) -> None:
    path = tmp_path / "small.ipynb"
    outputs = [
        {"output_type": "stream", "text": ["said"]},
        {
            "output_type": "execute_result",
            "data": {"text/html": ["<table>\n\n</table>"], "text/plain": ["1"]},
        },
        {"output_type": "display_data", "data": {"image/png": "aGk="}},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# Small\n", "Text."]},
        {"cell_type": "code", "source": ["1"], "outputs": outputs},
    ]
    path.write_text(json.dumps({"cells": cells}))
    page = notebooks.page(path)
    assert page.text.startswith("# Small\n")
    assert "```text\nsaid\n```" in page.text
    assert '<div class="shown">\n<table>\n</table>\n</div>' in page.text
    assert page.pictures == {"small-1-2.png": b"hi"}
