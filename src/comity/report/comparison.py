"""The page of a comparison: several kinds of runs, and how surely one is better than another."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from comity.evaluate.compared import Compared
from comity.evaluate.comparison import LAST, final_score, improvement, improvements, ranked, thresholds
from comity.evaluate.standing import best_first
from comity.evaluate.statistics import bootstrap_mean, performance_profile
from comity.report import html, plots, sections
from comity.report.verdicts import comparison_verdict, interval, number, seeds, words

SCORE_COLUMNS = {
    "runs": "how many, each with a seed of its own",
    "final": f"mean over runs of the last {LAST:.0%} of their iterations, with its 95% bootstrap interval",
    "IQM": "interquartile mean: without the lowest and the highest quarter; of fewer than 4 runs the mean",
    "better than the next": "probability of improvement: that a run beats one of the row below (ties: half)",
}
ABOUT_MEASURES = (
    "Intervals resample runs. The measures are those of Agarwal et al., 2021, Deep Reinforcement Learning at "
    "the Edge of the Statistical Precipice (rliable)."
)


def comparison_page(found: Compared, window: int, more: Sequence[str], commands: Sequence[str]) -> str:
    """The whole page; `more` are sections of what was played (behaviour, replays)."""
    verdict = comparison_verdict(found.scores, found.metric, found.league, found.minimise)
    counts = [len(runs) for runs in found.groups.values()]
    lead = f"{sum(counts)} runs of {len(counts)} kinds, compared by their {words(found.metric)}."
    smoothed = f" Smoothed: a point is the mean of {window} logged rows around it." if window > 1 else ""
    bands = f"Mean over the runs of a kind with its 95% bootstrap band.{smoothed}"
    first = html.side_by_side(
        score_table(found) + html.note(_about_few(min(counts))),
        sections.curve_tabs(found.by_kind, found.metric, window, "first") + html.note(bands),
    )
    parts = [
        first,
        *(html.note(note) for note in found.notes),
        *([sections.league_section(best_first(found.league))] if found.league is not None else []),
        *more,
        certainty_section(found),
        *outcomes_section(found),
        differences_section(found),
        _all_curves(found, window),
        _runs_section(found),
        sections.repeat_section(list(commands), {}),
    ]
    return html.page(f"{found.game}: {', '.join(found.groups)}", verdict, parts, lead)


def score_table(found: Compared) -> str:
    """Final scores, the best first."""
    order = ranked(found.scores, found.minimise)
    rows = []
    for i, score in enumerate(order):
        following = order[i + 1] if i + 1 < len(order) else None
        better = "-" if following is None else f"{improvement(score, following, found.minimise).mean:.2f}"
        rows.append([score.name, len(score.runs), interval(score.mean), interval(score.iqm), better])
    columns = dict(SCORE_COLUMNS)
    if max(len(score.runs) for score in order) < 4:  # where it is the mean
        del columns["IQM"]
        rows = [[*row[:3], row[4]] for row in rows]
    return html.table(["", *columns], rows, columns)


def certainty_section(found: Compared) -> str:
    """The probability of improvement of all pairs, and performance profiles."""
    if len(found.scores) < 2:
        return ""
    order = ranked(found.scores, found.minimise)
    names = [score.name for score in order]
    table = plots.matrix(
        names, names, improvements(order, found.minimise), "than a run of", "how likely a run is better",
        limits=(0.0, 1.0),
    )  # fmt: skip
    places = thresholds(found.scores)
    profiles = {score.name: performance_profile(np.asarray(score.runs), places) for score in found.scores}
    picture = plots.profiles(places, profiles, f"final {words(found.metric)}")
    return html.section(
        "How sure that is",
        html.note(ABOUT_MEASURES),
        html.side_by_side(
            html.figure(table, "Probability of improvement: a run of the row beats one of the column."),
            html.figure(picture, "Performance profiles: the share of runs that end above each value."),
        ),
    )


def outcomes_section(found: Compared) -> list[str]:
    """Social outcomes as they were logged, if they were."""
    logged = sections.logged_metrics(found.by_kind)
    shown = [name for name in logged if name.startswith(("outcome/", "evaluation/", "reward/", "episode_"))]
    if not shown:
        return []
    rows = []
    for group, runs in found.by_kind.items():
        finals = [[final_score(run, name) for run in runs] for name in shown]
        rows.append([group, *(_mean(values) for values in finals)])
    note = f"Means over runs of the last {LAST:.0%} of their iterations, with 95% bootstrap intervals."
    headings = ["", *(name.removeprefix("outcome/").replace("_", " ") for name in shown)]
    return [html.section("Outcomes", html.note(note), html.table(headings, rows))]


def differences_section(found: Compared) -> str:
    """The settings that differ: those that several kinds have, then those of some kinds only."""
    kinds = list(found.groups)
    shared: list[list[str]] = []
    own: list[list[str]] = []
    for name, values in found.differences.items():
        row = [name, *("-" if value is None else str(value) for value in values)]
        (own if sum(value is not None for value in values) < len(kinds) else shared).append(row)
    if not shared and not own:
        return html.section("Settings that differ", html.paragraph("None but the seed."))
    parts = [html.table(["setting", *kinds], shared)] if shared else []
    if own:
        table = html.table(["setting", *kinds], own)
        parts.append(
            html.details(f"{len(own)} settings that not all kinds have (- where there is none)", table)
        )
    return html.section("Settings that differ", *parts)


def _all_curves(found: Compared, window: int) -> str:
    """All other metrics, for who wants to look."""
    others = [name for name in sections.logged_metrics(found.by_kind) if name != found.metric]
    figures = [figure for name in others if (figure := sections.curve_tabs(found.by_kind, name, window))]
    if not figures:
        return ""
    label = f"{len(figures)} more curves: {', '.join(words(name) for name in others)}"
    return html.section("All curves", html.details(label, html.side_by_side(*figures)))


def _runs_section(found: Compared) -> str:
    rows: list[list[Any]] = []
    for score in found.scores:
        for i, value in zip(found.groups[score.name], score.runs, strict=True):
            last = found.rows[i][-1]
            seconds = f"{last['seconds']:.0f}" if "seconds" in last else "-"
            seed = found.configs[i].get("seed")
            rows.append(
                [
                    score.name,
                    found.folders[i],
                    seed,
                    number(value),
                    last["iteration"],
                    last.get("steps", "-"),
                    seconds,
                ]
            )
    headings = ["", "folder", "seed", "final", "iterations", "environment steps", "seconds"]
    explain = {
        "final": f"{words(found.metric)}, mean of the last {LAST:.0%} of the iterations",
        "environment steps": "joint steps: every game of the batch stepped once counts 1",
        "seconds": "wall time of training; - where the run did not note it",
    }
    return html.section("Runs", html.table(headings, rows, explain))


def _about_few(fewest: int) -> str:
    if fewest >= 5:
        return ABOUT_MEASURES
    return (
        f"{seeds(fewest).capitalize()} of a kind: an interval over so few runs is a rough guess, often too "
        "narrow."
    )


def _mean(values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    return interval(bootstrap_mean(np.asarray(known))) if known else "-"
