"""The table of populations, and populations by their name on the command line."""

from comity.core.registry import Registry, Row
from comity.training.named import make_named
from comity.training.populations.base import Population

_HERE = "comity.training.populations"

POPULATIONS = Registry(
    "population",
    {
        "seeds": Row(f"{_HERE}.seeds:Seeds", "one experiment with several seeds"),
        "sweep": Row(f"{_HERE}.sweep:Sweep", "every combination of some settings, with several seeds"),
        "pbt": Row(f"{_HERE}.pbt:PBT", "members that copy the better ones and explore settings"),
        "league": Row(f"{_HERE}.league:League", "main agents and exploiters against each other's past"),
        "psro": Row(f"{_HERE}.psro:ResponseOracles", "populations grown by best responses"),
    },
    group="comity.populations",
)


def make_population(spec: str) -> Population:
    """The population that `NAME` or `MODULE:CLASS` stands for, with settings as in `NAME,field=value`."""
    population: Population = make_named(spec, POPULATIONS, Population)
    return population
