"""The parts of a report: curves, heat map, behaviour, settings, how to repeat it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from comity.evaluate.behaviour import Behaviour
from comity.evaluate.curves import AXES, Metrics, learning_curve
from comity.evaluate.league import League
from comity.evaluate.standing import standings
from comity.report import html, plots
from comity.report.verdicts import words

NOT_METRICS = {*AXES, "cpu_seconds", "steps_per_second"}  # x-axes and costs
LEAGUE_COLUMNS = {
    "self-play": "reward per step with its own kind, ± half the 95% interval over episodes",
    "exploitation": "the most that an opponent here earns more than it when they meet; 0: nobody does",
    "by": "who that opponent is",
    "secured": "self-play less exploitation, the order here: high for who cooperates and is not exploited",
    "worst": "reward per step against the opponent that leaves it least",
    "mean": "over all players here; high also for who exploits many fools",
}


def curve_tabs(
    runs: Mapping[str, Sequence[Metrics]], metric: str, window: int = 1, name: str = "x-axis"
) -> str:
    """The curves of a metric by iterations, environment steps and seconds, one shown at a time."""
    panels = {}
    for axis, label in AXES.items():
        found = {group: learning_curve(rows, metric, axis, window) for group, rows in runs.items()}
        if any(line is not None for line in found.values()):
            picture = plots.learning_curves(found, words(metric), xlabel=label)
            alt = f"{words(metric)} against {label} of {', '.join(runs)}"
            panels[f"by {label}s" if axis == "iteration" else f"by {label}"] = html.figure(picture, alt=alt)
    return html.tabs(f"{name}-{metric}", panels) if panels else ""


def logged_metrics(runs: Mapping[str, Sequence[Metrics]]) -> list[str]:
    """What was logged: rewards first, then returns, evaluations and outcomes, then the rest."""
    logged = {name for group in runs.values() for run in group for row in run[-1:] for name in row}
    first = ("reward", "shaped_reward", "episode_", "evaluation/", "outcome/")

    def place(metric: str) -> tuple[int, str]:
        return next((i for i, start in enumerate(first) if metric.startswith(start)), len(first)), metric

    return sorted(logged - NOT_METRICS, key=place)


def curves_section(runs: Mapping[str, Sequence[Metrics]], window: int = 1) -> str:
    """Learning curves: the reward first, then everything else that was logged."""
    figures = [figure for metric in logged_metrics(runs) if (figure := curve_tabs(runs, metric, window))]
    count = max((len(group) for group in runs.values()), default=0)
    note = f"Mean over {count} seeds with 95% bootstrap bands." if count > 1 else "One seed."
    if window > 1:
        note += f" Each run is smoothed: a point is the mean of {window} logged rows around it."
    return html.section("Learning curves", html.note(note), html.side_by_side(*figures))


def league_section(league: League, notes: str = "", title: str = "League") -> str:
    """The head-to-head matrix as a heat map, and how each player stands; the best first."""
    caption = (
        f"Mean reward per step of the row player against the column player, seats averaged, over "
        f"{league.episodes} episodes of {league.horizon} steps; ± is half the 95% bootstrap interval."
    )
    rows = [
        [
            row.player,
            f"{row.self_play:.3f} ±{row.half:.3f}",
            row.exploitation,
            row.exploiter or "nobody",
            row.secured,
            row.worst,
            row.mean,
        ]
        for row in standings(league)
    ]
    table = html.table(["player", *LEAGUE_COLUMNS], rows, LEAGUE_COLUMNS)
    picture = plots.heat_map(league.players, league.mean, league.low, league.high)
    parts = [
        html.note(notes) if notes else "",
        html.side_by_side(table, html.figure(picture, caption)),
        *(
            html.figure(plots.heat_map(league.players, table, table, table), _in_role(league, role))
            for role, table in league.unlike_roles.items()
        ),
    ]
    return html.section(title, *parts)


def _in_role(league: League, role: str) -> str:
    seats = [seat for seat, own in zip(league.seats, league.roles, strict=True) if own == role]
    where = f"the seat {role}" if seats == [role] else f"the role {role} ({', '.join(seats)})"
    return f"The row player in {where}, the column player in all other seats: mean reward per step."


def behaviour_section(players: Mapping[str, Behaviour], how: str) -> str:
    """What the players do in each state; the first action is the cooperative one."""
    first = next(iter(players.values()))
    series = {name: found.probability[:, 0] for name, found in players.items()}
    rows = [[name, *map(_share, *(x[:, 0] for x in found[3:]))] for name, found in players.items()]
    picture = (
        [
            html.figure(
                plots.state_bars(first.states, series, f"P({first.actions[0]})"),
                alt=f"how often {', '.join(series)} choose {first.actions[0]} in each state, as in the table",
            )
        ]
        if len(first.states) <= 12
        else []
    )
    return html.section(
        "Behaviour in each state",
        html.paragraph(
            f"How often {first.actions[0]} was chosen after each last move (own move first). {how} "
            f"In brackets, a 95% interval; a dash marks a state that was never met."
        ),
        html.side_by_side(html.table(["player", *first.states], rows), *picture),
    )


def _share(share: float, low: float, high: float) -> str:
    return "-" if np.isnan(share) else f"{share:.2f} ({low:.2f} to {high:.2f})"


def settings_section(experiments: Mapping[str, Mapping[str, Any]]) -> str:
    """The settings, as they stand in config.json."""
    parts = [html.details(name, html.code(json.dumps(data, indent=2))) for name, data in experiments.items()]
    return html.section("Settings", *parts)


def repeat_section(commands: Sequence[str], versions: Mapping[str, str]) -> str:
    """How to get the same numbers again."""
    rows = [[name, value] for name, value in versions.items()]
    table = [html.table(["package", "version"], rows)] if rows else []
    return html.section("How to repeat it", html.code("\n".join(commands)), *table)
