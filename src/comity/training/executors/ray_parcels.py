"""What workers send, looked at before it is believed, and put into the run folder."""

import hashlib
import json
import math
from collections.abc import Mapping

import numpy as np
import safetensors.numpy

from comity.core.files import write_atomically
from comity.training.executors.ray_worker import Parcel
from comity.training.folder import RunFolder
from comity.training.lock import this_process


def fault_in(parcel: Parcel) -> str | None:
    """Why a parcel is not what a sound worker sends, if it is not."""
    if any(parcel.digests.get(name) != _digest(content) for name, content in parcel.files.items()):
        return "what it sent was damaged on the way"
    reports = [line for line in parcel.lines if not _is_finite(line)]
    logged = parcel.files.get("metrics.jsonl", b"").decode(errors="replace").rpartition("\n")[0].splitlines()
    if reports or not all(map(_is_finite, logged)):
        return "it returned numbers that are not finite"
    for name, content in parcel.files.items():
        if name.startswith("players/") and name.endswith(".safetensors") and not _has_numbers(content):
            return f"it returned {name} with numbers that are not finite"
    return None


def store(folder: RunFolder, files: Mapping[str, bytes], keep: int) -> None:
    """Writes what a worker sent, checkpoints last, so that a kill in between leaves a run that can go on."""
    for name in sorted(files, key=lambda name: name.startswith("checkpoints/")):
        target = (folder.path / name).resolve()
        if folder.path.resolve() in target.parents:
            write_atomically(target, files[name])
    if "run.json" in files:
        folder.add_metadata(process=this_process())
    for old in folder.checkpoints()[:-keep]:
        old.unlink(missing_ok=True)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _is_finite(line: str) -> bool:
    """Whether all numbers in a JSON line are finite; a line that is no JSON is none that was written."""
    found = True

    def refuse(constant: str) -> float:
        nonlocal found
        found = False
        return math.nan

    try:
        json.loads(line, parse_constant=refuse)
    except ValueError:
        return False
    return found


def _has_numbers(content: bytes) -> bool:
    try:
        arrays = safetensors.numpy.load(content)
    except safetensors.SafetensorError:
        return False
    numbers = (array for array in arrays.values() if np.issubdtype(array.dtype, np.floating))
    return all(bool(np.isfinite(array).all()) for array in numbers)
