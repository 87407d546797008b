"""LOQA in the Coin Game.

Source: Aghajohari et al., 2024, "LOQA: Learning with Opponent Q-Learning Awareness", and the authors'
checkpoints.
"""

from dataclasses import dataclass

from comity.studies.base import RESULTS
from comity.studies.claim_study import ClaimStudy
from comity.studies.claims import Claim


@dataclass(frozen=True)
class CoinLoqa(ClaimStudy):
    """LOQA in the Coin Game."""

    name = "coin-loqa"
    title = "loqa in coin"
    note = "Published: the authors' ten checkpoints at each horizon."
    needs = "400 CPU-seconds a seed"
    committed = RESULTS / "coin-loqa.json"
    game = "coin"
    agent = "loqa"
    claims = (
        Claim("self-play", "self", horizon=50, published=0.316, must=0.30),
        Claim("with always-cooperate", "own", "always-cooperate", 50, published=0.353, must=0.34),
        Claim("  always-cooperate earns", "other", "always-cooperate", 50, published=0.320),
        Claim("against always-defect", "own", "always-defect", 50, published=-0.053, must=-0.06),
        Claim("  always-defect earns", "other", "always-defect", 50, published=0.114),
        Claim("self-play", "self", horizon=16, published=0.300),
        Claim("with always-cooperate", "own", "always-cooperate", 16, published=0.364),
        Claim("against always-defect", "own", "always-defect", 16, published=-0.107),
    )
