"""The table of mechanisms: adding one is a file beside this one and a row here."""

from typing import Any

from comity.coordination.base import Mechanism
from comity.core.errors import ComityError
from comity.core.registry import Registry, Row
from comity.core.settings import build, nest
from comity.core.trust import trust

MECHANISMS = Registry(
    "mechanism",
    {
        "optimum": Row(
            "comity.coordination.optimum:Optimum", "the best assignment, from all values; nobody pays"
        ),
        "vcg": Row("comity.coordination.vcg:VCG", "the same, with payments that make it best to be truthful"),
        "first-price": Row(
            "comity.coordination.sealed_bid:FirstPrice", "each offer to the highest bid, which is paid"
        ),
        "second-price": Row(
            "comity.coordination.sealed_bid:SecondPrice", "each offer to the highest bid, the second is paid"
        ),
        "bertsekas-auction": Row(
            "comity.coordination.bertsekas:BertsekasAuction", "needs outbid each other in small steps"
        ),
        "double-auction": Row(
            "comity.coordination.double_auction:DoubleAuction",
            "bids and asks for units of one good meet at a price",
        ),
        "contract-net": Row(
            "comity.coordination.contract_net:ContractNet",
            "tasks are announced and awarded, one after another",
        ),
        "proportional-response": Row(
            "comity.coordination.proportional_response:ProportionalResponse",
            "a Fisher market: budgets are spent on divisible offers",
        ),
        "consensus-auction": Row(
            "comity.coordination.consensus_auction:ConsensusAuction",
            "neighbours in a graph agree on who won what",
        ),
        "hierarchy": Row(
            "comity.coordination.hierarchy:Hierarchy", "reports upward as means, orders downward"
        ),
    },
    "comity.mechanisms",
)


def make_mechanism(name: str, **settings: Any) -> Mechanism:
    """A mechanism by its name, with settings that differ from its defaults; one's own is `MODULE:CLASS`."""
    if ":" in name:
        trust(name)
    cls = MECHANISMS.load(name)
    if not issubclass(cls, Mechanism):
        raise ComityError(f"The mechanism {name} is not a class below comity.coordination.Mechanism.")
    mechanism: Mechanism = build(cls, nest(settings), name, lambda kind, data, path, default: kind(**data))
    return mechanism
