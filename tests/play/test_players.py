"""Players act: with a memory, drawn or most likely, one game or several side by side, whatever the agent."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import comity
from comity.agents.registry import SCRIPTED
from comity.core import spaces
from comity.core.agent import Player
from comity.core.errors import ComityError
from comity.play.specs import make_agent, make_game
from comity.testing.contracts import make_player

DILEMMA = make_game("prisoners-dilemma", horizon=4)
ODD = make_game("probe-odd-seats")
FAMILIES = {
    "matrix": "prisoners-dilemma",
    "coin": "coin",
    "commons-harvest": "commons-harvest-open",
    "negotiation": "negotiation",
    "bargaining": "alternating-offers",
    "auction": "sealed-bid",
    "signalling": "signalling",
    "cournot": "cournot",
    "fish-war": "fish-war",
    "routing": "routing",
}
LEARNERS = ("adalign", "cola", "evolution", "loqa", "mappo")  # each acts in its own way


def test_a_player_remembers_until_it_is_reset() -> None:
    player = comity.load_player("grim-trigger", DILEMMA)
    labels = DILEMMA.seats[0].observation.labels  # type: ignore[union-attr]
    start, both, betrayed = 0, labels.index("CC"), labels.index("CD")
    assert [int(player.act(obs)) for obs in (start, both, betrayed, both)] == [0, 0, 1, 1]
    assert player.probabilities(both).tolist() == [0.0, 1.0]
    fresh = player.copy()
    assert fresh.probabilities(both).tolist() == [1.0, 0.0]
    player.reset()
    assert player.probabilities(both).tolist() == [1.0, 0.0]
    assert [int(player.act(obs)) for obs in (start, both)] == [0, 0]


def test_games_side_by_side_have_memories_of_their_own() -> None:
    player = comity.load_player("grim-trigger", DILEMMA)
    labels = DILEMMA.seats[0].observation.labels  # type: ignore[union-attr]
    both, betrayed = labels.index("CC"), labels.index("CD")
    assert player.act([both, betrayed, betrayed]).tolist() == [0, 1, 1]
    assert player.act([both] * 3).tolist() == [0, 1, 1]
    player.reset(where=[False, True, False])
    assert player.probabilities([both] * 3).tolist() == [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(ComityError, match="began with 3 games side by side and obs is of a single game"):
        player.act(both)
    with pytest.raises(ComityError, match="3 truth values"):
        player.reset(where=[True])
    player.reset()
    assert int(player.act(both)) == 0


def test_what_a_player_draws_follows_from_its_seed() -> None:
    player = comity.load_player("random", DILEMMA)
    player.reset(seed=2)
    first = [int(player.act(0)) for _ in range(20)]
    assert set(first) == {0, 1}
    player.reset()
    assert [int(player.act(0)) for _ in range(20)] != first
    player.reset(seed=2)
    assert [int(player.act(0)) for _ in range(20)] == first
    assert [int(player.copy(seed=2).act(0)) for _ in range(20)] == first[:1] * 20
    np.testing.assert_allclose(player.probabilities(0), [0.5, 0.5], atol=0.05)
    player.reset()
    assert len(set(player.act([0] * 40).tolist())) == 2  # each game draws for itself


def test_a_trained_player_can_do_what_is_most_likely() -> None:
    player = comity.load_player("zoo:prisoners-dilemma/adalign/0")
    likely = player.probabilities(0).argmax()
    assert {int(player.copy(seed=seed).act(0, deterministic=True)) for seed in range(5)} == {int(likely)}


def test_a_player_refuses_what_its_seat_does_not_see() -> None:
    dial = make_player(make_agent("random", ODD), ODD, seat=2)
    assert dial.act((1, [0.5])).shape == (1,)
    dial.reset()
    assert dial.act(([1, 0], [[0.5], [0.1]])).shape == (2, 1)
    dial.reset()
    wrong: list[Any] = [5, (1,), (7, [0.5]), (1, [2.0]), (1, ["a"]), None, ([1, 1], [[0.5]])]
    for obs in (*wrong, ([], np.zeros((0, 1)))):
        with pytest.raises(ComityError, match="as the seat 'dial' sees"):
            dial.act(obs)
    with pytest.raises(ComityError, match="no probabilities of numbers of shape"):
        dial.probabilities((1, [0.5]))
    with pytest.raises(ComityError, match="seat = 3"):
        Player(dial.agent, dial.params, ODD.spec, 3)
    with pytest.raises(ComityError, match="has no seat to act in"):
        Player(dial.agent, dial.params).act(0)


@pytest.mark.parametrize("family", SCRIPTED)
def test_scripted_players_of_every_family_act(family: str) -> None:
    game = make_game(FAMILIES[family])
    for name in ("random", *list(SCRIPTED[family].rows())[-1:]):
        acts(comity.load_player(name, game))


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_act(name: str) -> None:
    acts(make_player(make_agent(name), DILEMMA))


def acts(player: Player) -> None:
    """A player draws and does what is most likely, alone and side by side, from its own observations."""
    place = player.place
    obs = jax.tree.map(np.asarray, spaces.sample(place.observation, jax.random.key(1)))
    assert spaces.contains(place.action, player.act(obs))
    player.reset()
    several = jax.tree.map(lambda x: np.stack([x, x]), obs)
    first, second = (jax.tree.map(lambda x, i=i: x[i], player.act(several)) for i in (0, 1))
    assert spaces.contains(place.action, first)
    assert spaces.contains(place.action, second)
    assert len(repr(player)) < 200


def test_a_run_a_file_and_a_league_give_and_take_one_kind_of_player(tmp_path: Path) -> None:
    run = comity.train(
        DILEMMA, make_agent("a2c", network="tabular"), iterations=1, batch=2, out=tmp_path / "run"
    )
    of_run, of_folder = run.players[1], comity.load_player(tmp_path / "run", seat=1)
    of_file = comity.load_player(tmp_path / "run" / "players" / "player.safetensors")
    for player in (of_run, of_folder, of_file):
        np.testing.assert_array_equal(player.probabilities(0), of_run.probabilities(0))
    assert (of_run.seat, of_folder.seat, of_file.seat) == (1, 1, 0)
    assert of_run.place.name == "player 2"
    assert repr(run).startswith("<Run of A2C in PrisonersDilemma: reward -")
    assert run.metrics["reward"].shape == (len(run.metrics),)
    assert "<td>reward</td>" in run._repr_html_()
    league = comity.league(DILEMMA, {"run": run, "file": of_file}, episodes=2)
    assert league.players == ("run", "file")
