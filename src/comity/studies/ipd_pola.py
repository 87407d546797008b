"""POLA in the iterated prisoner's dilemma, policies with memory.

Source: Zhao et al., 2022, "Proximal Learning with Opponent-Learning Awareness".
"""

from dataclasses import dataclass

from comity.studies.base import RESULTS
from comity.studies.claim_study import ClaimStudy
from comity.studies.claims import COOPERATE, DEFECT, Claim


@dataclass(frozen=True)
class IPDPola(ClaimStudy):
    """POLA in the iterated prisoner's dilemma, policies with memory."""

    seeds: int = 5  # how many seeds

    name = "ipd-pola"
    title = "pola in prisoners-dilemma"
    note = (
        "POLA's payoffs: CC .33, CD -.335, DC .665, DD 0; policies with memory (GRU). The paper prints no "
        "numbers, only curves close to what tit-for-tat earns."
    )
    needs = "106 CPU-seconds a seed"
    committed = RESULTS / "ipd-pola.json"
    game = "prisoners-dilemma"
    agent = "pola"
    additions = "The objective is the paper's; the settings, and a table as critic, are ours."
    claims = (
        Claim("self-play", "self", horizon=32, must=0.28, tit_for_tat=0.33),
        Claim("against always-defect", "own", DEFECT, 32, must=-0.05, tit_for_tat=-0.0105),
        Claim("with always-cooperate", "own", COOPERATE, 32, must=0.28, tit_for_tat=0.33),
        Claim("P(C) at the start", "cooperates", "start", 32, must=0.90, tit_for_tat=1.0),
        Claim("P(C) after CC", "cooperates", "CC", 32, must=0.90, tit_for_tat=1.0),
        Claim("P(C) after CD", "cooperates", "CD", 32, must=0.25, tit_for_tat=0.0, sign=-1),
        Claim("P(C) after DC", "cooperates", "DC", 32, must=0.75, tit_for_tat=1.0),
        Claim("P(C) after DD", "cooperates", "DD", 32, must=0.25, tit_for_tat=0.0, sign=-1),
    )
