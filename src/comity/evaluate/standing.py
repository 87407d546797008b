"""How players stand in a league: what they make of their own kind, and what others can take from them."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from comity.evaluate.league import League, Outcome
from comity.evaluate.league.result import Matrix


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


def best_first(league: League) -> League:
    """The same league with its players in the order of their standings."""
    order = [league.players.index(row.player) for row in standings(league)]
    rows, columns = np.ix_(order, order)

    def sorted_table(table: np.ndarray) -> np.ndarray:
        return table[..., rows, columns]

    return replace(
        league,
        players=tuple(league.players[i] for i in order),
        mean=sorted_table(league.mean),
        low=sorted_table(league.low),
        high=sorted_table(league.high),
        by_seat=None if league.by_seat is None else sorted_table(league.by_seat),
        samples=None if league.samples is None else league.samples[rows, columns],
        outcomes={name: Outcome(*map(sorted_table, found)) for name, found in league.outcomes.items()},
    )


def leads(league: League) -> Matrix:
    """What each row player earns more than the column player in the same meetings, 0 for one and itself.

    Of more than two seats, the row player sits in one and copies of the column player in all others: so
    entry [j, i] is what a single j takes from a group of i. A league without outcomes (a table made by hand,
    an old file) knows only who earned what on average, which of two seats is the same.
    """
    if len(league.seats) == 1:  # nobody meets anybody
        return np.zeros_like(league.mean)
    if len(league.seats) < 3 or "lead" not in league.outcomes:
        return league.mean - league.mean.T
    own = np.eye(len(league.players), dtype=bool)
    return np.where(own, 0.0, league.outcomes["lead"].mean)


def standings(league: League) -> list[Standing]:
    """All players, the best first, by self-play less exploitation.

    The mean over all opponents is not what a league of social dilemmas is about: whoever exploits the most
    fools has the highest.
    """
    rows = []
    lead = leads(league)
    for i, name in enumerate(league.players):
        loss = lead[:, i]
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
