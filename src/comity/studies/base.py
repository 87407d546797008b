"""What a study is: it runs, says what came out in a few lines, and writes a page about it.

A study is one file and one row of the table in `registry`, or, outside the package, a class that
`comity reproduce MODULE:CLASS` names or an entry point of the group `comity.studies`.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from comity.core.errors import ComityError, require, unknown_name
from comity.core.files import read_json, write_atomically
from comity.report import html, sections
from comity.studies.progress import Progress, silent
from comity.studies.training import versions

RESULTS = Path(__file__).parent / "results"  # the committed results, which ship with the package

Results = dict[str, Any]  # plain JSON data


class Table(NamedTuple):
    """A table for the terminal and for a page; the first `left` columns are text, the others numbers."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int | None = None  # None: all columns are text

    def html(self) -> str:
        """The table for a page."""
        return html.table(self.headings, self.rows)


@dataclass(frozen=True)
class Study(ABC):
    """A published result and how Comity comes to its own.

    The fields of a subclass (a frozen dataclass) are its settings, and flags of the command line. Data move
    one way: `run` gives results as plain JSON data, and both `summary` and `page` read nothing but these and
    what `run` left in its folder or in the zoo.
    """

    name: ClassVar[str]  # on the command line
    title: ClassVar[str]  # of the page
    note: ClassVar[str]  # what a reader of the numbers must know: sources, conventions
    needs: ClassVar[str]  # what training costs
    committed: ClassVar[Path | None] = None  # the file of the committed results

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if field.name in ("seeds", "episodes"):
                value = getattr(self, field.name)
                require(value >= 1, field.name, value, "at least 1")

    @abstractmethod
    def run(self, out: Path, from_committed: bool = False, progress: Progress = silent) -> Results:
        """Trains what is missing in `out`, or takes what is committed, and measures.

        A study whose players are in the zoo measures these again; any other one gives its committed results.
        """

    @abstractmethod
    def summary(self, results: Results) -> list[Table | str]:
        """What came out, as tables and sentences."""

    @abstractmethod
    def page(self, results: Results, out: Path) -> Path:
        """Writes the page about the results, and pictures beside it, into a folder."""

    def passed(self, results: Results) -> bool:
        """Whether the command succeeded; a bar that is missed is a result, not a failure."""
        return True

    def command(self, from_committed: bool = False) -> str:
        """What to type to repeat it."""
        given = [
            f"--{field.name.replace('_', '-')} {getattr(self, field.name)}"
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        ]
        flags = given + ["--from-committed"] * from_committed
        return " ".join(["comity reproduce", self.name, *flags])

    def about(self, from_committed: bool = False) -> Results:
        """What all results begin with: the study, its settings, how to repeat it, versions."""
        return {
            "study": self.name,
            "command": self.command(from_committed),
            **dataclasses.asdict(self),
            "from_committed": from_committed,
            "versions": versions(),
            "note": self.note,
        }

    def committed_results(self) -> Results:
        """The results that ship with the study."""
        if self.committed is None:
            raise ComityError(f"The study {self.name} has no committed results: run it to get them.")
        results = read_json(self.committed, f"the committed results of {self.name}")
        if not isinstance(results, dict):
            raise ComityError(f"{self.committed} is damaged: it should be an object.")
        return results

    def write_page(self, results: Results, out: Path, verdict: str, parts: Sequence[str]) -> Path:
        """Writes the parts as one page that begins with a verdict and ends with how to repeat it."""
        repeat = sections.repeat_section([results["command"]], results["versions"])
        path = out / "report.html"
        write_atomically(path, html.page(self.title, verdict, [*parts, repeat]).encode())
        return path


def chosen(only: str, known: Collection[str]) -> list[str]:
    """The names of a list separated by commas, all that are `known` if it is empty; unknown ones raise."""
    names = [name.strip() for name in only.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise unknown_name("variant", name, known)
    return names or list(known)
