"""Advantage Alignment in the iterated prisoner's dilemma: ten seeds learn to reciprocate.

Source: Duque et al., 2024, "Advantage Alignment Algorithms".
"""

from dataclasses import dataclass

from comity.studies.base import RESULTS
from comity.studies.claim_study import ClaimStudy
from comity.studies.claims import Claim


@dataclass(frozen=True)
class IPD(ClaimStudy):
    """Advantage Alignment in the iterated prisoner's dilemma: ten seeds learn to reciprocate."""

    name = "ipd"
    title = "adalign in prisoners-dilemma"
    note = "The paper shows its result as a picture close to tit-for-tat, whose probabilities stand here."
    needs = "28 CPU-seconds a seed"
    committed = RESULTS / "ipd.json"
    game = "prisoners-dilemma"
    agent = "adalign"
    claims = (
        Claim("self-play", "self", horizon=16, must=-1.10, aim=-1.0),
        Claim("against always-defect", "own", "always-defect", 16, must=-2.10),
        Claim("with always-cooperate", "own", "always-cooperate", 16),
        Claim("P(C) at the start", "cooperates", "start", 16, published=1.0, must=0.90),
        Claim("P(C) after CC", "cooperates", "CC", 16, published=1.0, must=0.95),
        Claim("P(C) after CD", "cooperates", "CD", 16, published=0.0, must=0.15, sign=-1),
        Claim("P(C) after DC", "cooperates", "DC", 16, published=1.0),
        Claim("P(C) after DD", "cooperates", "DD", 16, published=0.0),
    )
