"""The package as its source says: modules, classes, functions and fields with what is said of each."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "comity"


class Field(NamedTuple):
    """A field of a class: its type and default as they are written, and its comment."""

    name: str
    kind: str
    default: str
    comment: str


class Function(NamedTuple):
    """A function or method; `signature` is what stands between its name and the colon."""

    name: str
    signature: str
    doc: str
    kind: str  # function, method, property, class method, static method


class Class(NamedTuple):
    """A class with what it declares itself."""

    name: str
    bases: tuple[str, ...]
    doc: str
    fields: tuple[Field, ...]
    methods: tuple[Function, ...]


class Module(NamedTuple):
    """A module and its public names, in the order of the file."""

    name: str
    path: Path
    doc: str
    members: tuple[Class | Function, ...]


@cache
def modules() -> tuple[Module, ...]:
    """All public modules of the package."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return tuple(read_module(path) for path in paths if "__main__" not in path.stem)


@cache
def read_module(path: Path) -> Module:
    """A file as a module."""
    text = path.read_text(encoding="utf-8")
    tree, lines = ast.parse(text), text.splitlines()
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return Module(name, path, ast.get_docstring(tree) or "", tuple(_members(tree, lines)))


def _members(tree: ast.Module, lines: list[str]) -> Iterator[Class | Function]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield _class(node, lines)
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield _function(node, "function")


def _class(node: ast.ClassDef, lines: list[str]) -> Class:
    methods = [
        _function(item, _kind(item))
        for item in node.body
        if isinstance(item, ast.FunctionDef) and not item.name.startswith("_")
    ]
    call = [
        _function(item, "method")
        for item in node.body
        if isinstance(item, ast.FunctionDef) and item.name == "__call__"
    ]
    bases = tuple(ast.unparse(base) for base in node.bases)
    doc = ast.get_docstring(node) or ""
    return Class(node.name, bases, doc, tuple(_fields(node, lines)), (*call, *methods))


def _kind(node: ast.FunctionDef) -> str:
    names = {"property": "property", "classmethod": "class method", "staticmethod": "static method"}
    return next((names[d] for d in map(ast.unparse, node.decorator_list) if d in names), "method")


def _function(node: ast.FunctionDef, kind: str) -> Function:
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    arguments = ast.unparse(node.args)
    if kind in ("method", "property", "class method"):  # without self or cls
        arguments = arguments.partition(", ")[2] if ", " in arguments else ""
    return Function(node.name, f"({arguments}){returns}", ast.get_docstring(node) or "", kind)


def _fields(node: ast.ClassDef, lines: list[str]) -> Iterator[Field]:
    """Fields with their comments; what is said once for a group above it is said of its first field."""
    for item, after in zip(node.body, [*node.body[1:], None], strict=True):
        if not isinstance(item, ast.AnnAssign) or not isinstance(item.target, ast.Name):
            continue
        kind = ast.unparse(item.annotation)
        if item.target.id.startswith("_") or "ClassVar" in kind:
            continue
        default = "" if item.value is None else ast.unparse(item.value)
        yield Field(item.target.id, kind, default, _text_below(after) or _comment(item, lines))


def _text_below(node: ast.stmt | None) -> str:
    if (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ):
        return " ".join(node.value.value.split())
    return ""


def _comment(node: ast.AnnAssign, lines: list[str]) -> str:
    """The comment behind a field, or the ones above it."""
    end = node.end_lineno or node.lineno
    behind = lines[end - 1].encode()[node.end_col_offset or 0 :].decode().partition("#")[2].strip()
    if behind:
        return behind
    above: list[str] = []
    for line in reversed(lines[: node.lineno - 1]):
        if not line.strip().startswith("#"):
            break
        above.insert(0, line.strip("# "))
    return " ".join(above)


def comments(cls: type) -> dict[str, str]:
    """What is said of each field of a class, its bases' fields included."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if not base.__module__.startswith("comity"):
            continue
        path = PACKAGE.parent / Path(*base.__module__.split("."))
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        for member in read_module(file).members if file.exists() else ():
            if isinstance(member, Class) and member.name == base.__name__:
                found |= {field.name: field.comment for field in member.fields if field.comment}
    return found
