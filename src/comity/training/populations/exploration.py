"""Settings that a population changes while it trains: their ranges, and how new values are found."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from comity.core.agent import Agent
from comity.core.errors import ComityError, bad_value, unknown_name
from comity.core.tunable import tunable_settings
from comity.play.specs import with_settings
from comity.training.experiment import Experiment

SPAN = 10.0  # a range that is not given goes from a tenth of the value to ten times as much
Explore = Literal["perturb", "resample"]


class Range(NamedTuple):
    """The values that a setting may take."""

    name: str
    low: float
    high: float


def read_ranges(texts: Sequence[str], experiment: Experiment) -> tuple[Range, ...]:
    """Ranges written as `NAME:LOW:HIGH` or `NAME`, for settings that are tunable in the experiment."""
    known: dict[str, float] = {}
    for agent in experiment.agents:
        known |= tunable_settings(agent)
    ranges = []
    for text in texts:
        name, *ends = text.split(":")
        name = name.removeprefix("agent.").replace("-", "_")
        if name not in known:
            raise unknown_name("tunable setting", name, sorted(known))
        value = known[name]
        try:
            low, high = (float(end) for end in ends) if ends else _around(experiment, name, value)
        except ValueError:
            raise bad_value("tune", text, "NAME or NAME:LOW:HIGH") from None
        if not 0 < low < high < math.inf:
            raise bad_value("tune", text, "NAME:LOW:HIGH with numbers above 0, the lower first")
        for end in (low, high):
            with_numbers(experiment, {name: end})  # refuses what the setting cannot be
        ranges.append(Range(name, low, high))
    return tuple(ranges)


def draw(ranges: Sequence[Range], rng: np.random.Generator) -> dict[str, float]:
    """A value of each setting, evenly on a scale of ratios."""
    return {own.name: float(np.exp(rng.uniform(math.log(own.low), math.log(own.high)))) for own in ranges}


def explored(
    values: Mapping[str, float],
    ranges: Sequence[Range],
    how: Explore,
    factor: float,
    rng: np.random.Generator,
) -> dict[str, float]:
    """New values: each times or divided by a factor and kept in its range, or drawn anew."""
    if how == "resample":
        return draw(ranges, rng)
    return {
        own.name: float(np.clip(values[own.name] * factor ** rng.choice((-1.0, 1.0)), own.low, own.high))
        for own in ranges
    }


def with_numbers(experiment: Experiment, values: Mapping[str, float]) -> Experiment:
    """The experiment with other values in all agents that have these settings; each is checked."""

    def changed(agent: Agent) -> Agent:
        own = {name: value for name, value in values.items() if name in tunable_settings(agent)}
        return with_settings(agent, own, "agent")

    return experiment.with_agents(tuple(changed(agent) for agent in experiment.agents))


def _around(experiment: Experiment, name: str, value: float) -> tuple[float, float]:
    """From a tenth of a value to ten times as much, or to the value where that is not possible."""
    low, high = value / SPAN, value * SPAN
    try:
        with_numbers(experiment, {name: high})
    except ComityError:
        high = value
    return low, high
