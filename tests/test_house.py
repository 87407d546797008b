"""How the house is kept: small files, few settings a class, nothing written twice, everything documented."""

import ast
import statistics
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import comity

SOURCE = Path(comity.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
LONGEST, MEDIAN, MOST_SETTINGS, SAME_LINES = 350, 110, 12, 4
# Records that pass data on, not settings that a user chooses.
RECORDS = {"TeamBatch", "League"}
# A strategy is told the payoffs of the game that it plays, since agents do not import games.
TOLD_PAYOFFS = {"memory.Extortioner", "prisoners_dilemma.PrisonersDilemma"}


def classes(tree: ast.Module) -> Iterator[ast.ClassDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def fields(cls: ast.ClassDef) -> list[str]:
    """The lines of the settings that a class declares itself."""
    return [
        ast.unparse(node)
        for node in cls.body
        if isinstance(node, ast.AnnAssign)
        and "ClassVar" not in ast.unparse(node.annotation)
        and "AbstractVar" not in ast.unparse(node.annotation)
    ]


def is_record(cls: ast.ClassDef) -> bool:
    return cls.name in RECORDS or any("NamedTuple" in ast.unparse(base) for base in cls.bases)


def test_no_file_is_long_and_most_are_short() -> None:
    lengths = {path.relative_to(SOURCE): len(path.read_text().splitlines()) for path in FILES}
    assert {path: n for path, n in lengths.items() if n > LONGEST} == {}
    assert statistics.median(lengths.values()) <= MEDIAN


def test_no_class_has_many_settings_of_its_own() -> None:
    many = {
        f"{path.relative_to(SOURCE)}: {cls.name}": len(fields(cls))
        for path in FILES
        for cls in classes(ast.parse(path.read_text()))
        if not is_record(cls) and len(fields(cls)) > MOST_SETTINGS
    }
    assert many == {}


def test_no_block_of_settings_stands_twice() -> None:
    """Some lines of settings in a row, alike to the letter, in two classes."""
    places = defaultdict(set)
    for path in FILES:
        for cls in classes(ast.parse(path.read_text())):
            own = [] if is_record(cls) else fields(cls)
            for start in range(len(own) - SAME_LINES + 1):
                places["; ".join(own[start : start + SAME_LINES])].add(f"{path.stem}.{cls.name}")
    twice = {block: names for block, names in places.items() if len(names) > 1 and names != TOLD_PAYOFFS}
    assert twice == {}


def test_every_public_name_is_documented() -> None:
    missing = []
    for path in FILES:
        tree = ast.parse(path.read_text())
        if not ast.get_docstring(tree) and path.name != "__init__.py":
            missing.append(str(path.relative_to(SOURCE)))
        for node in tree.body:
            public = isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")
            if public and not ast.get_docstring(node):  # type: ignore[arg-type]
                missing.append(f"{path.relative_to(SOURCE)}: {node.name}")  # type: ignore[attr-defined]
    assert missing == []
