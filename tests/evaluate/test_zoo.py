"""The zoo's players still do what is claimed of them, and its recipes still build."""

import math

import jax
import pytest

from comity.api import load_player, scripted_player
from comity.core.errors import ComityError
from comity.play.match import play
from comity.play.specs import make_game
from comity.play.zoo import FOLDER, zoo_names, zoo_recipe
from comity.studies.claim_study import ClaimStudy
from comity.studies.claims import measure
from comity.studies.registry import STUDIES, study_class
from comity.training.experiment import Experiment

CLAIMED = {
    name: cls() for name in STUDIES.rows() for cls in [study_class(name)] if issubclass(cls, ClaimStudy)
}
MEASURED = [name for name, study in CLAIMED.items() if zoo_names(study.game, study.agent)]

MISSED: dict[str, list[str]] = {
    "ipd": ["P(C) after DC, 16"],
    "ipd-loqa": ["P(C) after DC, 50"],
    "ipd-pola": ["P(C) after CD, 32", "P(C) after DD, 32"],
    "coin": ["always-defect earns, 16"],
    "coin-pola": [
        "always-cooperate earns, 50",
        "against always-defect, 50",
        "always-defect earns, 50",
        "against always-defect, 16",
    ],
}


def test_something_is_in_the_zoo() -> None:
    assert set(MEASURED) == {
        "ipd", "ipd-loqa", "ipd-pola", "coin", "coin-loqa", "coin-pola", "negotiation"
    }  # fmt: skip


@pytest.mark.parametrize("name", MEASURED)
def test_every_claim_has_a_bar_and_says_how_it_came_out(name: str) -> None:
    study = CLAIMED[name]
    rows = study.committed_results()["claims"]
    for claim, row in zip(study.claims, rows, strict=True):
        assert math.isfinite(claim.must)
        assert (row["label"], row["must"], row["published"]) == (claim.label, claim.must, claim.published)
        assert (row["checkpoints"], row["tit_for_tat"]) == (claim.checkpoints, claim.tit_for_tat)
        assert row["holds"] == (claim.sign * (row["mean"] - claim.must) >= 0)
    assert study.additions


def test_what_does_not_come_out_is_known() -> None:
    """What misses its bar in the committed results, and nothing else does."""
    found = {
        name: [f"{row['label'].strip()}, {row['horizon']}" for row in rows if not row["holds"]]
        for name in MEASURED
        for rows in [CLAIMED[name].committed_results()["claims"]]
    }
    assert {name: missed for name, missed in found.items() if missed} == MISSED


@pytest.mark.claims
@pytest.mark.parametrize("name", MEASURED)
def test_committed_players_do_what_is_claimed(name: str) -> None:
    """Fewer episodes than in the committed results, so what is close to its bar is left out."""
    study = CLAIMED[name]
    game = study.make_game()
    names = [f"zoo:{study.game}/{study.agent}/{seed}" for seed in range(study.seeds)]
    assert zoo_names(study.game, study.agent) == names
    scripted = {n: scripted_player(n, game) for n in ("always-cooperate", "always-defect", "random")}
    measured, _ = measure(study.claims, game, [load_player(n) for n in names], scripted, episodes=30)
    committed = study.committed_results()["claims"]
    for item, row in zip(measured, committed, strict=True):
        if abs(row["mean"] - row["must"]) > 0.01:
            assert item.holds == row["holds"], f"{row['label']}: {item.interval.mean:.3f}"


@pytest.mark.claims
@pytest.mark.parametrize("agent", ["mfos", "evolution"])
def test_committed_shapers_extort_a_naive_learner(agent: str) -> None:
    """More than mutual cooperation would give (-1 per step), in every seed."""
    game = make_game("meta-game")
    names = [f"zoo:meta-game/{agent}/{seed}" for seed in range(5)]
    assert zoo_names("meta-game", agent) == names
    for name in names:
        played = play(game, (load_player(name),), jax.random.key(0), 32, 100)
        assert float(played.step.reward[0].mean()) > -0.8


@pytest.mark.claims
def test_committed_shapers_of_the_coin_game_take_every_coin() -> None:
    """As docs/shaping.md says: nothing is left when two of them meet."""
    game = make_game("coin")
    names = [f"zoo:coin/mfos/{seed}" for seed in range(3)]
    assert zoo_names("coin", "mfos") == names
    earned = [
        play(game, (load_player(name),) * 2, jax.random.key(0), 100, 50).step.reward[0].mean()
        for name in names
    ]
    assert all(abs(float(reward)) < 0.05 for reward in earned)


@pytest.mark.parametrize("agent", ["mappo", "ippo"])
def test_committed_teams_cover_the_landmarks(agent: str) -> None:
    """The sum over agents of an episode's rewards in simple-spread, at least -30 in every seed."""
    game = make_game("simple-spread")
    names = [f"zoo:simple-spread/{agent}/{seed}" for seed in range(5)]
    assert zoo_names("simple-spread", agent) == names
    for name in names:
        played = play(game, (load_player(name),) * 3, jax.random.key(1), 100, 25)
        assert sum(float(reward.sum(axis=0).mean()) for reward in played.step.reward) > -30.0


@pytest.mark.parametrize(
    "path", sorted(FOLDER.glob("*/*/experiment.json")), ids=lambda path: "/".join(path.parts[-3:-1])
)
def test_recipes_build(path) -> None:
    game, agent = path.parts[-3:-1]
    experiment = Experiment.from_data(zoo_recipe(game, agent))
    data = experiment.to_data()["game"]
    while data["name"] in ("shared-reward", "trembling-hand", "learner-game"):
        data = data["game"]
    assert data["name"] == game


def test_an_unknown_player_is_refused() -> None:
    with pytest.raises(ComityError, match="Did you mean zoo:prisoners-dilemma/adalign/1"):
        load_player("zoo:prisoners-dilemma/adalign/11")
