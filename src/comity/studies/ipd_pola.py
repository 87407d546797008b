"""POLA in the iterated prisoner's dilemma, policies with memory.

Source: Zhao et al., 2022, "Proximal Learning with Opponent-Learning Awareness".
"""

from dataclasses import dataclass

from comity.studies.base import RESULTS
from comity.studies.claim_study import ClaimStudy
from comity.studies.claims import Claim


@dataclass(frozen=True)
class IPDPola(ClaimStudy):
    """POLA in the iterated prisoner's dilemma, policies with memory."""

    seeds: int = 5  # how many seeds

    name = "ipd-pola"
    title = "pola in prisoners-dilemma"
    note = (
        "POLA's payoffs: CC .33, CD -.335, DC .665, DD 0; policies with memory (GRU). The paper shows "
        "curves close to what tit-for-tat earns, whose numbers stand here."
    )
    needs = "106 CPU-seconds a seed"
    committed = RESULTS / "ipd-pola.json"
    game = "prisoners-dilemma"
    agent = "pola"
    claims = (
        Claim("self-play", "self", horizon=32, published=0.33, must=0.28),
        Claim("against always-defect", "own", "always-defect", 32, published=0.0, must=-0.05),
        Claim("with always-cooperate", "own", "always-cooperate", 32),
        Claim("P(C) at the start", "cooperates", "start", 32, published=1.0),
        Claim("P(C) after CC", "cooperates", "CC", 32, published=1.0),
        Claim("P(C) after CD", "cooperates", "CD", 32, published=0.0),
        Claim("P(C) after DC", "cooperates", "DC", 32, published=1.0),
        Claim("P(C) after DD", "cooperates", "DD", 32, published=0.0),
    )
