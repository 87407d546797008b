"""Experiments by name and from files: what is given counts, what is not is chosen well."""

from pathlib import Path
from typing import Any

import pytest

import comity
from comity.agents.on_policy.ppo import PPO
from comity.cli.train_settings import experiment_of, parse
from comity.core.errors import ComityError
from comity.play.matchmaking import PastSelves, SelfPlay
from comity.play.specs import make_agent, make_game
from comity.play.zoo import recipe_names
from comity.training.experiment import Experiment, make_experiment
from comity.training.recipes import default_recipe, read_recipe, recipe_from_data


def from_command(line: str) -> Experiment:
    """The experiment that `comity train` would train."""
    words = line.split()
    names = []
    while words and not words[0].startswith("-"):
        names.append(words.pop(0))
    return experiment_of(names, parse(names, words))


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_of_the_zoo_is_trained_as_it_stands(name: str) -> None:
    assert from_command(f"zoo:{name}") == read_recipe(f"zoo:{name}")


def test_options_change_a_recipe_and_nothing_else() -> None:
    recipe = read_recipe("zoo:coin/adalign")
    data = from_command("zoo:coin/adalign --agent.term.weight 3 --seed 4 --game.width 4").to_data()
    wanted = recipe.to_data()
    wanted["agents"][0]["term"]["weight"] = 3.0
    wanted["game"]["width"] = 4
    assert data == {**wanted, "seed": 4}


def test_the_zoos_settings_are_the_defaults_of_its_games() -> None:
    assert from_command("coin adalign") == read_recipe("zoo:coin/adalign")
    assert default_recipe("coin", "ppo") is None
    assert default_recipe("commons-harvest-open", "ppo-sum") is None  # an agent of another name
    assert default_recipe("coin", "mfos") is None  # its recipe is of a game around this one
    assert from_command("coin ppo").agents == (PPO(),)


def test_a_smaller_batch_is_cut_into_as_many_groups_as_it_can_be() -> None:
    experiment = from_command("coin adalign --batch 24")
    assert isinstance(experiment.matchmaker, PastSelves)
    assert experiment.matchmaker.groups == 8
    with pytest.raises(
        ComityError, match="groups = 16 is not possible: it must be a divisor of the batch of 24"
    ):
        from_command("coin ppo --opponents past --batch 24")
    assert from_command("coin adalign --opponents self-play --batch 24").matchmaker == SelfPlay()


TOML = """
game = "coin"
iterations = 7
batch = 8

[agent]
name = "ppo"
clip_ratio = 0.1
network = {name = "mlp", width = 8}

[matchmaker]
name = "past"
groups = 4
"""


def test_a_file_needs_to_say_only_what_differs(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(TOML)
    agent = make_agent("ppo", clip_ratio=0.1, network="mlp", **{"network.width": 8})
    wanted = make_experiment(make_game("coin"), agent, iterations=7, batch=8, matchmaker=PastSelves(groups=4))
    assert read_recipe(tmp_path / "mine.toml") == wanted
    assert from_command(f"{tmp_path}/mine.toml --iterations 9").iterations == 9
    assert recipe_from_data(wanted.to_data()) == wanted


BAD: list[tuple[Any, str]] = [
    ([], "An experiment must be an object"),
    ({"game": "coin"}, "needs a game, and either an agent or a list of agents"),
    ({"game": "coin", "agent": "ppo", "agents": ["ppo"]}, "either an agent or a list of agents"),
    ({"game": "coin", "agent": "ppo", "batches": 8}, "named 'batches'"),
    (
        {"game": "coin", "agent": "ppo", "batch": "8"},
        "batch = '8' is not possible: it must be a whole number",
    ),
    ({"game": "coin", "agents": []}, "a list of agents"),
    ({"game": "coin", "agent": {"name": "ppo", "clip": 1}}, "clip"),
    ({"game": "coin", "agent": "ppo", "seating": [0, 1]}, "a list of lists of seat numbers"),
    ({"game": "os:system", "agent": "ppo"}, "runs code of its own"),
]


@pytest.mark.parametrize(("data", "problem"), BAD)
def test_what_does_not_work_is_said(data: Any, problem: str) -> None:
    with pytest.raises(ComityError, match=problem.replace("[", r"\[")):
        recipe_from_data(data)


def test_files_that_are_not_there_or_damaged(tmp_path: Path) -> None:
    with pytest.raises(ComityError, match=r"nothing\.json"):
        read_recipe(tmp_path / "nothing.json")
    (tmp_path / "bad.toml").write_text("game = ")
    with pytest.raises(ComityError, match=r"bad.toml: It cannot be read as TOML"):
        read_recipe(tmp_path / "bad.toml")
    with pytest.raises(ComityError, match="recipe in the zoo named 'coin/adalgn'"):
        from_command("zoo:coin/adalgn")
    with pytest.raises(ComityError, match="leave them out"):
        from_command("zoo:coin/adalign ppo")


def test_from_python(tmp_path: Path) -> None:
    small: dict[str, Any] = {"iterations": 1, "batch": 4, "unroll": 2}
    by_name = comity.train("prisoners-dilemma", "a2c", out=tmp_path / "one", **small)
    assert by_name.experiment == make_experiment(make_game("prisoners-dilemma"), make_agent("a2c"), **small)
    again = comity.train(by_name.experiment, seed=3, out=tmp_path / "two")
    assert again.experiment.seed == 3
    with pytest.raises(ComityError, match="at least one agent, or a recipe"):
        comity.train("coin")
    with pytest.raises(ComityError, match="named 'iteration'"):
        comity.train("coin", "adalign", iteration=1)
