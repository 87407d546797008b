"""Social outcomes and emergent behaviour on pages: tables, and who helps or harms whom as a graph."""

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from comity.core import palette
from comity.evaluate.clusters import Clusters
from comity.evaluate.comparison import final_score
from comity.evaluate.convergence import Convergence, convergence
from comity.evaluate.curves import Metrics
from comity.evaluate.influence import Influence
from comity.evaluate.league import League
from comity.report import html

OUTCOMES = {
    "utilitarian_welfare": ("utilitarian welfare", "what all seats earn together, per step"),
    "egalitarian_welfare": ("egalitarian welfare", "what the seat earns that earns least"),
    "nash_welfare": ("Nash welfare", "geometric mean of gains over disagreement; 0 if one gains nothing"),
    "equality": ("equality", "from 0 (one has all) to 1 (all have the same), whatever the signs"),
    "cooperation": ("cooperation", "share of choices that were cooperative"),
    "exploitation_gap": ("exploitation gap", "what the best other seat earns more, per step"),
}
WIDTH, HEIGHT, RADIUS, NODE = 480, 350, 108, 17  # pixels; its text can be read at 370
INK, PAPER = f"var(--ink, {palette.INK})", f"var(--paper, {palette.PAPER})"
LONGEST = 13  # letters of a name that fit beside the graph; the whole name shows when one points at it

Point = tuple[float, float]


def outcomes_section(league: League) -> str:
    """What comes of each player with its own kind and with others: nothing where a file has no outcomes."""
    names = [name for name in OUTCOMES if name in league.outcomes]
    if not names:
        return ""
    others = ~np.eye(len(league.players), dtype=bool)
    rows = []
    for i, player in enumerate(league.players):
        cells: list[str] = [player]
        for name in names:
            found = league.outcomes[name]
            cells.append(_cell(found.mean[i, i], (found.high[i, i] - found.low[i, i]) / 2))
        if "cooperation" in names:
            shares = league.outcomes["cooperation"].mean[i][others[i]]
            known = shares[~np.isnan(shares)]
            cells.append(_cell(known.mean() if known.size else math.nan))
        rows.append(cells)
    explain = dict(OUTCOMES[name] for name in names)
    if "cooperation" in names:
        explain["cooperation with others"] = "the same against all other players here, averaged"
    note = "With its own kind, ± half the 95% interval."
    return html.section("Social outcomes", html.note(note), html.table(["player", *explain], rows, explain))


def influence_section(influence: Influence) -> str:
    """Who helps or harms whom, as a graph and in words."""
    if len(influence.names) < 2:
        return ""
    caption = (
        f"An arrow from one to another: what the other earns more per step because of it, against "
        f"{influence.baseline} in its place. Solid blue helps, dashed red harms, the wider the more; rings "
        f"are effects on its own kind. Only effects whose 95% interval does not hold 0 are drawn."
    )
    return html.section("Who helps or harms whom", html.figure(influence_graph(influence), caption))


def clusters_section(found: Clusters, seats: Sequence[str]) -> str:
    """Kinds of episodes, with one to look at of each."""
    features = features_heading(found)
    about = "the features that differ most from the mean over all episodes"
    if len(found.clusters) == 1:
        about = "some features, how often or how much on average"
    explain = {
        "share": "of all episodes",
        features: about,
        "episode": f"the one nearest to the middle: replay it with seed {found.seed} and this number",
    }
    headings = ["kind", "share", *(f"reward of {seat}" for seat in seats), features, "episode"]
    rows = [
        [k, f"{own.share:.0%}", *own.reward, "; ".join(own.typical), own.representative]
        for k, own in enumerate(found.clusters, 1)
    ]
    alike = "All episodes are of one kind." if len(found.clusters) == 1 else ""
    text = alike or f"k-means on what was done in each episode; mean silhouette {found.silhouette:.2f}."
    return html.section("Kinds of episodes", html.note(text), html.table(headings, rows, explain))


def features_heading(found: Clusters) -> str:
    """What a kind's features are: one kind alone is set apart from nothing."""
    return "what was done" if len(found.clusters) == 1 else "what sets it apart"


def training_section(runs: Sequence[Metrics], metric: str) -> str:
    """The social outcomes that runs end with, and how fast they came to rest."""
    logged = dict.fromkeys(name for rows in runs for row in rows[-1:] for name in row)
    names = [name for name in logged if name.startswith("outcome/")]
    if not names:
        return ""
    rows = []
    for name in [metric, *names]:
        finals = [score for own in runs if (score := final_score(own, name)) is not None]
        found = [rest for own in runs if (rest := convergence(own, name)) is not None]
        if finals:
            rows.append([_title(name), _cell(float(np.mean(finals))), *_rest_cells(found)])
    explain = {
        "final": "mean over the last tenth of the iterations, and over seeds",
        "half-life": "iterations until the curve stays within half of its way to where it ends",
        "at rest": "how many runs no longer moved: their last two tenths do not differ",
    }
    return html.section("Social outcomes", html.table(["outcome", *explain], rows, explain))


def _rest_cells(found: Sequence[Convergence]) -> list[str]:
    lives = [own.half_life for own in found if not math.isnan(own.half_life)]
    resting = sum(own.at_rest for own in found)
    return [f"{np.mean(lives):.0f}" if lives else "-", f"{resting} of {len(found)}" if found else "-"]


def _title(name: str) -> str:
    first, _, rest = name.removeprefix("outcome/").partition("/")
    title = OUTCOMES.get(first, (first.replace("_", " "), ""))[0]
    return f"{title} of {rest}" if rest else title


def _cell(value: float, half: float = 0.0) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.3f} ±{half:.3f}" if half > 0 else f"{value:.3f}"


def influence_graph(influence: Influence) -> str:
    """The effects that are certain as arrows between names on a circle, as SVG."""
    count = len(influence.names)
    angles = [2 * math.pi * k / count - math.pi / 2 for k in range(count)]
    places = [(WIDTH / 2 + RADIUS * math.cos(a), HEIGHT / 2 + RADIUS * math.sin(a)) for a in angles]
    drawn = np.where(influence.certain, influence.effect, 0.0)
    largest = float(np.abs(drawn).max()) or 1.0
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="sans-serif" font-size="14">'
    ]
    parts += [
        _arrow(places[s], places[t], float(drawn[s, t]), largest)
        for s in range(count)
        for t in range(count)
        if drawn[s, t]
    ]
    for number, ((x, y), angle, name) in enumerate(zip(places, angles, influence.names, strict=True), 1):
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{NODE}" fill="{PAPER}" stroke="{INK}"/>')
        parts.append(_text((x, y), str(number), "middle"))
        away = RADIUS + NODE + 14
        at = (WIDTH / 2 + away * math.cos(angle), HEIGHT / 2 + away * math.sin(angle))
        anchor = "start" if math.cos(angle) > 0.3 else "end" if math.cos(angle) < -0.3 else "middle"
        parts.append(_text(at, name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…", anchor, name))
    return "".join(parts) + "</svg>"


def _arrow(source: Point, target: Point, effect: float, largest: float) -> str:
    """A bent arrow; a ring around the source if it is the target too."""
    colour = palette.BLUE if effect > 0 else palette.VERMILION
    dash = "" if effect > 0 else ' stroke-dasharray="6 4"'
    width = 1.0 + 4.0 * abs(effect) / largest
    style = f'fill="none" stroke="{colour}" stroke-width="{width:.1f}"{dash}'
    (x, y), (u, v) = source, target
    said = f"<title>{effect:+.3f}</title>"
    if source == target:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{NODE + 4}" {style}>{said}</circle>'
    bend = ((x + u) / 2 - (v - y) * 0.14, (y + v) / 2 + (u - x) * 0.14)  # aside: both ways can be seen
    start = _on_way(source, bend, NODE + 8)
    end, tip = _on_way(target, bend, NODE + 17), _on_way(target, bend, NODE + 6)
    wide = 4.0 + width
    long = math.dist(tip, end)
    aside = ((tip[1] - end[1]) / long * wide, (end[0] - tip[0]) / long * wide)
    corners = [tip, (end[0] + aside[0], end[1] + aside[1]), (end[0] - aside[0], end[1] - aside[1])]
    head = " ".join(f"{a:.1f},{b:.1f}" for a, b in corners)
    way = f"M{start[0]:.1f} {start[1]:.1f} Q{bend[0]:.1f} {bend[1]:.1f} {end[0]:.1f} {end[1]:.1f}"
    return f'<path d="{way}" {style}>{said}</path><polygon points="{head}" fill="{colour}"/>'


def _on_way(start: Point, end: Point, by: float) -> Point:
    """The point at some distance from the start on the way to the end."""
    part = by / math.dist(start, end)
    return start[0] + (end[0] - start[0]) * part, start[1] + (end[1] - start[1]) * part


def _text(at: Point, text: str, anchor: str, whole: str = "") -> str:
    said = f"<title>{escape(whole)}</title>" if whole not in ("", text) else ""
    place = f'x="{at[0]:.1f}" y="{at[1] + 4:.1f}" text-anchor="{anchor}" fill="{INK}"'
    return f"<text {place}>{escape(text)}{said}</text>"
