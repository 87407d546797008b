"""One run in a process of its own: trains a run folder and prints a JSON line per report.

Used by `Processes` and `Ray`: python -m comity.training.executors.worker RUN_FOLDER OPTIONS_AS_JSON [watched]

One that is watched works on a copy of a run folder, in a folder of its own: when whoever started it is gone,
which closes its standard input, it removes that and ends.
"""

import json
import os
import shutil
import sys
import threading
from pathlib import Path

from comity.core.errors import ComityError
from comity.training.folder import RunFolder
from comity.training.options import Options
from comity.training.runner import run
from comity.training.sharding import make_devices
from comity.training.stopping import Stopped


def main() -> int:
    """Trains to the end; exit code 2 and a sentence on standard error if it cannot."""

    def report(iteration: int, metrics: dict[str, float]) -> None:
        print(json.dumps({"iteration": iteration, "metrics": metrics}), flush=True)

    if sys.argv[3:] == ["watched"]:
        threading.Thread(target=_end_with_parent, args=[Path(sys.argv[1]).parent], daemon=True).start()
    try:
        options = Options.from_data(json.loads(sys.argv[2]), "options")
        make_devices(options.devices)
        run(RunFolder.open(Path(sys.argv[1])), options, report)
    except Stopped:
        return 0
    except ComityError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _end_with_parent(place: Path) -> None:
    while os.read(0, 1):  # not by sys.stdin, whose lock would be held when the interpreter ends
        pass
    shutil.rmtree(place, ignore_errors=True)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
