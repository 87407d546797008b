"""What game theory says about a league: its analysis as data, as a section of a page, and as a picture."""

from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np

from comity.core.errors import ComityError
from comity.evaluate.empirical import empirical_game
from comity.evaluate.league import League
from comity.evaluate.standing import leads
from comity.report import html
from comity.report.svg import STYLE, to_svg
from comity.theory import pictures
from comity.theory.analysis import Report, analyse_league

MOST_EQUILIBRIA = 12  # in a page


def analyse(league: League, resamples: int = 100, seed: int = 0) -> Report:
    """Equilibria with regret intervals, alpha-rank, ratings and exploitability, as plain data."""
    report = analyse_league(empirical_game(league), resamples, seed, games=float(max(1, league.episodes)))
    if "gap" in report.get("exploitability", {}):  # of the same meetings, where more than two sit together
        report["exploitability"]["gap"] = (leads(league).sum(axis=0) / (len(league.players) - 1)).tolist()
    return report


def draw_population(league: League, report: Report, members: Sequence[str] = ()) -> Any:
    """The replicator dynamics among three players; by default those that alpha-rank puts first."""
    if len(league.players) < 3:
        raise ComityError(
            f"The replicator picture needs 3 players, and this league has {len(league.players)}: "
            "leave the picture out."
        )
    if members:
        unknown = [name for name in members if name not in league.players]
        if unknown or len(set(members)) != 3:
            raise ComityError(
                f"The picture is of 3 different players, not {', '.join(members)}: "
                f"choose among {', '.join(league.players)}."
            )
        index = [league.players.index(name) for name in members]
    else:
        share = np.zeros(len(league.players))
        if report["alpha_rank"] is not None:
            share = np.asarray(report["alpha_rank"]["distribution"])
        order = np.lexsort((-league.mean.mean(axis=1), -share.round(9)))
        index = sorted(order[:3].tolist())
    names = [league.players[i] for i in index]
    return pictures.draw_simplex(league.mean[np.ix_(index, index)], names, "Replicator dynamics")


def analysis_section(league: League) -> str:
    """The section of a league's page."""
    report = analyse(league)
    found = report["equilibria"]
    parts = [
        html.paragraph(
            "Taking the players as the strategies of a game and their mean rewards as its payoffs, these "
            "mixtures of players are in equilibrium: no population gains by moving to another player of this "
            "league. The true regret lies in the interval, given the uncertainty of every payoff."
        ),
        html.table(
            ["one population", "the other", "payoffs", "true regret within"],
            [_equilibrium_row(e) for e in found[:MOST_EQUILIBRIA]],
        ),
    ]
    if len(found) > MOST_EQUILIBRIA:
        parts.append(html.paragraph(f"{len(found) - MOST_EQUILIBRIA} more are left out here."))
    parts += [
        html.table(
            ["player", "alpha-rank", "95% within", "Elo", "gain of its best exploiter", "who"],
            _player_rows(league, report),
            {
                "alpha-rank": "share of time that a large population under selection spends with it",
                "Elo": "fitted to who earns more when two meet; "
                f"{report['ratings']['cyclic_share']:.0%} of these differences are cyclic, as in "
                "rock-paper-scissors, and no rating can show them",
                "gain of its best exploiter": "by entering a population of the player",
            },
        ),
    ]
    if len(league.players) >= 3:
        caption = "Where a population of these three players moves; circles mark points of rest."
        with matplotlib.rc_context(STYLE):
            picture = to_svg(draw_population(league, report))
        parts.append(html.figure(picture, caption))
    parts += [html.paragraph(note) for note in report["notes"]]
    return html.section("Analysis", *parts)


def _equilibrium_row(found: Report) -> list[str]:
    low, high = found["regret_interval"]
    mixtures = [
        ", ".join(f"{name} {share:.2f}" for name, share in found["strategies"][side].items())
        for side in ("row", "column")
    ]
    return [*mixtures, ", ".join(f"{x:.3f}" for x in found["payoffs"]), f"{low:.3f} to {high:.3f}"]


def _player_rows(league: League, report: Report) -> list[list[Any]]:
    rank, exploited = report["alpha_rank"], report["exploitability"]
    rows: list[list[Any]] = []
    for i, name in enumerate(league.players):
        share = "-" if rank is None else f"{rank['distribution'][i]:.3f}"
        known = rank is not None and "low" in rank
        interval = f"{rank['low'][i]:.2f} to {rank['high'][i]:.2f}" if known else "-"
        elo = f"{report['ratings']['elo'][i]:+.0f}"
        gain = float(exploited["by_league"][i])
        who = exploited["exploiter"][i] if gain > 0 else "nobody"
        rows.append([name, share, interval, elo, gain, who])
    return rows
