"""LOQA in the iterated prisoner's dilemma: five logits learn tit-for-tat.

Source: Aghajohari et al., 2024, "LOQA: Learning with Opponent Q-Learning Awareness".
"""

from dataclasses import dataclass

from comity.studies.base import RESULTS
from comity.studies.claim_study import ClaimStudy
from comity.studies.claims import COOPERATE, DEFECT, Claim


@dataclass(frozen=True)
class IPDLoqa(ClaimStudy):
    """LOQA in the iterated prisoner's dilemma: five logits learn tit-for-tat."""

    name = "ipd-loqa"
    title = "loqa in prisoners-dilemma"
    note = "Five logits. The paper prints no numbers: it says that its agents learn tit-for-tat."
    needs = "45 CPU-seconds a seed"
    committed = RESULTS / "ipd-loqa.json"
    game = "prisoners-dilemma"
    agent = "loqa"
    additions = "The term is the paper's, in closed form; the other settings are ours."
    claims = (
        Claim("self-play", "self", must=-1.10, tit_for_tat=-1.0, aim=-1.0),
        Claim("against always-defect", "own", DEFECT, must=-2.10, tit_for_tat=-2.02),
        Claim("with always-cooperate", "own", COOPERATE, must=-1.10, tit_for_tat=-1.0),
        Claim("P(C) at the start", "cooperates", "start", must=0.90, tit_for_tat=1.0),
        Claim("P(C) after CC", "cooperates", "CC", must=0.90, tit_for_tat=1.0),
        Claim("P(C) after CD", "cooperates", "CD", must=0.25, tit_for_tat=0.0, sign=-1),
        Claim("P(C) after DC", "cooperates", "DC", must=0.75, tit_for_tat=1.0),
        Claim("P(C) after DD", "cooperates", "DD", must=0.25, tit_for_tat=0.0, sign=-1),
    )
