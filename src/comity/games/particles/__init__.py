"""The multi-particle games (Lowe et al., 2017, arXiv:1706.02275), by the rules of the MPE2 package.

Positions, observations and rewards are MPE2's (tests step both side by side); rewards are those of one seat,
so the often quoted sum over agents is the sum over seats.
"""
