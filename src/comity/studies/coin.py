"""Advantage Alignment in the Coin Game.

Source: Duque et al., 2024, "Advantage Alignment Algorithms" (league of figure 2), and the authors'
checkpoints, measured at equal horizons.
"""

from dataclasses import dataclass

from comity.studies.base import RESULTS
from comity.studies.claim_study import ClaimStudy
from comity.studies.claims import Claim


@dataclass(frozen=True)
class Coin(ClaimStudy):
    """Advantage Alignment in the Coin Game."""

    name = "coin"
    title = "adalign in coin"
    note = "Published: the authors' ten checkpoints at each horizon; against random, the paper's league."
    needs = "400 CPU-seconds a seed"
    committed = RESULTS / "coin.json"
    game = "coin"
    agent = "adalign"
    claims = (
        Claim("self-play", "self", horizon=50, published=0.305, must=0.30, aim=0.33),
        Claim("self-play, worst seed", "worst-self", horizon=50, published=0.19, must=0.25),
        Claim("with always-cooperate", "own", "always-cooperate", 50, published=0.352, must=0.34),
        Claim("  always-cooperate earns", "other", "always-cooperate", 50, published=0.331, must=0.30),
        Claim("against always-defect", "own", "always-defect", 50, published=-0.062, must=-0.06, aim=-0.03),
        Claim("  always-defect earns", "other", "always-defect", 50, published=0.109),
        Claim("self-play", "self", horizon=16, published=0.290, must=0.285),
        Claim("with always-cooperate", "own", "always-cooperate", 16, published=0.352),
        Claim("  always-cooperate earns", "other", "always-cooperate", 16, published=0.319),
        Claim("against always-defect", "own", "always-defect", 16, published=-0.070, must=-0.08),
        Claim("  always-defect earns", "other", "always-defect", 16, published=0.134),
        Claim("against random", "own", "random", 16, published=0.261),
    )
