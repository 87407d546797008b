"""Payoff tables, coalition worths and leagues from files.

Each file of this shelf documents its formats; bad input raises `TheoryError`, which names the line or field.
"""

from comity.theory.readers.coalitions import read_coalitions
from comity.theory.readers.games import read_game

__all__ = ["read_coalitions", "read_game"]
