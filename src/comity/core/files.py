"""Files that are never half-written and never executed: JSON, and arrays in the safetensors format.

An array file is a safetensors file whose metadata say what it is: `format` (what kind of Comity file),
`version` (of the format), `about` (JSON), `sha256` (of all arrays' names, types, shapes and bytes) and
`about_sha256` (of `about`). Nothing in it can run code.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy
from jaxtyping import PyTree

from comity.core.errors import ComityError

FORMAT_VERSION = 2  # of player and checkpoint files


class ArrayFile(NamedTuple):
    """What an array file holds."""

    about: dict[str, Any]
    arrays: dict[str, np.ndarray]


def write_atomically(path: Path, content: bytes) -> None:
    """Writes a file so that a reader, or a run killed at any moment, sees the old or the new one whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise ComityError(f"{path} cannot be written: {error.strerror}.") from None


def write_json(path: Path, data: Any) -> None:
    """Writes JSON for people and programs."""
    write_atomically(path, (json.dumps(data, indent=2, allow_nan=False) + "\n").encode())


def read_json(path: Path, what: str) -> Any:
    """Reads JSON, with an error that says which file it was and what was expected in it."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ComityError(f"{path} does not exist; it should be {what}.") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ComityError(f"{path} cannot be read as {what}: {error}.") from None
    except (ValueError, RecursionError):  # numbers of thousands of digits, or lists thousands deep
        raise ComityError(
            f"{path} cannot be read as {what}: it is nested too deeply or a number has too many digits."
        ) from None


def save_arrays(path: Path, kind: str, about: Mapping[str, Any], tree: PyTree) -> None:
    """Writes the arrays of a tree, with what they are about. Equal content gives equal bytes."""
    arrays = named_arrays(tree)
    text = json.dumps(about, sort_keys=True, allow_nan=False)
    metadata = {
        "format": kind,
        "version": str(FORMAT_VERSION),
        "about": text,
        "about_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "sha256": _digest(arrays),
    }
    write_atomically(path, _stable_header(safetensors.numpy.save(arrays, metadata)))


def load_arrays(path: Path, kind: str) -> ArrayFile:
    """Reads an array file of a kind; refuses, with the reason, whatever is not a whole one."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise ComityError(f"{path} does not exist.") from None
    except OSError as error:
        raise ComityError(f"{path} cannot be read: {error}.") from None
    metadata = _metadata(path, content)
    found = metadata.get("format", "")
    if not found.startswith("comity-"):
        raise ComityError(f"{path} is not a Comity file, though it is in the safetensors format.")
    if found != kind:
        raise ComityError(f"{path} is a {found} file, and a {kind} file is needed.")
    _check_version(path, metadata.get("version", ""))
    try:
        arrays = safetensors.numpy.load(content)
        about = json.loads(metadata["about"])
    except (safetensors.SafetensorError, KeyError, json.JSONDecodeError) as error:
        raise ComityError(f"{path} is damaged or cut short: {error}.") from None
    text = metadata["about"]
    sound = metadata.get("about_sha256") == hashlib.sha256(text.encode()).hexdigest()
    if metadata.get("sha256") != _digest(arrays) or not sound:
        raise ComityError(f"{path} is damaged: its content does not match its checksum.")
    return ArrayFile(about, arrays)


def named_arrays(tree: PyTree) -> dict[str, np.ndarray]:
    """The arrays of a tree by their path in it; random keys as the numbers behind them."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {_name(path): np.asarray(key_numbers(leaf)) for path, leaf in leaves}


def fill(template: PyTree, arrays: Mapping[str, np.ndarray], where: str) -> PyTree:
    """A tree like the template, with the arrays of a file; refuses arrays that do not fit."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(template)
    names = [_name(path) for path, _ in leaves]
    if set(names) != set(arrays):
        missing, surplus = sorted(set(names) - set(arrays)), sorted(set(arrays) - set(names))
        raise ComityError(f"{where} does not fit: missing {missing[:3]}, not expected {surplus[:3]}.")
    filled = []
    for name, (_, leaf) in zip(names, leaves, strict=True):
        wanted = jax.eval_shape(key_numbers, leaf)
        array = arrays[name]
        if array.shape != wanted.shape or array.dtype != wanted.dtype:
            raise ComityError(
                f"{where} does not fit: {name} is {array.dtype}{list(array.shape)} "
                f"where {wanted.dtype}{list(wanted.shape)} is needed."
            )
        is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        filled.append(jax.random.wrap_key_data(jnp.asarray(array)) if is_key else jnp.asarray(array))
    return jax.tree.unflatten(structure, filled)


def key_numbers(leaf: Any) -> Any:
    """An array as it is; of random keys, the numbers behind them."""
    array = jnp.asarray(leaf) if not hasattr(leaf, "dtype") else leaf
    return jax.random.key_data(array) if jnp.issubdtype(array.dtype, jax.dtypes.prng_key) else array


def _name(path: tuple[Any, ...]) -> str:
    return jax.tree_util.keystr(path, simple=True, separator="/") or "value"


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name}|{array.dtype}|{array.shape}|".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _check_version(path: Path, found: str) -> None:
    if not found.isdecimal() or int(found) > FORMAT_VERSION:
        raise ComityError(
            f"{path} was written by a newer Comity (format {found}, this one reads {FORMAT_VERSION}): "
            f"upgrade Comity to read it."
        )
    if int(found) != FORMAT_VERSION:
        raise ComityError(
            f"{path} was written by an older Comity (format {found}, this one reads {FORMAT_VERSION}): "
            f"use it with that Comity, or train it anew with this one."
        )


def _metadata(path: Path, content: bytes) -> dict[str, str]:
    """The metadata in a safetensors header: eight bytes of length, then JSON."""
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or content[8:9] != b"{" or length > 100_000_000:
        raise ComityError(f"{path} is not a Comity file.")
    if len(content) < 8 + length:
        raise ComityError(f"{path} is cut short.")
    try:
        header = json.loads(content[8 : 8 + length])
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise ComityError(f"{path} is not a Comity file, or it is damaged.") from None
    metadata = header.get("__metadata__", {}) if isinstance(header, dict) else {}
    is_text = isinstance(metadata, dict) and all(isinstance(value, str) for value in metadata.values())
    return metadata if is_text else {}


def _stable_header(content: bytes) -> bytes:
    """The same file with its header's keys in order, since the library does not fix their order."""
    length = int.from_bytes(content[:8], "little")
    header = json.dumps(json.loads(content[8 : 8 + length]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + content[8 + length :]
