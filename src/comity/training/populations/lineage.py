"""Who descends from whom in a population that trains in generations: kept in `population.json`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from comity.core.errors import ComityError
from comity.core.files import read_json, write_json

KIND = "comity-population"
VERSION = 1
FILE = "population.json"


class Individual(NamedTuple):
    """A member in one generation: what it is called, whose parameters it began with, how it did."""

    name: str  # its run folder
    parent: str | None  # the run folder that it began from; None in the first generation
    settings: Mapping[str, float]
    fitness: float | None = None  # at the end of the generation
    diversity: float | None = None  # how differently from the others it behaves, where that counts


class Lineage(NamedTuple):
    """All generations so far."""

    generations: tuple[tuple[Individual, ...], ...]
    measure: str  # what fitness is

    @property
    def best(self) -> Individual:
        """The fittest member of the last generation that was measured."""
        measured = [own for own in self.generations if own and own[0].fitness is not None]
        if not measured:
            raise ComityError("No generation of this population has come to its end yet.")
        return max(measured[-1], key=lambda own: own.fitness if own.fitness is not None else float("-inf"))

    def ancestors(self, name: str) -> tuple[Individual, ...]:
        """A member with all that it descends from, the oldest first."""
        by_name = {own.name: own for generation in self.generations for own in generation}
        if name not in by_name:
            raise ComityError(f"The population has no member {name!r}.")
        line = [by_name[name]]
        while (parent := line[-1].parent) is not None:
            line.append(by_name[parent])
        return tuple(reversed(line))

    def to_data(self) -> dict[str, Any]:
        """The lineage as JSON data."""
        return {
            "kind": KIND,
            "version": VERSION,
            "measure": self.measure,
            "generations": [
                [{**own._asdict(), "settings": dict(own.settings)} for own in generation]
                for generation in self.generations
            ],
        }


def write_lineage(out: Path, lineage: Lineage) -> None:
    """Writes the file of a population's folder."""
    write_json(out / FILE, lineage.to_data())


def read_lineage(out: Path) -> Lineage:
    """The lineage in a population's folder."""
    data = read_json(out / FILE, "a population")
    if not isinstance(data, dict) or data.get("kind") != KIND:
        raise ComityError(f"{out / FILE} is not a population: `comity train --population pbt` writes one.")
    try:
        generations = tuple(
            tuple(Individual(**{**own, "settings": dict(own["settings"])}) for own in generation)
            for generation in data["generations"]
        )
        return Lineage(generations, str(data["measure"]))
    except (KeyError, TypeError, ValueError):
        raise ComityError(
            f"{out / FILE} is damaged: going on with the run by --resume writes it again."
        ) from None
