"""Markets from files.

JSON, with values by the names of offers, or bids for bundles, and what else there is to say:

    {"needs": {"ann": {"values": {"north": 10, "south": 7}}, "bob": {"values": {"north": 9}, "budget": 1}},
     "offers": {"north": 2, "south": 0}, "demand": "unit"}

    {"needs": {"ann": {"bids": [{"bundle": ["A", "B"], "value": 5}]},
               "bob": {"bids": [{"bundle": ["A"], "value": 2}]}}}

`offers` (what each costs) and `demand` may be left out. CSV is a table of values: the names of the offers in
the first line, that of a need at the start of each other one, and costs behind the name `costs`.
"""

import csv
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from comity.coordination.market import Market, make_market
from comity.core.errors import ComityError, require
from comity.core.files import read_json

COSTS = "costs"  # the line of a CSV table that holds what offers cost


def read_market(path: str | Path, demand: str | None = None) -> Market:
    """The market that a file describes; `demand` overrides what it says."""
    file = Path(path)
    if file.suffix.lower() == ".csv":
        return _from_csv(file, demand or "unit")
    data = read_json(file, "a market: JSON with needs and offers, or a table of values as .csv")
    return market_from_data(data, demand)


def market_from_data(data: Any, demand: str | None = None) -> Market:
    """The market that JSON data describe."""
    needs = _object(_object(data, "The market").get("needs"), "needs")
    names = list(needs)
    require(bool(names), "needs", needs, "a need at least")
    own = [_object(needs[name], f"needs.{name}") for name in names]
    bundled = ["bids" in need for need in own]
    require(all(bundled) or not any(bundled), "needs", names, "all with values, or all with bids for bundles")
    given = data.get("offers", {})
    costs = (
        dict.fromkeys(_names(given, "offers"), 0.0) if isinstance(given, list) else _object(given, "offers")
    )
    offers = list(costs)
    for name, need in zip(names, own, strict=True):
        for offer in _wanted(need, name):
            if offer not in costs:
                require(
                    not given, f"needs.{name}", offer, f"about offers that there are: {', '.join(offers)}"
                )
                offers.append(offer) if offer not in offers else None
    budgets = [
        _number(need.get("budget", math.inf), f"needs.{name}.budget")
        for name, need in zip(names, own, strict=True)
    ]
    shared: dict[str, Any] = {
        "costs": [_number(costs.get(offer, 0.0), f"offers.{offer}") for offer in offers],
        "needs": names,
        "offers": offers,
    }
    limited = [math.isfinite(budget) for budget in budgets]
    require(all(limited) or not any(limited), "budget", budgets, "given for every need, or for none")
    if all(limited):
        shared["budgets"] = budgets
    if all(bundled):
        place = {offer: j for j, offer in enumerate(offers)}
        bundles = [_bids(need, name, place) for name, need in zip(names, own, strict=True)]
        return make_market(bundles=bundles, **shared)
    table = [
        [_number(need["values"].get(offer, 0.0), f"needs.{name}.{offer}") for offer in offers]
        for name, need in zip(names, own, strict=True)
    ]
    return make_market(table, demand=_demand(demand or data.get("demand", "unit")), **shared)


def _wanted(need: Mapping[str, Any], name: str) -> list[str]:
    """The offers that a need names, in order."""
    if "bids" in need:
        bids = need["bids"]
        require(
            isinstance(bids, list), f"needs.{name}.bids", bids, 'a list of {"bundle": [...], "value": ...}'
        )
        return [offer for bid in bids for offer in _bundle(bid, name)]
    return list(_object(need.get("values"), f"needs.{name}.values"))


def _bundle(bid: Any, name: str) -> list[str]:
    where = f"needs.{name}.bids"
    whole = isinstance(bid, dict) and set(bid) == {"bundle", "value"}
    require(whole, where, bid, 'a list of {"bundle": [...], "value": ...}')
    offers = _names(bid["bundle"], f"{where}.bundle")
    require(bool(offers), f"{where}.bundle", offers, "a set of one offer at least")
    return offers


def _bids(need: Mapping[str, Any], name: str, place: Mapping[str, int]) -> dict[frozenset[int], float]:
    found: dict[frozenset[int], float] = {}
    for bid in need["bids"]:
        bundle = frozenset(place[offer] for offer in _bundle(bid, name))
        found[bundle] = max(found.get(bundle, -math.inf), _number(bid["value"], f"needs.{name}.bids.value"))
    return found


def _from_csv(file: Path, demand: str) -> Market:
    try:
        lines = [row for row in csv.reader(file.read_text(encoding="utf-8-sig").splitlines()) if any(row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ComityError(f"{file} cannot be read as a table of values: {error}.") from None
    require(len(lines) >= 2, str(file), "with one line or none", "a line of offers and a line for each need")
    offers = [cell.strip() for cell in lines[0][1:]]
    rows = {}
    for number, row in enumerate(lines[1:], 2):
        name = row[0].strip()
        require(len(row) == len(lines[0]), f"{file}, line {number}", row, f"a name and {len(offers)} numbers")
        require(name not in rows, f"{file}, line {number}", name, "a name that did not come before")
        rows[name] = [_number(cell, f"{file}, line {number}") for cell in row[1:]]
    costs = rows.pop(COSTS, None)
    return make_market(list(rows.values()), costs, demand=_demand(demand), needs=list(rows), offers=offers)


def _demand(value: Any) -> Literal["unit", "additive"]:
    require(value in ("unit", "additive"), "demand", value, "unit or additive where there are no bundles")
    found: Literal["unit", "additive"] = value
    return found


def _object(value: Any, where: str) -> dict[str, Any]:
    require(isinstance(value, dict), where, value, "an object with names")
    found: dict[str, Any] = value
    return found


def _names(value: Any, where: str) -> list[str]:
    names = isinstance(value, list) and all(isinstance(name, str) for name in value)
    require(names, where, value, "a list of names")
    require(len(set(value)) == len(value), where, value, "a set: no name twice")
    found: list[str] = value
    return found


def _number(value: Any, where: str) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    require(not math.isnan(number), where, value, "a number")
    return number
