"""Advantage Alignment in the iterated prisoner's dilemma: ten seeds learn to reciprocate.

Source: Duque et al., 2024, "Advantage Alignment Algorithms".
"""

from dataclasses import dataclass

from comity.studies.base import RESULTS
from comity.studies.claim_study import ClaimStudy
from comity.studies.claims import COOPERATE, DEFECT, Claim


@dataclass(frozen=True)
class IPD(ClaimStudy):
    """Advantage Alignment in the iterated prisoner's dilemma: ten seeds learn to reciprocate."""

    name = "ipd"
    title = "adalign in prisoners-dilemma"
    note = "The paper prints no numbers, only a picture that it calls close to tit-for-tat."
    needs = "28 CPU-seconds a seed"
    committed = RESULTS / "ipd.json"
    game = "prisoners-dilemma"
    agent = "adalign"
    additions = "Ours: a table of action values as critic, and much entropy until late."
    claims = (
        Claim("self-play", "self", horizon=16, must=-1.10, tit_for_tat=-1.0, aim=-1.0),
        Claim("against always-defect", "own", DEFECT, 16, must=-2.10, tit_for_tat=-2.0625),
        Claim("with always-cooperate", "own", COOPERATE, 16, must=-1.10, tit_for_tat=-1.0),
        Claim("P(C) at the start", "cooperates", "start", 16, must=0.90, tit_for_tat=1.0),
        Claim("P(C) after CC", "cooperates", "CC", 16, must=0.95, tit_for_tat=1.0),
        Claim("P(C) after CD", "cooperates", "CD", 16, must=0.15, tit_for_tat=0.0, sign=-1),
        Claim("P(C) after DC", "cooperates", "DC", 16, must=0.85, tit_for_tat=1.0),
        Claim("P(C) after DD", "cooperates", "DD", 16, must=0.15, tit_for_tat=0.0, sign=-1),
    )
