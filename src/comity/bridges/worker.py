"""A process that steps environments: orders come by pipe as lines of JSON, values by shared memory."""

import base64
import json
import mmap
import os
import sys
from typing import Any

from comity.bridges.slices import EnvSlice, arrays_in
from comity.bridges.sources import Source, failure, maker


def main() -> int:
    """Serves until the orders end."""
    orders, answers, source = int(sys.argv[1]), int(sys.argv[2]), Source(*json.loads(sys.argv[3]))
    slices: dict[int, EnvSlice] = {}
    with os.fdopen(orders, "r") as incoming, os.fdopen(answers, "w") as outgoing:

        def answer(data: dict[str, Any]) -> None:
            outgoing.write(json.dumps(data) + "\n")
            outgoing.flush()

        for line in incoming:
            order = json.loads(line)
            try:
                found = _carry_out(order, slices, source)
            except Exception as error:
                answer({"error": str(failure(source.name, error))})
            else:
                answer(found)
    for part in slices.values():
        part.close()
    return 0


def _carry_out(order: dict[str, Any], slices: dict[int, EnvSlice], source: Source) -> dict[str, Any]:
    """Does what is ordered; what it returns is answered."""
    batch_id = order["batch_id"]
    match order["do"]:
        case "open":
            make = maker(source)
            probe = make()
            with open(order["path"], "r+b") as file:
                buffer = mmap.mmap(file.fileno(), 0)
            arrays = arrays_in(buffer, probe.seats, order["batch"])
            probe.close()
            slices[batch_id] = EnvSlice(make, probe.seats, arrays, order["first"], order["last"], source.name)
        case "close":
            slices.pop(batch_id).close()
        case "reset":
            slices[batch_id].reset()
        case "reset_where":
            slices[batch_id].reset_where()
        case "step":
            slices[batch_id].step()
        case "render":
            frame = slices[batch_id].render()
            if frame is not None:
                pixels = base64.b64encode(frame.tobytes()).decode()
                return {"shape": list(frame.shape), "pixels": pixels}
    return {}


if __name__ == "__main__":
    sys.exit(main())
