"""Advantage Alignment in Negotiation.

Source: Duque et al., 2024, "Advantage Alignment Algorithms" (league of figure 3).
"""

from dataclasses import dataclass

from comity.studies.base import RESULTS
from comity.studies.claim_study import ClaimStudy
from comity.studies.claims import COOPERATE, DEFECT, Claim


@dataclass(frozen=True)
class NegotiationStudy(ClaimStudy):
    """Advantage Alignment in Negotiation."""

    name = "negotiation"
    title = "adalign in negotiation"
    note = "Published: the paper's league, of an intermediate run; its training curve rises above .40 later."
    needs = "124 CPU-seconds a seed"
    committed = RESULTS / "negotiation.json"
    game = "negotiation"
    agent = "adalign"
    additions = (
        "Ours, not in the paper: a critic of afterstates on its own view that learns first, advantages that "
        "are scaled and limited."
    )
    claims = (
        Claim("self-play", "self", must=0.40, published=0.314, aim=0.45),
        Claim("against always-defect", "own", DEFECT, must=0.28, published=0.284),
        Claim("  always-defect earns", "other", DEFECT, must=0.324, published=0.324, sign=-1),
        Claim("with always-cooperate", "own", COOPERATE, must=0.42, published=0.418),
        Claim("  always-cooperate earns", "other", COOPERATE, must=0.37, published=0.371),
    )
