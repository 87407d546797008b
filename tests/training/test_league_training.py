"""A league of main agents and exploiters: whom each meets, who joins the past, and where it ends."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from comity.core.errors import ComityError
from comity.play.loading import fixed_player
from comity.play.specs import make_agent, make_game
from comity.training.executors.in_process import InProcess
from comity.training.experiment import make_experiment
from comity.training.options import Options
from comity.training.populations.base import train_population
from comity.training.populations.league import (
    LEAGUE_EXPLOITER,
    MAIN,
    MAIN_EXPLOITER,
    League,
    Learner,
    Past,
)

QUIET = Options(tensorboard=False)
ROCK = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
PAST = [Past("m0", MAIN), Past("x0", MAIN_EXPLOITER), Past("l0", LEAGUE_EXPLOITER), Past("m1", MAIN)]


def league(**settings: Any) -> League:
    found = League(**settings)
    found._past = list(PAST)
    return found


def meets(role: str, score: dict[str, float]) -> tuple[dict[str, float], float]:
    return league().opponents(Learner(f"{role}-0", role, 0, "somewhere"), score)


def test_a_main_agent_meets_those_who_are_hard_and_itself() -> None:
    """Half of its games by (1-p)^2: weights .25, .64, .01, .25; it loses to x0, which is verified too."""
    shares, itself = meets(MAIN, {"m0": 0.5, "x0": 0.2, "l0": 0.9, "m1": 0.5})
    total = 0.25 + 0.64 + 0.01 + 0.25
    assert shares["m0"] == pytest.approx(0.5 * 0.25 / total)
    assert shares["l0"] == pytest.approx(0.5 * 0.01 / total)
    assert shares["x0"] == pytest.approx(0.5 * 0.64 / total + 0.15)
    assert itself == pytest.approx(0.35)
    _, itself = meets(MAIN, dict.fromkeys(("m0", "x0", "l0", "m1"), 0.5))
    assert itself == pytest.approx(0.5)  # nobody to be verified


def test_a_main_exploiter_meets_the_newest_main_agent_unless_that_is_hopeless() -> None:
    assert meets(MAIN_EXPLOITER, {"m0": 0.6, "x0": 0.5, "l0": 0.5, "m1": 0.11}) == ({"m1": 1.0}, 0.0)
    shares, itself = meets(MAIN_EXPLOITER, {"m0": 0.5, "x0": 0.5, "l0": 0.5, "m1": 0.1})
    assert itself == 0.0
    assert shares == pytest.approx({"m0": 0.25 / 0.34, "m1": 0.09 / 0.34})


def test_a_league_exploiter_meets_all_but_those_it_beats() -> None:
    shares, itself = meets(LEAGUE_EXPLOITER, {"m0": 0.0, "x0": 0.5, "l0": 0.75, "m1": 1.0})
    assert itself == 0.0
    assert shares == pytest.approx({"m0": 0.4, "x0": 0.4, "l0": 0.2, "m1": 0.0})


def test_who_joins_the_past_and_who_begins_anew() -> None:
    found = league(patience=3)
    generator = np.random.default_rng(0)
    score = {"m0": 0.1, "x0": 0.9, "l0": 0.9, "m1": 0.8}

    def fate(role: str, generation: int, won: dict[str, float]) -> tuple[bool, bool]:
        found._generation = generation
        return found._fate(Learner("a", role, 0, None), won, generator)

    assert fate(MAIN, 0, score) == (True, True)
    assert fate(MAIN_EXPLOITER, 0, score) == (True, False)  # it beats the newest main agent, and begins anew
    assert fate(MAIN_EXPLOITER, 0, {**score, "m1": 0.7}) == (False, True)
    assert fate(MAIN_EXPLOITER, 2, {**score, "m1": 0.7}) == (True, False)  # its time is over
    assert fate(LEAGUE_EXPLOITER, 0, score) == (False, True)  # it does not beat everybody
    stays = [fate(LEAGUE_EXPLOITER, 2, score)[1] for _ in range(400)]
    assert np.mean(stays) == pytest.approx(0.75, abs=0.06)


def test_a_league_is_for_symmetric_games() -> None:
    agent = make_agent("a2c", network="tabular")
    pennies = make_experiment(make_game("matching-pennies"), agent, iterations=2)
    with pytest.raises(ComityError, match="symmetric games of two seats"):
        League().members(pennies)
    with pytest.raises(ComityError, match="shares of 1"):
        League(prioritised_share=0.9)


@pytest.mark.slow
def test_the_league_goes_to_one_third_and_resumes(tmp_path: Path) -> None:
    """In one-shot rock-paper-scissors: the mixture of its past; the newest main agent alone, as in self-play,
    is beaten by somebody."""
    settings = {"network": "tabular", "critic.network": "tabular", "optimiser.learning_rate": 0.1}
    game = make_game("rock-paper-scissors", horizon=1)
    experiment = make_experiment(
        game, make_agent("a2c", entropy_coef=0.0, **settings), iterations=400, batch=64, seed=3
    )
    out = tmp_path / "league"
    population = League(interval=40, episodes=256, patience=2)
    train_population(population, experiment, InProcess(), out, QUIET)
    mixture = population.mixture(out)
    played = sum(
        share * fixed_player(str(out / name), game.spec, 0).probabilities(np.int32(0))
        for name, share in mixture.items()
    )
    assert float((ROCK @ played).max()) < 0.05
    mains = [own.name for own in population.past if own.role == MAIN]
    alone = [fixed_player(str(out / name), game.spec, 0).probabilities(np.int32(0)) for name in mains]
    assert max(float((ROCK @ own).max()) for own in alone) > 0.3
    roles = {own.role for own in population.past}
    assert roles == {MAIN, MAIN_EXPLOITER, LEAGUE_EXPLOITER}
    before = {str(path): path.read_bytes() for path in out.rglob("*.safetensors")}
    for path in itertools.islice(sorted(out.glob("generation-009/*")), 3):
        path.rename(tmp_path / path.name)  # as if it had been killed before the last generation
    again = League(interval=40, episodes=256, patience=2)
    train_population(again, experiment, InProcess(), out, QUIET)
    assert {str(path): path.read_bytes() for path in out.rglob("*.safetensors")} == before
    assert again.past == population.past
