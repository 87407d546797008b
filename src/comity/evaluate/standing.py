"""How players stand in a league: what they make of their own kind, and what others can take from them."""

from typing import NamedTuple

import numpy as np

from comity.evaluate.league import League


class Standing(NamedTuple):
    """One player of a league, in rewards per step."""

    player: str
    self_play: float  # with its own kind
    half: float  # of the 95% interval of self-play
    exploitation: float  # the most that an opponent earns more than it when they meet; 0 if nobody does
    exploiter: str  # who that is; "" if nobody earns more
    worst: float  # against the opponent that leaves it least
    mean: float  # over all players of the league

    @property
    def secured(self) -> float:
        """Self-play less exploitation: high only for who cooperates and is not exploited."""
        return self.self_play - self.exploitation


def standings(league: League) -> list[Standing]:
    """All players, the best first, by self-play less exploitation.

    The mean over all opponents is not what a league of social dilemmas is about: whoever exploits the most
    fools has the highest.
    """
    rows = []
    for i, name in enumerate(league.players):
        loss = league.mean[:, i] - league.mean[i]
        by = int(np.argmax(loss))
        taken = max(float(loss[by]), 0.0)
        rows.append(
            Standing(
                name,
                self_play=float(league.mean[i, i]),
                half=float(league.high[i, i] - league.low[i, i]) / 2,
                exploitation=taken,
                exploiter=league.players[by] if taken > 0 else "",
                worst=float(league.mean[i].min()),
                mean=float(league.mean[i].mean()),
            )
        )
    return sorted(rows, key=lambda row: -row.secured)
