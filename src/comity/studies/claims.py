"""Claims about trained players, and what the players reach, with confidence intervals over seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from comity.core.agent import Player
from comity.core.game import Environment
from comity.evaluate.behaviour import behaviour
from comity.evaluate.league import League, play_league
from comity.evaluate.statistics import Interval, bootstrap_mean

TREMBLE = 0.05
COOPERATE, DEFECT = "always-cooperate", "always-defect"


@dataclass(frozen=True)
class Claim:
    """A number: what a player earns per step, or what the other earns, or how often it cooperates.

    `kind` is `self` (seeds against themselves), `own` and `other` (against a scripted player),
    `worst-self` (the worst seed), or `cooperates` (P(cooperate) in a state). `sign` is 1 where more is
    better and -1 where less is. `must` is the bar; it stands beside what others reached:

    - `published`: printed in a paper,
    - `checkpoints`: measured again, at this horizon, from the players that the authors distribute,
    - `tit_for_tat`: what tit-for-tat does, where the paper only says that its players come close to it.
    """

    label: str
    kind: Literal["self", "worst-self", "own", "other", "cooperates"]
    against: str = ""
    horizon: int = 50
    must: float = math.nan  # no default that could hold by itself
    published: float | None = None
    checkpoints: float | None = None
    tit_for_tat: float | None = None
    aim: float | None = None
    sign: int = 1


class Measured(NamedTuple):
    """A claim, what each seed reached, and the mean with its interval over seeds."""

    claim: Claim
    seeds: Float[np.ndarray, " seeds"]
    interval: Interval

    @property
    def holds(self) -> bool:
        """Whether the mean reaches the bar."""
        return bool(self.claim.sign * (self.interval.mean - self.claim.must) >= 0)

    def to_data(self) -> dict[str, Any]:
        """For JSON."""
        claim = self.claim
        worst, best = sorted((float(self.seeds.min()), float(self.seeds.max())), reverse=claim.sign < 0)
        return {
            "label": claim.label,
            "kind": claim.kind,
            "against": claim.against,
            "horizon": claim.horizon,
            "published": claim.published,
            "checkpoints": claim.checkpoints,
            "tit_for_tat": claim.tit_for_tat,
            "must": claim.must,
            "aim": claim.aim,
            "mean": float(self.interval.mean),
            "low": float(self.interval.low),
            "high": float(self.interval.high),
            "worst": worst,
            "best": best,
            "seeds": [float(x) for x in self.seeds],
            "holds": self.holds,
        }


def measure(
    claims: Sequence[Claim],
    game: Environment,
    players: list[Player],
    scripted: dict[str, Player],
    episodes: int = 200,
    seed: int = 0,
) -> tuple[list[Measured], dict[int, League]]:
    """Plays a league of all seeds and scripted players at every horizon that the claims name."""
    names = {f"seed {i}": player for i, player in enumerate(players)}
    leagues = {
        horizon: play_league(game, {**names, **scripted}, episodes, horizon, seed)
        for horizon in sorted({claim.horizon for claim in claims})
    }
    states = _cooperation(game, players, seed) if any(c.kind == "cooperates" for c in claims) else {}
    measured = []
    for claim in claims:
        values = _values(claim, leagues[claim.horizon], len(players), states)
        if claim.kind == "worst-self":
            worst = float(values.min())
            measured.append(Measured(claim, values, Interval(worst, worst, worst)))
        else:
            measured.append(Measured(claim, values, bootstrap_mean(values)))
    return measured, leagues


def _values(
    claim: Claim, league: League, seeds: int, states: dict[str, Float[np.ndarray, " seeds"]]
) -> Float[np.ndarray, " seeds"]:
    if claim.kind == "cooperates":
        return states[claim.against]
    if claim.kind in ("self", "worst-self"):
        return np.diag(league.mean)[:seeds]
    other = league.players.index(claim.against)
    return league.mean[:seeds, other] if claim.kind == "own" else league.mean[other, :seeds]


def _cooperation(
    game: Environment, players: list[Player], seed: int
) -> dict[str, Float[np.ndarray, " seeds"]]:
    """P(cooperate) of each seed in each state, against copies of itself with hands that tremble at times."""
    found = []
    for player in players:
        seen = behaviour(game, player, player, jax.random.key(seed), episodes=4096, tremble=TREMBLE)
        assert seen is not None
        found.append(seen)
    table = np.stack([seen.probability[:, 0] for seen in found])
    return {state: table[:, s] for s, state in enumerate(found[0].states)}
