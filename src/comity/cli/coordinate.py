"""`comity coordinate FILE`: what mechanisms make of a market of needs and offers."""

import dataclasses
import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import tyro

from comity.cli.parser import parse_arguments
from comity.cli.solve import console, short, show
from comity.coordination.base import Mechanism
from comity.coordination.market import WHOLE, Market, Outcome
from comity.coordination.measures import Measures, measure, robustness, without_coordinator
from comity.coordination.reader import read_market
from comity.coordination.registry import MECHANISMS, make_mechanism
from comity.core.errors import ComityError
from comity.core.trust import trust

ALL = "all"
FLAG = "--mechanism"


@dataclass
class Settings:
    """Assigns offers to needs and prices them, and says how good that is.

    A file holds a market: .json with needs and offers, or .csv with a table of values (docs/coordination.md).
    """

    # a .json or .csv file
    source: tyro.conf.Positional[Annotated[str, tyro.conf.arg(metavar="FILE")]]
    mechanism: str = (
        ALL  # one by its name, whose settings are --settings.NAME, or all that are for the market
    )
    demand: Literal["unit", "additive"] | None = (
        None  # what needs want: one offer, or any number; by default the file's
    )
    loss: float = 0.2  # how likely each link is down, for what is left when links fail
    json: bool = False  # print JSON for a program instead of tables


def run(name: str, arguments: list[str]) -> int:
    """Prints assignments, payments and measures."""
    parsed = _parse(arguments or ["--help"])
    market = read_market(parsed.source, parsed.demand)
    results, refused = [], []
    for label, mechanism in _mechanisms(parsed):
        try:
            outcome = mechanism(market)
        except ComityError as error:
            if parsed.mechanism != ALL:
                raise
            refused.append((label, str(error)))
            continue
        left = (robustness(mechanism, market, parsed.loss), without_coordinator(mechanism, market))
        results.append((label, outcome, measure(outcome, market), left))
    if parsed.json:
        found = {
            label: _as_data(market, outcome, measures, left) for label, outcome, measures, left in results
        }
        print(json.dumps({"mechanisms": found, "not for this market": dict(refused)}, allow_nan=False))
    else:
        _print(market, results, refused, parsed.loss)
    return 0


def _parse(arguments: list[str]) -> Any:
    """The settings; a mechanism that is named adds its own as --settings.NAME."""
    places = [i for i, word in enumerate(arguments) if word.partition("=")[0] == FLAG]
    named = ALL
    if places:
        _, equals, value = arguments[places[-1]].partition("=")
        named = value if equals else next(iter(arguments[places[-1] + 1 :]), ALL)
    if named == ALL:
        return parse_arguments(Settings, arguments, "comity coordinate")
    if ":" in named:
        trust(named)
    default = make_mechanism(named)
    fields: list[tuple[str, Any, Any]] = [
        ("own", Annotated[Settings, tyro.conf.arg(name="")], dataclasses.field()),
        ("settings", type(default), dataclasses.field(default=default)),
    ]
    both = dataclasses.make_dataclass("Together", fields)
    both.__doc__ = Settings.__doc__
    parsed: Any = parse_arguments(both, arguments, "comity coordinate")
    parsed.own.settings = parsed.settings
    return parsed.own


def _mechanisms(parsed: Any) -> list[tuple[str, Mechanism]]:
    if parsed.mechanism == ALL:
        return [(name, make_mechanism(name)) for name in MECHANISMS.rows()]
    return [(parsed.mechanism, parsed.settings)]


def _as_data(
    market: Market, outcome: Outcome, measures: Measures, left: tuple[float, float]
) -> dict[str, Any]:
    return {
        "shares": outcome.shares.tolist(),
        "payments": dict(zip(market.needs, outcome.payments.tolist(), strict=True)),
        "receipts": dict(zip(market.offers, outcome.receipts.tolist(), strict=True)),
        "messages": outcome.messages,
        "gap": outcome.gap if np.isfinite(outcome.gap) else None,
        "measures": measures._asdict(),
        "left_with_links_down": left[0],
        "left_without_coordinator": left[1],
    }


def _print(
    market: Market,
    results: list[tuple[str, Outcome, Measures, tuple[float, float]]],
    refused: list[tuple[str, str]],
    loss: float,
) -> None:
    out = console()
    rows = [
        [label, short(found.welfare), f"{found.efficiency:.3f}", short(found.payments), short(found.revenue),
         short(found.envy), str(found.messages), f"{left[0]:.2f}", f"{left[1]:.2f}"]
        for label, _, found, left in results
    ]  # fmt: skip
    lost = f"left: links down {loss:g}"
    headings = [
        "mechanism", "welfare", "of optimum", "payments", "kept", "envy", "messages", lost, "no coordinator"
    ]  # fmt: skip
    if rows:
        show(out, f"{len(market.needs)} needs, {len(market.offers)} offers", headings, rows)
    for label, outcome, _, _ in results:
        lines = [
            [need, _bundle(market, outcome.shares[i]), short(float(outcome.payments[i]))]
            for i, need in enumerate(market.needs)
        ]
        show(out, label, ["need", "gets", "pays"], lines, left=2)
    for label, why in refused:
        out.print(f"{label}: {why}")


def _bundle(market: Market, shares: np.ndarray) -> str:
    parts = [
        offer if share >= WHOLE else f"{short(float(share))} {offer}"
        for offer, share in zip(market.offers, shares, strict=True)
        if share > 5e-4
    ]
    return ", ".join(parts) or "nothing"
