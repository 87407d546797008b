"""Advantage Alignment in the Coin Game.

Source: Duque et al., 2024, "Advantage Alignment Algorithms" (league of figure 2), and the authors'
checkpoints, measured at equal horizons.
"""

from dataclasses import dataclass

from comity.studies.base import RESULTS
from comity.studies.claim_study import ClaimStudy
from comity.studies.claims import COOPERATE, DEFECT, Claim


@dataclass(frozen=True)
class Coin(ClaimStudy):
    """Advantage Alignment in the Coin Game."""

    name = "coin"
    title = "adalign in coin"
    note = (
        "Published: the league of the Advantage Alignment paper, which mixes pairings of 16 and of 50 steps. "
        "Checkpoints: the ten players that the authors distribute."
    )
    needs = "400 CPU-seconds a seed"
    committed = RESULTS / "coin.json"
    game = "coin"
    agent = "adalign"
    additions = (
        "Ours, in neither paper: goodwill (.25). The paper's own term gave .309 with itself and -.052 "
        "against always-defect (six seeds, experiments/notes.md)."
    )
    claims = (
        Claim("self-play", "self", must=0.30, published=0.279, checkpoints=0.305, aim=0.33),
        Claim("self-play, worst seed", "worst-self", must=0.25, checkpoints=0.19),
        Claim("with always-cooperate", "own", COOPERATE, must=0.34, published=0.349, checkpoints=0.352),
        Claim("  always-cooperate earns", "other", COOPERATE, must=0.30, published=0.313, checkpoints=0.331),
        Claim("against always-defect", "own", DEFECT, 50, -0.06, -0.084, -0.062, aim=-0.03),
        Claim("  always-defect earns", "other", DEFECT, 50, 0.109, 0.155, 0.109, sign=-1),
        Claim("self-play", "self", horizon=16, must=0.285, checkpoints=0.290),
        Claim("with always-cooperate", "own", COOPERATE, 16, must=0.34, checkpoints=0.352),
        Claim("  always-cooperate earns", "other", COOPERATE, 16, must=0.30, checkpoints=0.319),
        Claim("against always-defect", "own", DEFECT, 16, must=-0.08, checkpoints=-0.070),
        Claim("  always-defect earns", "other", DEFECT, 16, must=0.134, checkpoints=0.134, sign=-1),
        Claim("against random", "own", "random", 16, must=0.261, published=0.261),
    )
