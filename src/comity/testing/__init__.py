"""Contract checks for games and agents, shipped so that users can run them on their own."""

from comity.testing.contracts import check_agent as check_agent
from comity.testing.contracts import check_game as check_game
