"""LOLA by sampling (Foerster et al., 2018, arXiv:1709.04326 and arXiv:1802.05098): LOLA-DiCE.

For neural policies in any game with discrete actions: the others' learning and what it is worth are estimated
from games that are played for the purpose. Assumes that the others are naive learners with a known step, and
that their parameters are known (`opponents given`) or can be modelled from what they do (`modelled`).
"""

from comity.agents.shaping.dice_lookahead import DiceLookahead


class LOLADice(DiceLookahead):
    """One step of gradient ascent per iteration through some steps of the others' learning."""
