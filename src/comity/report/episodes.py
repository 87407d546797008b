"""The page about many episodes of the same players: their kinds, one of each, who helps or harms whom."""

from collections.abc import Sequence

from comity.core.agent import Player
from comity.core.game import Environment, PerSeat
from comity.evaluate.clusters import Clusters
from comity.evaluate.influence import Influence
from comity.evaluate.replay import replay
from comity.report import html, replays, sections, social
from comity.report.verdicts import episodes_verdict

MOST_FRAMES = 60  # of an animation: longer episodes leave moments out


def episodes_page(
    title: str,
    game: Environment,
    players: PerSeat[Player],
    labels: Sequence[str],
    found: Clusters,
    influence: Influence | None,
    command: str,
) -> str:
    """The whole page."""
    who = ", ".join(f"{seat.name} is {label}" for seat, label in zip(game.seats, labels, strict=True))
    lead = f"{len(found.labels)} episodes of at most {game.horizon} steps; {who}."
    parts = [
        social.clusters_section(found, [seat.name for seat in game.seats]),
        _one_of_each(title, game, players, labels, found),
        *([] if influence is None else [social.influence_section(influence)]),
        sections.repeat_section([command], {}),
    ]
    return html.page(f"{title}: kinds of episodes", episodes_verdict(found, influence), parts, lead)


def _one_of_each(
    title: str, game: Environment, players: PerSeat[Player], labels: Sequence[str], found: Clusters
) -> str:
    """The episode nearest to the middle of each kind, as an animation."""
    pictures = []
    for number, kind in enumerate(found.clusters, 1):
        shown = replay(
            game,
            players,
            found.seed,
            names=labels,
            title=f"{title}, kind {number}",
            episode=kind.representative,
        )
        every = -(-len(shown.moments) // MOST_FRAMES)
        moving = replays.animation(replays.frames(shown, every))
        some = "" if every == 1 else f" Every {every} steps are shown."
        caption = f"Kind {number}, {kind.share:.0%} of all: episode {kind.representative}.{some}"
        pictures.append(html.image(moving, "gif", caption))
    return html.section("One episode of each kind", html.side_by_side(*pictures))
