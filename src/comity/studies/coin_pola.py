"""POLA in the Coin Game.

Source: Zhao et al., 2022, "Proximal Learning with Opponent-Learning Awareness", as in the league of
Duque et al., 2024.
"""

from dataclasses import dataclass

from comity.studies.base import RESULTS
from comity.studies.claim_study import ClaimStudy
from comity.studies.claims import COOPERATE, DEFECT, Claim


@dataclass(frozen=True)
class CoinPola(ClaimStudy):
    """POLA in the Coin Game."""

    seeds: int = 3  # how many seeds

    name = "coin-pola"
    title = "pola in coin"
    note = (
        "Published: the league of the Advantage Alignment paper, which mixes pairings of 16 and of 50 steps. "
        "POLA matches in self-play only: it takes more from always-cooperate and loses more to always-defect."
    )
    needs = "415 CPU-seconds a seed"
    committed = RESULTS / "coin-pola.json"
    game = "coin"
    agent = "pola"
    additions = "Ours: imagined steps of a bounded KL divergence (.01), whose effect counts 20 times."
    claims = (
        Claim("self-play", "self", must=0.15, published=0.193),
        Claim("with always-cooperate", "own", COOPERATE, must=0.34, published=0.375),
        Claim("  always-cooperate earns", "other", COOPERATE, must=0.286, published=0.286),
        Claim("against always-defect", "own", DEFECT, must=-0.032, published=-0.032),
        Claim("  always-defect earns", "other", DEFECT, must=0.068, published=0.068, sign=-1),
        Claim("self-play", "self", horizon=16, must=0.15),
        Claim("with always-cooperate", "own", COOPERATE, 16, must=0.34),
        Claim("against always-defect", "own", DEFECT, 16, must=-0.032),
    )
