"""LOQA in the Coin Game.

Source: Aghajohari et al., 2024, "LOQA: Learning with Opponent Q-Learning Awareness", and the authors'
checkpoints.
"""

from dataclasses import dataclass

from comity.studies.base import RESULTS
from comity.studies.claim_study import ClaimStudy
from comity.studies.claims import COOPERATE, DEFECT, Claim


@dataclass(frozen=True)
class CoinLoqa(ClaimStudy):
    """LOQA in the Coin Game."""

    name = "coin-loqa"
    title = "loqa in coin"
    note = (
        "Published: the league of the Advantage Alignment paper, which mixes pairings of 16 and of 50 steps. "
        "Checkpoints: the ten players that the authors distribute."
    )
    needs = "400 CPU-seconds a seed"
    committed = RESULTS / "coin-loqa.json"
    game = "coin"
    agent = "loqa"
    additions = (
        "Ours, in neither paper: goodwill (.25), action values by SARSA(lambda) without a slow copy, and a "
        "flat softmax for the opponent (temperature 4)."
    )
    claims = (
        Claim("self-play", "self", must=0.30, published=0.298, checkpoints=0.316),
        Claim("with always-cooperate", "own", COOPERATE, must=0.34, published=0.352, checkpoints=0.353),
        Claim("  always-cooperate earns", "other", COOPERATE, must=0.30, published=0.318, checkpoints=0.320),
        Claim("against always-defect", "own", DEFECT, must=-0.06, published=-0.054, checkpoints=-0.053),
        Claim("  always-defect earns", "other", DEFECT, 50, 0.114, 0.123, 0.114, sign=-1),
        Claim("self-play", "self", horizon=16, must=0.285, checkpoints=0.300),
        Claim("with always-cooperate", "own", COOPERATE, 16, must=0.34, checkpoints=0.364),
        Claim("against always-defect", "own", DEFECT, 16, must=-0.08, checkpoints=-0.107),
    )
