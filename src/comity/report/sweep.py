"""The page and the picture of a sweep: what each value reached, and which is best."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from comity.evaluate.comparison import LAST, Score, ranked, settled
from comity.evaluate.curves import Metrics
from comity.evaluate.statistics import Interval, bootstrap_mean
from comity.report import html, plots, sections
from comity.report.verdicts import interval, number, seeds, words

Point = Mapping[str, Any]
COLUMNS = {
    "mean": f"over seeds, of the last {LAST:.0%} of the iterations, with its 95% bootstrap interval",
    "seeds": "the final score of each",
}


def sweep_verdict(points: Sequence[Point], found: Sequence[Score], metric: str, minimise: bool) -> str:
    """Which values are best, and how surely."""
    order = ranked(found, minimise)
    best = order[0]
    settings = _said(points[list(found).index(best)])
    over = seeds(len(best.runs))
    first = f"{settings} is best: its final {words(metric)} is {interval(best.mean)} over {over}."
    if len(order) == 1:
        return f"{first} Nothing else came to its end."
    equal = [score for score in order if score.mean.mean == best.mean.mean]
    if len(equal) > 1:
        names = "; ".join(_said(points[list(found).index(score)]) for score in equal[:3])
        names += f" and {len(equal) - 3} more" if len(equal) > 3 else ""
        first = f"{names} end with the same final {words(metric)}, {interval(best.mean)} over {over}."
        if len(equal) == len(order):
            return f"{first} Nothing sets one of them apart."
        return f"{first} The next is {number(order[len(equal)].mean.mean)}."
    apart = [score for score in order[1:] if settled(best, score)]
    if len(apart) == len(order) - 1:
        return f"{first} The intervals of all {len(apart)} others lie apart from it."
    close = [_said(points[list(found).index(score)]) for score in order[1:] if score not in apart]
    rest = f"{'; '.join(close[:2])}{f' and {len(close) - 2} more' if len(close) > 2 else ''}"
    return f"{first} It is not settled against {rest}: intervals overlap, or are of fewer than 3 seeds."


def sweep_picture(
    vary: Mapping[str, Sequence[Any]],
    points: Sequence[Point],
    found: Sequence[Score],
    metric: str,
    best: Point,
) -> str:
    """The final score against the first setting, one line for each combination of the others."""
    name = next(iter(vary))
    others = [other for other in vary if other != name]
    series: dict[str, dict[str | float, Interval]] = {}
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in vary[name])
    ordered = sorted(
        zip(points, found, strict=True),
        key=lambda pair: any(pair[0][other] != best[other] for other in others),
    )  # the line of the best first, which is the one that is ringed
    for point, score in ordered:
        label = ", ".join(f"{other.split('.')[-1]}={point[other]}" for other in others)
        value = float(point[name]) if numeric else str(point[name])
        series.setdefault(label, {})[value] = score.mean
    ringed = float(best[name]) if numeric else str(best[name])
    return plots.intervals(series, name, f"final {words(metric)}", ringed)


def sweep_page(
    title: str,
    vary: Mapping[str, Sequence[Any]],
    points: Sequence[Point],
    found: Sequence[Score],
    rows: Mapping[str, Sequence[Metrics]],
    metric: str,
    minimise: bool,
    failed: Mapping[str, str],
    config: Mapping[str, Any],
    command: str,
) -> str:
    """The whole page."""
    best = points[list(found).index(ranked(found, minimise)[0])]
    picture = sweep_picture(vary, points, found, metric, best)
    caption = "Means over seeds with 95% bootstrap intervals; the best is ringed."
    parts = [
        html.side_by_side(_table(vary, points, found, minimise), html.figure(picture, caption)),
        *(html.note(f"{name} failed: {why}") for name, why in failed.items()),
        *_marginals(vary, points, found, metric),
        sections.curves_section(rows),
        sections.settings_section({"the experiment that was varied": config}),
        sections.repeat_section([command], {}),
    ]
    counts = [len(score.runs) for score in found]
    lead = f"{len(found)} combinations of {', '.join(vary)}, {sum(counts)} runs."
    return html.page(title, sweep_verdict(points, found, metric, minimise), parts, lead)


def _table(
    vary: Mapping[str, Sequence[Any]], points: Sequence[Point], found: Sequence[Score], minimise: bool
) -> str:
    rows = []
    for score in ranked(found, minimise):
        point = points[list(found).index(score)]
        runs = " ".join(number(x) for x in score.runs)
        rows.append([*(str(point[name]) for name in vary), interval(score.mean), runs])
    return html.table([*(name.split(".")[-1].replace("_", " ") for name in vary), *COLUMNS], rows, COLUMNS)


def _marginals(
    vary: Mapping[str, Sequence[Any]], points: Sequence[Point], found: Sequence[Score], metric: str
) -> list[str]:
    """Of several settings: what each value reaches on average over the values of the others."""
    if len(vary) < 2:
        return []
    tables = []
    for name, values in vary.items():
        rows = []
        for value in values:
            runs = [
                x
                for point, score in zip(points, found, strict=True)
                if point[name] == value
                for x in score.runs
            ]
            rows.append([str(value), interval(bootstrap_mean(np.asarray(runs))) if runs else "-"])
        tables.append(html.table([name, f"mean {words(metric)}"], rows))
    note = "The mean over all runs with a value, whatever the other settings were."
    return [html.section("Each setting by itself", html.note(note), html.side_by_side(*tables))]


def _said(point: Point) -> str:
    return ", ".join(f"{name.split('.')[-1]}={value}" for name, value in point.items())
