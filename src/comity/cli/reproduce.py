"""`comity reproduce STUDY`: looks a study up, runs it, prints what came out and writes its page."""

import dataclasses
import json
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table as RichTable

from comity.cli.parser import parse_arguments
from comity.core.errors import ComityError
from comity.core.files import write_json
from comity.studies.registry import STUDIES, study_class

USAGE = """usage: comity reproduce STUDY [--from-committed] [--out FOLDER] [options]

Published numbers and Comity's side by side. STUDY is one of these, or MODULE:CLASS for one of your own:
"""
AFTER = "\ncomity reproduce STUDY --help lists every setting of a study."
WIDTH = 160  # of tables where there is no terminal


@dataclass
class Settings:
    """Reproduces a study: prints published numbers and Comity's side by side, writes figures and a page."""

    from_committed: bool = False  # take the committed players, or else results, instead of training anew
    out: Path | None = None  # folder of runs, figures and page; by default reproduce/STUDY
    json: bool = False  # print the results as JSON instead of tables


def run(name: str, arguments: list[str]) -> int:
    """Runs a study; without one, lists what there is."""
    if not arguments or arguments[0].startswith("-"):
        rows = STUDIES.rows()
        width = 2 + max(len(row) for row in rows)
        print(USAGE + "\n".join(f"  {row:<{width}}{found.summary}" for row, found in rows.items()) + AFTER)
        return 0
    chosen, *rest = arguments
    settings, study = _parse(chosen, rest)
    out = settings.out or Path("reproduce") / study.name
    if out.exists() and not out.is_dir():
        raise ComityError(f"--out {out} is a file: a folder of runs, figures and the page would work.")
    results = study.run(out, settings.from_committed, _progress(settings.json))
    write_json(out / "results.json", results)
    page = study.page(results, out)
    code = 0 if study.passed(results) else 1
    if settings.json:
        print(json.dumps(results))
        return code
    for part in study.summary(results):
        if isinstance(part, str):
            print(part)
        else:
            _print(part)
    print(page)
    return code


def _parse(chosen: str, arguments: list[str]) -> tuple[Settings, Any]:
    """The settings together with those of this study."""
    cls = study_class(chosen)
    fields: list[tuple[str, Any, Any]] = [
        ("own", Annotated[Settings, tyro.conf.arg(name="")], field(default_factory=Settings))
    ]
    if dataclasses.fields(cls):
        fields.append(("study", Annotated[cls, tyro.conf.arg(name="")], field(default_factory=cls)))
    # A field, not a base class: the comments of a class made here would not be found for the help.
    together = dataclasses.make_dataclass("Together", fields)
    together.__doc__ = f"{cls.__doc__}\n\nTraining takes {cls.needs}."
    parsed: Any = parse_arguments(together, arguments, f"comity reproduce {chosen}")
    return parsed.own, getattr(parsed, "study", None) or cls()


def _progress(quiet: bool) -> Any:
    from comity.cli.progress import Progress

    return partial(Progress, quiet=quiet)


def _print(table: Any) -> None:
    shown = RichTable(title=table.title)
    for i, heading in enumerate(table.headings):
        text = table.left is None or i < table.left
        shown.add_column(heading, justify="left" if text else "right")
    for row in table.rows:
        shown.add_row(*row)
    Console(width=None if sys.stdout.isatty() else WIDTH).print(shown)
