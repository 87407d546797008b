"""LOQA in the iterated prisoner's dilemma: five logits learn tit-for-tat.

Source: Aghajohari et al., 2024, "LOQA: Learning with Opponent Q-Learning Awareness".
"""

from dataclasses import dataclass

from comity.studies.base import RESULTS
from comity.studies.claim_study import ClaimStudy
from comity.studies.claims import Claim


@dataclass(frozen=True)
class IPDLoqa(ClaimStudy):
    """LOQA in the iterated prisoner's dilemma: five logits learn tit-for-tat."""

    name = "ipd-loqa"
    title = "loqa in prisoners-dilemma"
    note = "Five logits. The paper says that it learns tit-for-tat, whose probabilities stand here."
    needs = "45 CPU-seconds a seed"
    committed = RESULTS / "ipd-loqa.json"
    game = "prisoners-dilemma"
    agent = "loqa"
    claims = (
        Claim("self-play", "self", horizon=50, must=-1.10, aim=-1.0),
        Claim("against always-defect", "own", "always-defect", 50, must=-2.10),
        Claim("with always-cooperate", "own", "always-cooperate", 50),
        Claim("P(C) at the start", "cooperates", "start", 50, published=1.0, must=0.90),
        Claim("P(C) after CC", "cooperates", "CC", 50, published=1.0, must=0.90),
        Claim("P(C) after CD", "cooperates", "CD", 50, published=0.0, must=0.25, sign=-1),
        Claim("P(C) after DC", "cooperates", "DC", 50, published=1.0),
        Claim("P(C) after DD", "cooperates", "DD", 50, published=0.0),
    )
