r"""Who helps or harms whom: the effect of a player's presence on what others earn.

The effect of j on i is counterfactual, what i earns with j less what it earns with a baseline in j's place:

    in a league     effect[j, i] = u_i(j) - u_i(baseline),  u_i(b) what i earns when b has all other seats
    among seats     effect[s, t] = R_t(all players) - R_t(all players, but the baseline in seat s)

The baseline of a league is one of its players by name, or the average player: one drawn evenly from the
league. Positive is help, negative harm, against that baseline and no other: against a worse one everybody
helps.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from comity.core.agent import Player
from comity.core.errors import require, unknown_name
from comity.core.game import Environment, PerSeat
from comity.evaluate.exploitability import Meetings
from comity.evaluate.league import League
from comity.evaluate.statistics import bootstrap_mean

AVERAGE = "the average player"

Effects = Float[np.ndarray, "source target"]


class Influence(NamedTuple):
    """`effect[s, t]`: what t earns more per step because of s, with a 95% interval; NaN where not defined."""

    names: tuple[str, ...]
    baseline: str
    effect: Effects
    low: Effects
    high: Effects

    @property
    def certain(self) -> np.ndarray:
        """Where the interval does not hold 0, rounding apart: only these effects are drawn."""
        rounding = 1e-9 * max(1.0, float(np.nanmax(np.abs(self.effect))))
        return (self.low > rounding) | (self.high < -rounding)

    def to_data(self) -> dict[str, Any]:
        """As JSON data; null where an effect is not defined."""
        tables = {name: getattr(self, name) for name in ("effect", "low", "high")}
        plain = {
            name: [[None if np.isnan(x) else x for x in row] for row in own.tolist()]
            for name, own in tables.items()
        }
        return {"names": list(self.names), "baseline": self.baseline, **plain}


def league_influence(league: League, baseline: str = "") -> Influence:
    """Who helps or harms whom in a league; `baseline` is one of its players, by default the average one.

    The interval takes the intervals of the two payoffs as independent.
    """
    count = len(league.players)
    if baseline and baseline not in league.players:
        raise unknown_name("player of the league", baseline, league.players)
    weights = np.full(count, 1.0 / count)
    if baseline:
        weights = (np.asarray(league.players) == baseline).astype(np.float64)
    contrast = np.eye(count) - weights[None, :]  # [source, other]
    effect = contrast @ league.mean.T
    half = np.sqrt(contrast**2 @ (((league.high - league.low) / 2) ** 2).T)
    return Influence(league.players, baseline or AVERAGE, effect, effect - half, effect + half)


def seat_influence(
    game: Environment,
    players: PerSeat[Player],
    baseline: PerSeat[Player],
    *,
    name: str = "random",
    episodes: int = 256,
    seed: int = 0,
) -> Influence:
    """Who helps or harms whom among players in their seats; each in turn is replaced by its baseline."""
    seats = range(len(game.seats))
    require(
        len(players) == len(baseline) == len(seats), "players", len(players), f"{len(seats)}, one per seat"
    )
    meetings = Meetings(game, episodes, seed)
    together = meetings.earned(players)
    found = np.full((3, len(seats), len(seats)), np.nan)
    for source in seats:
        without = meetings.earned(tuple(baseline[s] if s == source else players[s] for s in seats))
        for target in seats:
            if target != source:
                found[:, source, target] = bootstrap_mean(together[target] - without[target], seed=seed)
    return Influence(tuple(seat.name for seat in game.seats), name, *found)
