"""Array files: whole or refused, with a sentence that says what is wrong; JSON files likewise."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

from comity.core.errors import ComityError
from comity.core.files import (
    FORMAT_VERSION,
    fill,
    load_arrays,
    named_arrays,
    read_json,
    save_arrays,
    write_atomically,
    write_json,
)
from comity.testing.contracts import assert_trees_equal

KIND = "comity-player"
ABOUT = {"agent": "a2c", "seat": 0}


def tree() -> dict[str, Any]:
    return {
        "weights": (jnp.arange(6, dtype=jnp.float32).reshape(2, 3), jnp.asarray([-1, 7], jnp.int32)),
        "flag": jnp.bool_(True),
        "key": jax.random.split(jax.random.key(3), 2),
        "empty": jnp.zeros((0, 4)),
    }


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "deep" / "player.safetensors"
    save_arrays(path, KIND, ABOUT, tree())
    return path


def header(content: bytes) -> dict[str, Any]:
    length = int.from_bytes(content[:8], "little")
    found: dict[str, Any] = json.loads(content[8 : 8 + length])
    return found


def rewrite(path: Path, **metadata: str) -> None:
    """The same arrays with other metadata."""
    content = path.read_bytes()
    arrays = safetensors.numpy.load(content)
    path.write_bytes(safetensors.numpy.save(arrays, {**header(content)["__metadata__"], **metadata}))


def test_round_trip_with_random_keys(saved: Path) -> None:
    content = load_arrays(saved, KIND)
    assert content.about == ABOUT
    template = jax.eval_shape(tree)
    loaded = fill(template, content.arrays, str(saved))
    assert_trees_equal(loaded, tree(), "what was saved is what is loaded")
    assert jax.tree.map(lambda x: x.dtype, loaded) == jax.tree.map(lambda x: x.dtype, tree())
    draw, expected = (jax.random.uniform(t["key"][1], (3,)) for t in (loaded, tree()))
    assert np.array_equal(draw, expected)


def test_a_single_array_has_a_name() -> None:
    assert list(named_arrays(jnp.zeros(2))) == ["value"]


def test_equal_content_gives_equal_bytes(saved: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.safetensors"
    about: Mapping[str, Any] = dict(reversed(ABOUT.items()))
    save_arrays(other, KIND, about, dict(reversed(tree().items())))
    assert other.read_bytes() == saved.read_bytes()


def test_no_temporary_file_is_left(saved: Path) -> None:
    save_arrays(saved, KIND, ABOUT, tree())
    assert [path.name for path in saved.parent.iterdir()] == ["player.safetensors"]


def test_what_cannot_be_written_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "a-folder"
    folder.mkdir()
    with pytest.raises(ComityError, match=r"a-folder cannot be written: Is a directory"):
        write_atomically(folder, b"x")
    (tmp_path / "a-file").write_text("x")
    with pytest.raises(ComityError, match="cannot be written"):
        write_atomically(tmp_path / "a-file" / "inside.json", b"x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a-file", "a-folder"]


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ComityError, match=r"nothing\.safetensors does not exist"):
        load_arrays(tmp_path / "nothing.safetensors", KIND)
    with pytest.raises(ComityError, match="cannot be read"):
        load_arrays(tmp_path, KIND)


@pytest.mark.parametrize(
    "content",
    [b"", b"short", b"PK\x03\x04 a zip file of some kind", b'{"a": "JSON file, not a player"}', b"\0" * 100],
)
def test_not_a_comity_file(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "some.file"
    path.write_bytes(content)
    with pytest.raises(ComityError, match=r"some\.file is not a Comity file"):
        load_arrays(path, KIND)


def test_a_safetensors_file_of_another_program(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(safetensors.numpy.save({"x": np.zeros(3)}))
    with pytest.raises(ComityError, match="not a Comity file, though it is in the safetensors format"):
        load_arrays(path, KIND)
    length = len(text := b'{"__metadata__": {"format": 5}}')
    path.write_bytes(length.to_bytes(8, "little") + text)
    with pytest.raises(ComityError, match="not a Comity file"):
        load_arrays(path, KIND)


def test_the_wrong_kind(saved: Path) -> None:
    with pytest.raises(ComityError, match="is a comity-player file, and a comity-checkpoint file is needed"):
        load_arrays(saved, "comity-checkpoint")


@pytest.mark.parametrize("version", [str(FORMAT_VERSION + 1), "99", "next"])
def test_a_newer_version(version: str, saved: Path) -> None:
    rewrite(saved, version=version)
    with pytest.raises(ComityError, match=rf"newer Comity \(format {version}.*upgrade"):
        load_arrays(saved, KIND)


def test_cut_short_anywhere(saved: Path) -> None:
    content = saved.read_bytes()
    length = int.from_bytes(content[:8], "little")
    for size in range(len(content)):
        saved.write_bytes(content[:size])
        expected = "not a Comity file" if size < 9 else "cut short"
        with pytest.raises(ComityError, match=expected):
            load_arrays(saved, KIND)
    assert length < len(content)


def test_any_flipped_byte_is_found(saved: Path) -> None:
    """Whatever byte is damaged, the file is refused or its content is unharmed."""
    content = saved.read_bytes()
    sound = load_arrays(saved, KIND)
    accepted = 0
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 0x01
        saved.write_bytes(bytes(damaged))
        try:
            found = load_arrays(saved, KIND)
        except ComityError:
            continue
        accepted += 1
        assert found.about == sound.about
        assert found.arrays.keys() == sound.arrays.keys()
        assert all(np.array_equal(found.arrays[name], sound.arrays[name]) for name in sound.arrays)
    # What may pass: the name of the second checksum, which older files lack, and version 1 as 0.
    assert accepted <= len("about_sha256") + 1


@pytest.mark.parametrize("place", [-1, -20])
def test_a_flipped_byte_in_an_array_fails_the_checksum(place: int, saved: Path) -> None:
    content = bytearray(saved.read_bytes())
    content[place] ^= 0x10
    saved.write_bytes(bytes(content))
    with pytest.raises(ComityError, match="damaged: its content does not match its checksum"):
        load_arrays(saved, KIND)


def test_changed_notes_fail_the_checksum(saved: Path) -> None:
    rewrite(saved, about='{"agent": "ppo", "seat": 0}')
    with pytest.raises(ComityError, match="does not match its checksum"):
        load_arrays(saved, KIND)


def test_arrays_that_do_not_fit() -> None:
    template = {"a": jnp.zeros((2, 3)), "b": jnp.zeros(1)}
    a, b = np.zeros((2, 3), np.float32), np.zeros(1, np.float32)
    with pytest.raises(ComityError, match=r"my file does not fit: missing \['b'\], not expected \[\]"):
        fill(template, {"a": a}, "my file")
    with pytest.raises(ComityError, match=r"missing \[\], not expected \['c'\]"):
        fill(template, {"a": a, "b": b, "c": b}, "my file")
    with pytest.raises(ComityError, match=r"a is float32\[3, 2\] where float32\[2, 3\] is needed"):
        fill(template, {"a": a.T, "b": b}, "my file")
    with pytest.raises(ComityError, match=r"b is int32\[1\] where float32\[1\] is needed"):
        fill(template, {"a": a, "b": b.astype(np.int32)}, "my file")


def test_json(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    write_json(path, {"a": [1, 2.5, None]})
    assert read_json(path, "notes") == {"a": [1, 2.5, None]}
    path.write_text('{"a": [1, ')
    with pytest.raises(ComityError, match=r"notes\.json cannot be read as notes: .*line 1"):
        read_json(path, "notes")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ComityError, match="cannot be read as notes"):
        read_json(path, "notes")
    with pytest.raises(ComityError, match="does not exist; it should be notes"):
        read_json(tmp_path / "nothing.json", "notes")
