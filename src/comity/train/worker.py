"""One run in a process of its own: trains a run folder and prints a JSON line per report.

Used by `train_seeds`: python -m comity.train.worker RUN_FOLDER OPTIONS_AS_JSON
"""

import json
import sys
from pathlib import Path

from comity.core.errors import ComityError
from comity.train.folder import RunFolder
from comity.train.runner import Options, Stopped, run


def main() -> int:
    """Trains to the end; exit code 2 and a sentence on standard error if it cannot."""
    folder, options = RunFolder.open(Path(sys.argv[1])), Options(**json.loads(sys.argv[2]))

    def report(iteration: int, metrics: dict[str, float]) -> None:
        print(json.dumps({"iteration": iteration, "metrics": metrics}), flush=True)

    try:
        run(folder, options, report)
    except Stopped:
        return 0
    except ComityError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
