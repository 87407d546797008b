"""Small games of common interest with known answers: what teams that coordinate badly get wrong.

Everybody is paid the same, so the best joint action is best for each; what is hard is to find it together.
"""

from comity.games.cooperative.climbing import Climbing as Climbing
from comity.games.cooperative.penalty import Penalty as Penalty
from comity.games.cooperative.two_step import TwoStep as TwoStep
from comity.games.cooperative.two_step import TwoStepState as TwoStepState
