"""The parts of a report: curves, heat map, behaviour, settings, how to repeat it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from comity.evaluate.behaviour import Behaviour
from comity.evaluate.league import League
from comity.evaluate.statistics import bootstrap_band
from comity.report import html, plots
from comity.report.plots import Curve

Metrics = Sequence[Mapping[str, Any]]


def curve(runs: Sequence[Metrics], metric: str, shift: float = 0.0, scale: float = 1.0) -> Curve | None:
    """The mean of a metric over runs with its band, at the iterations that all of them logged."""
    tables = [{row["iteration"]: row[metric] for row in run if metric in row} for run in runs]
    if not tables or any(not rows for rows in tables):
        return None
    shared = sorted(set.intersection(*(set(rows) for rows in tables)))
    if not shared:
        return None
    values = np.asarray([[rows[i] for i in shared] for rows in tables]) * scale + shift
    return Curve(np.asarray(shared), *bootstrap_band(values))


def curves_section(runs: Mapping[str, Sequence[Metrics]]) -> str:
    """Learning curves: the reward first, then everything else that was logged."""
    logged = [set(row) - {"iteration"} for group in runs.values() for run in group for row in run[-1:]]
    metrics = sorted(set.union(set(), *logged), key=lambda m: (not m.startswith("reward"), m))
    parts = []
    for metric in metrics:
        found = {name: curve(group, metric) for name, group in runs.items()}
        if any(line is not None for line in found.values()):
            parts.append(html.figure(plots.learning_curves(found, metric.replace("_", " "))))
    seeds = max((len(group) for group in runs.values()), default=0)
    note = f"Mean over {seeds} seeds with 95% bootstrap bands." if seeds > 1 else "One seed."
    return html.section("Learning curves", html.paragraph(note), *parts)


def league_section(league: League, notes: str = "") -> str:
    """The head-to-head matrix as a heat map, and what each player makes of it."""
    caption = (
        f"Mean reward per step of the row player against the column player, seats averaged, over "
        f"{league.episodes} episodes of {league.horizon} steps; ± is half the 95% bootstrap interval."
    )
    order = np.argsort(-league.mean.mean(axis=1))
    rows = [
        [
            league.players[i],
            float(league.mean[i].mean()),
            float(league.mean[i, i]),
            float(league.mean[i].min()),
            float((league.mean[:, i] - league.mean[i]).max()),
        ]
        for i in order
    ]
    headings = ["player", "mean over all", "with its own kind", "worst opponent", "largest loss to one"]
    explanation = (
        "The largest loss is the most that any opponent earns more than this player when they meet: "
        "near zero means that it cannot be exploited by anyone here."
    )
    parts = [
        html.figure(plots.heat_map(league.players, league.mean, league.low, league.high), caption),
        html.table(headings, rows),
        html.paragraph(explanation),
        *(
            html.figure(plots.heat_map(league.players, table, table, table), _in_role(league, role))
            for role, table in league.unlike_roles.items()
        ),
    ]
    if notes:
        parts.insert(0, html.paragraph(notes))
    return html.section("League", *parts)


def _in_role(league: League, role: str) -> str:
    seats = [seat for seat, own in zip(league.seats, league.roles, strict=True) if own == role]
    where = f"the seat {role}" if seats == [role] else f"the role {role} ({', '.join(seats)})"
    return f"The row player in {where}, the column player in all other seats: mean reward per step."


def behaviour_section(players: Mapping[str, Behaviour], how: str) -> str:
    """What the players do in each state; the first action is the cooperative one."""
    first = next(iter(players.values()))
    series = {name: found.probability[:, 0] for name, found in players.items()}
    rows = [
        [name, *(("-" if np.isnan(p) else f"{p:.2f}") for p in values)] for name, values in series.items()
    ]
    picture = (
        [html.figure(plots.state_bars(first.states, series, f"P({first.actions[0]})"))]
        if len(first.states) <= 12
        else []
    )
    return html.section(
        "Behaviour in each state",
        html.paragraph(
            f"How often {first.actions[0]} was chosen after each last move (own move first). {how} "
            f"A dash marks a state that was never met."
        ),
        *picture,
        html.table(["player", *first.states], rows),
    )


def settings_section(experiments: Mapping[str, Mapping[str, Any]]) -> str:
    """The settings, as they stand in config.json."""
    parts = []
    for name, data in experiments.items():
        parts.append(html.paragraph(name))
        parts.append(html.code(json.dumps(data, indent=2)))
    return html.section("Settings", *parts)


def repeat_section(commands: Sequence[str], versions: Mapping[str, str]) -> str:
    """How to get the same numbers again."""
    rows = [[name, value] for name, value in versions.items()]
    table = [html.table(["package", "version"], rows)] if rows else []
    return html.section("How to repeat it", html.code("\n".join(commands)), *table)
