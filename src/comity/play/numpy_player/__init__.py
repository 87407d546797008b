"""A trained player of Comity, with NumPy alone.

These modules stand in every exported file, as `comity_player`, and need nothing but NumPy:

    import sys
    sys.path.insert(0, "player.pyz")
    import comity_player

    player = comity_player.load("player.pyz")
    action = player.act(observation)  # it remembers what it saw, until player.reset()

`python player.pyz` prints what the player sees and does; `python player.pyz act` reads one observation as
JSON from each line and prints its action. The file holds these modules, `player.json` and arrays; nothing in
the data is executed.
"""

from .player import Player, as_json, load

__all__ = ["Player", "as_json", "load"]
