"""Numbers among settings that may change during a run without a new compilation.

A class of settings marks them by name in `tunable`. An experiment that names some of them holds them as
arrays in the state of its run: a population can change them there, and runs that differ in nothing else
train in one vectorised program.
"""

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import TypeVar

import equinox as eqx
from jaxtyping import Array, Float

Number = float | Float[Array, ""]  # a setting that may be tunable: no branch of Python may depend on it
Settings = TypeVar("Settings", bound=eqx.Module)


def tunable_settings(settings: eqx.Module) -> dict[str, float]:
    """The numbers that may change during a run, nested ones too, by their names: `optimiser.learning_rate`.

    A number that is 0 is left out: there it turns off a part, which no other number can turn on again.
    """
    return {name: value for name, value in _marked(settings) if value != 0}


def is_off(number: Number) -> bool:
    """Whether a number turns its part off by being 0; one that is tuned never does."""
    return isinstance(number, float | int) and number == 0


def with_tunable(settings: Settings, values: Mapping[str, Number]) -> Settings:
    """The same settings with other numbers, which are taken as they are: arrays cannot be range-checked."""
    if not values:
        return settings
    changed: Settings = eqx.tree_at(
        lambda tree: [reduce(getattr, name.split("."), tree) for name in values],
        settings,
        list(values.values()),
    )
    return changed


def _marked(settings: eqx.Module) -> Iterator[tuple[str, float]]:
    for name in getattr(settings, "tunable", ()):
        yield name, getattr(settings, name)
    for name, value in vars(settings).items():
        if isinstance(value, eqx.Module):
            for deeper, number in _marked(value):
                yield f"{name}.{deeper}", number
