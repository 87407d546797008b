"""POLA in the Coin Game.

Source: Zhao et al., 2022, "Proximal Learning with Opponent-Learning Awareness", as in the league of
Duque et al., 2024.
"""

from dataclasses import dataclass

from comity.studies.base import RESULTS
from comity.studies.claim_study import ClaimStudy
from comity.studies.claims import Claim


@dataclass(frozen=True)
class CoinPola(ClaimStudy):
    """POLA in the Coin Game."""

    seeds: int = 3  # how many seeds

    name = "coin-pola"
    title = "pola in coin"
    note = "Published: the league of the Advantage Alignment paper, which does not keep horizons apart."
    needs = "415 CPU-seconds a seed"
    committed = RESULTS / "coin-pola.json"
    game = "coin"
    agent = "pola"
    claims = (
        Claim("self-play", "self", horizon=50, published=0.193, must=0.15),
        Claim("with always-cooperate", "own", "always-cooperate", 50, published=0.375),
        Claim("  always-cooperate earns", "other", "always-cooperate", 50, published=0.286),
        Claim("against always-defect", "own", "always-defect", 50, published=-0.032),
        Claim("  always-defect earns", "other", "always-defect", 50, published=0.068),
        Claim("self-play", "self", horizon=16),
        Claim("with always-cooperate", "own", "always-cooperate", 16),
        Claim("against always-defect", "own", "always-defect", 16),
    )
