"""One harness for all speed measurements: CPU time of compiled calls, compile time apart, share of the peak.

Speed is reported per CPU-second and as a share of what the same process reaches on a large float32 matrix
product, so that numbers from different machines can be compared.
"""

import json
import math
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp


@dataclass
class Measurement:
    """One line of the table."""

    name: str
    compile_seconds: float
    seconds: float  # CPU time of one call
    steps_per_second: float | None = None  # joint environment steps
    gflop: float | None = None  # floating-point operations of the matrix products of one call
    share_of_peak: float | None = None  # of the matrix product's rate


def peak_gflops(size: int = 2048, repeats: int = 5) -> float:
    """What this process does on a large float32 matrix product, in GFLOP per CPU-second."""
    x = jnp.ones((size, size), jnp.float32)
    product = jax.jit(lambda a: a @ a)
    product(x).block_until_ready()
    begun = time.process_time()
    for _ in range(repeats):
        product(x).block_until_ready()
    return 2 * size**3 * repeats / (time.process_time() - begun) / 1e9


def product_flops(jaxpr: Any) -> float:
    """Floating-point operations of all matrix products in a program.

    Loops of a known length count as often as they run (the compiler's own count takes them once); of two
    branches the smaller counts (a rollout looks ahead only where an episode ends). Element-wise operations
    are left out, so the share of the peak is a lower bound.
    """
    total = 0.0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            ((contracted, _), _) = equation.params["dimension_numbers"]
            left = equation.invars[0].aval.shape
            inner = math.prod(left[axis] for axis in contracted)
            total += 2.0 * inner * math.prod(equation.outvars[0].aval.shape)
            continue
        times = equation.params.get("length", 1) if equation.primitive.name == "scan" else 1
        inside = [product_flops(part) for part in _programs(equation.params)]
        total += times * (min(inside, default=0.0) if equation.primitive.name == "cond" else sum(inside))
    return total


def _programs(params: dict[str, Any]) -> list[Any]:
    """The programs inside an equation: bodies of loops, branches, functions that are called."""
    found = []
    for value in params.values():
        for part in value if isinstance(value, tuple | list) else (value,):
            part = getattr(part, "jaxpr", part)
            if hasattr(part, "eqns"):
                found.append(part)
    return found


def measure(
    name: str,
    function: Callable[..., Any],
    *arguments: Any,
    steps: int | None = None,
    peak: float | None = None,
    repeats: int = 5,
) -> Measurement:
    """Compiles a function, then takes the CPU time of its calls."""
    begun = time.process_time()
    compiled = jax.jit(function).lower(*arguments).compile()
    compile_seconds = time.process_time() - begun
    jax.block_until_ready(compiled(*arguments))
    begun = time.process_time()
    for _ in range(repeats):
        jax.block_until_ready(compiled(*arguments))
    seconds = (time.process_time() - begun) / repeats
    gflop = product_flops(jax.make_jaxpr(function)(*arguments).jaxpr) / 1e9
    return Measurement(
        name,
        compile_seconds,
        seconds,
        None if steps is None else steps / seconds,
        gflop or None,
        gflop / seconds / peak if peak and gflop else None,
    )


def report(title: str, rows: list[Measurement], peak: float, out: Path) -> None:
    """Prints a table and writes JSON."""
    where = f"{platform.machine()}, jax {jax.__version__}"
    print(f"{title}: matrix product {peak:.0f} GFLOP per CPU-second, {where}")
    print(f"{'':40s}{'compile s':>10s}{'CPU s':>10s}{'steps/s':>12s}{'GFLOP':>8s}{'of peak':>9s}")
    for row in rows:
        steps = "" if row.steps_per_second is None else f"{row.steps_per_second:,.0f}"
        gflop = "" if row.gflop is None else f"{row.gflop:.2f}"
        share = "" if row.share_of_peak is None else f"{row.share_of_peak:.0%}"
        print(
            f"{row.name:40s}{row.compile_seconds:10.1f}{row.seconds:10.4f}{steps:>12s}{gflop:>8s}{share:>9s}"
        )
    data = {
        "title": title,
        "peak_gflops": peak,
        "jax": jax.__version__,
        "rows": [asdict(row) for row in rows],
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(data, indent=2) + "\n")
