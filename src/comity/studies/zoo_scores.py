"""What a player of the zoo is measured by, and what is known of how it was trained.

Beside the players of each recipe stands `about.json`:

    measures   what each score means
    players    for each player its seed, what training it cost (`cpu_seconds`), the `commit` and the `machine`
               it was trained with, the commit that `added` it to the zoo, and its `scores`
    bounds     for each score, between what a player trained again must come out
    note       where these facts come from; what is not known is null

`comity reproduce retrain` trains a recipe again and holds what comes out to these bounds.
"""

from typing import Any

import jax
import numpy as np

from comity.core.agent import Player
from comity.core.files import read_json
from comity.core.game import Environment
from comity.evaluate.league import play_league
from comity.play.loading import scripted_player
from comity.play.match import play
from comity.play.specs import game_from_data, make_game
from comity.play.zoo import FOLDER, zoo_recipe
from comity.studies.focal_harvest import GAME as HARVEST
from comity.studies.focal_harvest import LENGTH, harvest, harvest_game

Scores = dict[str, float]
SELF, COOPERATE, DEFECT = "self", "with always-cooperate", "against always-defect"
MEASURES = {
    SELF: "reward per step with itself",
    COOPERATE: "own reward per step with always-cooperate",
    DEFECT: "own reward per step against always-defect",
    "apples": "apples that each of seven copies eats in 1,000 steps",
    "return": "return of an episode, summed over seats",
    "shaping": "reward per step against a naive learner",
}


def zoo_about(game: str, agent: str) -> Any:
    """What is known of the zoo's players of an agent in a game."""
    return read_json(FOLDER / game / agent / "about.json", f"what is known of zoo:{game}/{agent}")


def zoo_game(game: str, agent: str) -> Environment:
    """The game that players of a recipe are measured in: its own rewards, and no learner around it."""
    data = zoo_recipe(game, agent)["game"]
    found: Environment = game_from_data(data) if data["name"] == game else make_game(game)
    return found


def zoo_scores(game: str, agent: str, player: Player, episodes: int) -> Scores:
    """What a player reaches, by the measures of its game; the same games for every player of a recipe."""
    if game == HARVEST:
        found = harvest(harvest_game(), player, (), max(episodes // 25, 1), LENGTH)
        return {"apples": round(found.collective / 7, 4)}
    own = zoo_game(game, agent)
    assert own.horizon is not None
    if len(own.seats) == 2:
        others = {name: scripted_player(name, own) for name in ("always-cooperate", "always-defect")}
        league = play_league(own, {agent: player, **others}, episodes, own.horizon)
        return {
            name: round(float(x), 4)
            for name, x in zip((SELF, COOPERATE, DEFECT), league.mean[0], strict=True)
        }
    played = play(own, (player,) * len(own.seats), jax.random.key(0), episodes, own.horizon)
    rewards = [np.asarray(reward) for reward in played.step.reward]
    if len(rewards) == 1:
        return {"shaping": round(float(rewards[0].mean()), 4)}
    return {"return": round(float(sum(reward.sum(axis=0).mean() for reward in rewards)), 4)}
