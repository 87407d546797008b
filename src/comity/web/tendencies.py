"""What others did so far in a game, in a few figures for the person who plays it."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from comity.core.spaces import Discrete, say
from comity.evaluate.replay import Replay

MOST_ACTIONS = 10  # of which shares are shown
Cooperation = Sequence[Sequence[tuple[float, float]] | None]  # of each step and seat: how much of how many


def tendencies(about: Replay, person: int, cooperation: Cooperation) -> list[dict[str, Any]]:
    """For each other seat: how it cooperates, after what the person did, and which actions it takes."""
    found = []
    for seat, place in enumerate(about.seats):
        if seat == person:
            continue
        facts = cooperation_facts(cooperation, seat, person)
        space = place.action
        if isinstance(space, Discrete) and space.n <= MOST_ACTIONS:
            taken = [moment.actions[seat] for moment in about.moments[1:] if moment.actions[seat] is not None]
            counts = Counter(say(space, own) for own in taken)
            facts += [
                {"name": f"plays {label}", "share": count / len(taken), "count": len(taken)}
                for label, count in counts.most_common()
            ]
        found.append({"seat": seat, "name": place.name, "player": about.players[seat], "facts": facts})
    return found


def cooperation_facts(cooperation: Cooperation, seat: int, person: int) -> list[dict[str, Any]]:
    """A seat's share of cooperative choices in all, and by what the person's last choice was."""
    sums = {"cooperates": [0.0, 0.0], "after you did": [0.0, 0.0], "after you did not": [0.0, 0.0]}
    last: bool | None = None  # whether the person cooperated when it last had a choice
    for step in cooperation:
        if step is None:
            continue
        amount, choices = step[seat]
        names = ["cooperates"]
        if last is not None:
            names.append("after you did" if last else "after you did not")
        for name in names:
            sums[name][0] += amount
            sums[name][1] += choices
        own, own_choices = step[person]
        last = own > 0.5 * own_choices if own_choices > 0 else last
    return [
        {"name": name, "share": amount / choices, "count": round(choices)}
        for name, (amount, choices) in sums.items()
        if choices > 0
    ]
