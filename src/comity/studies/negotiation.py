"""Advantage Alignment in Negotiation.

Source: Duque et al., 2024, "Advantage Alignment Algorithms" (league of figure 3).
"""

from dataclasses import dataclass

from comity.studies.base import RESULTS
from comity.studies.claim_study import ClaimStudy
from comity.studies.claims import Claim


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
    claims = (
        Claim("self-play", "self", horizon=50, published=0.314, must=0.40, aim=0.45),
        Claim("against always-defect", "own", "always-defect", 50, published=0.284, must=0.28),
        Claim("  always-defect earns", "other", "always-defect", 50, published=0.324),
        Claim("with always-cooperate", "own", "always-cooperate", 50, published=0.418, must=0.42),
        Claim("  always-cooperate earns", "other", "always-cooperate", 50, published=0.371, must=0.37),
    )
