"""Published results and what Comity's players must reach, game by game, as data.

Sources: Duque et al., 2024, "Advantage Alignment Algorithms" (leagues of figures 2 and 3); for the Coin
Game also the authors' checkpoints, measured at equal horizons. Aghajohari et al., 2024, "LOQA".
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Claim:
    """A number: what a player earns per step, or what the other earns, or how often it cooperates.

    `kind` is `self` (seeds against themselves), `own` and `other` (against a scripted player),
    `worst-self` (the worst seed), or `cooperates` (P(cooperate) in a state). `sign` is 1 where more is
    better and -1 where less is.
    """

    label: str
    kind: Literal["self", "worst-self", "own", "other", "cooperates"]
    against: str = ""
    horizon: int = 50
    published: float | None = None
    must: float | None = None
    aim: float | None = None
    sign: int = 1


@dataclass(frozen=True)
class Study:
    """A game, the agent that is studied in it, and the claims about it."""

    game: str
    agent: str
    claims: tuple[Claim, ...]
    note: str
    seeds: int = 10


STUDIES = {
    "ipd": Study(
        "prisoners-dilemma",
        "adalign",
        (
            Claim("self-play", "self", horizon=16, must=-1.10, aim=-1.0),
            Claim("against always-defect", "own", "always-defect", 16, must=-2.10),
            Claim("with always-cooperate", "own", "always-cooperate", 16),
            Claim("P(C) at the start", "cooperates", "start", 16, published=1.0, must=0.90),
            Claim("P(C) after CC", "cooperates", "CC", 16, published=1.0, must=0.95),
            Claim("P(C) after CD", "cooperates", "CD", 16, published=0.0, must=0.15, sign=-1),
            Claim("P(C) after DC", "cooperates", "DC", 16, published=1.0),
            Claim("P(C) after DD", "cooperates", "DD", 16, published=0.0),
        ),
        "The paper shows its result as a picture close to tit-for-tat, whose probabilities stand here.",
    ),
    "ipd-loqa": Study(
        "prisoners-dilemma",
        "loqa",
        (
            Claim("self-play", "self", horizon=50, must=-1.10, aim=-1.0),
            Claim("against always-defect", "own", "always-defect", 50, must=-2.10),
            Claim("with always-cooperate", "own", "always-cooperate", 50),
            Claim("P(C) at the start", "cooperates", "start", 50, published=1.0, must=0.90),
            Claim("P(C) after CC", "cooperates", "CC", 50, published=1.0, must=0.90),
            Claim("P(C) after CD", "cooperates", "CD", 50, published=0.0, must=0.25, sign=-1),
            Claim("P(C) after DC", "cooperates", "DC", 50, published=1.0),
            Claim("P(C) after DD", "cooperates", "DD", 50, published=0.0),
        ),
        "Five logits. The paper says that it learns tit-for-tat, whose probabilities stand here.",
    ),
    "coin": Study(
        "coin",
        "adalign",
        (
            Claim("self-play", "self", horizon=50, published=0.305, must=0.30, aim=0.33),
            Claim("self-play, worst seed", "worst-self", horizon=50, published=0.19, must=0.25),
            Claim("with always-cooperate", "own", "always-cooperate", 50, published=0.352, must=0.34),
            Claim("  always-cooperate earns", "other", "always-cooperate", 50, published=0.331, must=0.30),
            Claim(
                "against always-defect", "own", "always-defect", 50, published=-0.062, must=-0.06, aim=-0.03
            ),
            Claim("  always-defect earns", "other", "always-defect", 50, published=0.109),
            Claim("self-play", "self", horizon=16, published=0.290, must=0.285),
            Claim("with always-cooperate", "own", "always-cooperate", 16, published=0.352),
            Claim("  always-cooperate earns", "other", "always-cooperate", 16, published=0.319),
            Claim("against always-defect", "own", "always-defect", 16, published=-0.070, must=-0.08),
            Claim("  always-defect earns", "other", "always-defect", 16, published=0.134),
            Claim("against random", "own", "random", 16, published=0.261),
        ),
        "Published: the authors' ten checkpoints at each horizon; against random, the paper's league.",
    ),
    "coin-loqa": Study(
        "coin",
        "loqa",
        (
            Claim("self-play", "self", horizon=50, published=0.316, must=0.30),
            Claim("with always-cooperate", "own", "always-cooperate", 50, published=0.353, must=0.34),
            Claim("  always-cooperate earns", "other", "always-cooperate", 50, published=0.320),
            Claim("against always-defect", "own", "always-defect", 50, published=-0.053, must=-0.06),
            Claim("  always-defect earns", "other", "always-defect", 50, published=0.114),
            Claim("self-play", "self", horizon=16, published=0.300),
            Claim("with always-cooperate", "own", "always-cooperate", 16, published=0.364),
            Claim("against always-defect", "own", "always-defect", 16, published=-0.107),
        ),
        "Published: the authors' ten checkpoints at each horizon.",
    ),
    "ipd-pola": Study(
        "prisoners-dilemma",
        "pola",
        (
            Claim("self-play", "self", horizon=32, published=0.33, must=0.28),
            Claim("against always-defect", "own", "always-defect", 32, published=0.0, must=-0.05),
            Claim("with always-cooperate", "own", "always-cooperate", 32),
            Claim("P(C) at the start", "cooperates", "start", 32, published=1.0),
            Claim("P(C) after CC", "cooperates", "CC", 32, published=1.0),
            Claim("P(C) after CD", "cooperates", "CD", 32, published=0.0),
            Claim("P(C) after DC", "cooperates", "DC", 32, published=1.0),
            Claim("P(C) after DD", "cooperates", "DD", 32, published=0.0),
        ),
        "POLA's payoffs: CC .33, CD -.335, DC .665, DD 0; policies with memory (GRU). The paper shows curves "
        "close to what tit-for-tat earns, whose numbers stand here.",
        seeds=5,
    ),
    "coin-pola": Study(
        "coin",
        "pola",
        (
            Claim("self-play", "self", horizon=50, published=0.193, must=0.15),
            Claim("with always-cooperate", "own", "always-cooperate", 50, published=0.375),
            Claim("  always-cooperate earns", "other", "always-cooperate", 50, published=0.286),
            Claim("against always-defect", "own", "always-defect", 50, published=-0.032),
            Claim("  always-defect earns", "other", "always-defect", 50, published=0.068),
            Claim("self-play", "self", horizon=16),
            Claim("with always-cooperate", "own", "always-cooperate", 16),
            Claim("against always-defect", "own", "always-defect", 16),
        ),
        "Published: the league of the Advantage Alignment paper, which does not keep horizons apart.",
        seeds=3,
    ),
    "negotiation": Study(
        "negotiation",
        "adalign",
        (
            Claim("self-play", "self", horizon=50, published=0.314, must=0.40, aim=0.45),
            Claim("against always-defect", "own", "always-defect", 50, published=0.284, must=0.28),
            Claim("  always-defect earns", "other", "always-defect", 50, published=0.324),
            Claim("with always-cooperate", "own", "always-cooperate", 50, published=0.418, must=0.42),
            Claim("  always-cooperate earns", "other", "always-cooperate", 50, published=0.371, must=0.37),
        ),
        "Published: the paper's league, of an intermediate run; its training curve rises above .40 later.",
    ),
}
