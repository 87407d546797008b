"""The import rule: data flows one way, and so do imports."""

import ast
from pathlib import Path

import comity

SOURCE = Path(comity.__file__).parent

ALLOWED = {
    "core": set(),
    "returns": {"core"},
    "nets": {"core"},
    "games": {"core", "returns"},
    "agents": {"core", "returns", "nets"},
    "bridges": {"core"},
    "play": {"core", "bridges", "games", "agents"},
    "train": {"core", "bridges", "play", "agents", "games"},
    "theory": {"core"},
    "evaluate": {"core", "games", "agents", "play", "theory"},
    "report": {"core", "evaluate", "theory"},
    "testing": {"core", "games", "agents", "play"},
}


def imports(path: Path) -> set[str]:
    """The parts of Comity that a file imports, at any depth."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] + [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if name.startswith("comity."):
                found.add(name.split(".")[1])
    return found


def test_imports_follow_the_rule() -> None:
    broken = []
    for part, allowed in ALLOWED.items():
        for path in (SOURCE / part).rglob("*.py"):
            wrong = imports(path) - allowed - {part}
            broken += [f"{path.relative_to(SOURCE)} imports {other}" for other in sorted(wrong)]
    assert broken == []


def test_every_part_has_a_rule() -> None:
    parts = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert parts - {"cli"} <= set(ALLOWED)


def test_nothing_loads_code_from_files() -> None:
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
                assert not {"pickle", "dill", "cloudpickle", "marshal", "shelve"} & set(names), path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"eval", "exec", "compile"}, path
