"""Proximal learning with opponent-learning awareness (Zhao et al., 2022, arXiv:2210.10125): POLA-DiCE.

LOLA depends on how policies are parametrised: the same step of the parameters is a small or a huge change of
what is done. POLA measures steps by how much behaviour changes (KL), both its own and those that it imagines
of the others, and takes several steps before it looks at the world again.
"""

from comity.agents.shaping.dice_lookahead import DiceLookahead
from comity.agents.shaping.imagined import Lookahead


class POLA(DiceLookahead):
    """Several proximal steps per iteration, each through some proximal steps of the others' learning."""

    lookahead: Lookahead = Lookahead(inner_steps=2, inner_penalty=0.1, outer_steps=4, penalty=1.0)
    """the others' imagined learning"""
