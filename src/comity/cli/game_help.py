"""`comity train GAME --help`: the settings of a game, and who could train in it."""

import shlex

from comity.agents.registry import AGENTS, ANY_FAMILY, SCRIPTED
from comity.core.game import Environment
from comity.core.settings import to_data
from comity.play.specs import game_class


def help_for_game(name: str) -> int:
    """Prints what can be said before an agent is chosen."""
    cls, given = game_class(name)
    game: Environment = cls(**given)
    quoted = shlex.quote(name)
    print(f"usage: comity train {quoted} AGENT [AGENT ...] [options]\n")
    print(f"{' '.join((type(game).__doc__ or name).split())}")
    print(f"\nseats: {', '.join(seat.name for seat in game.seats)}")
    print("settings of the game, with their defaults:")
    for setting, value in to_data(game, lambda cls: None).items():
        print(f"  --game.{setting.replace('_', '-')} {value}")
    learners = [agent for agent in AGENTS.rows() if AGENTS.load(agent).learns]
    scripted = SCRIPTED.get(game.family)
    fixed = [*ANY_FAMILY.rows(), *(scripted.rows() if scripted else ())]
    print(f"\nlearning agents: {', '.join(learners)}")
    print(f"scripted players: {', '.join(fixed)}")
    print(f"\ncomity train {quoted} AGENT --help    every setting of this game and that agent")
    return 0
