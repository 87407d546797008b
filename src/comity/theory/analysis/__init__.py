"""Everything about a game as plain data, for programs, reports and the command line.

Each function returns dictionaries of strings, numbers, booleans, None and lists only, ready for JSON. An
analysis that a game is too large for is left out, and `notes` says which and why.
"""

from comity.theory.analysis.coalitions import analyse_coalitions
from comity.theory.analysis.games import Progress, action_names, analyse_game, find_equilibria
from comity.theory.analysis.leagues import analyse_league
from comity.theory.analysis.plain import Report

__all__ = [
    "Progress",
    "Report",
    "action_names",
    "analyse_coalitions",
    "analyse_game",
    "analyse_league",
    "find_equilibria",
]
