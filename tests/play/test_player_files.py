"""Player files: they carry all that acting needs, load without their game, and say who sat where."""

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import comity
from comity.core.agent import Player
from comity.core.errors import ComityError
from comity.core.files import load_arrays, save_arrays
from comity.core.game import Environment
from comity.core.trust import TRUST
from comity.play.player_file import PLAYER_FORMAT, read_player, save_player
from comity.play.specs import agent_data, game_data, make_agent, make_game
from comity.testing.contracts import assert_trees_equal, make_player

DILEMMA = make_game("prisoners-dilemma", horizon=4, temptation=0.5)
SETTINGS: dict[str, Any] = {"network": "tabular", "optimiser.learning_rate": 0.07, "discount": 0.9}
METADATA = {"iteration": 6, "seed": 3, "run": "mine"}
ODD = make_game("probe-odd-seats")


def rewritten(path: Path, about: dict[str, Any], params: Any, version: int | None = None) -> None:
    """The file with something else said in it; its checksums fit."""
    save_arrays(path, PLAYER_FORMAT, about, params)
    if version is not None:
        content = path.read_bytes()
        path.write_bytes(content.replace(b'"version":"2"', b'"version":"%d"' % version))


def about_1(player: Player, game: Environment, seat: int) -> dict[str, Any]:
    agent, settings = agent_data(player.agent), game_data(game)
    return {"agent": agent, "game": settings, "seat": seat, "notes": METADATA}


def test_everything_survives(tmp_path: Path) -> None:
    player = make_player(make_agent("a2c", **SETTINGS), DILEMMA, seat=1, seed=5)
    save_player(tmp_path / "p.safetensors", player, DILEMMA, (1, 0), METADATA)
    saved = read_player(tmp_path / "p.safetensors")
    assert saved.player.agent == player.agent
    assert_trees_equal(saved.player.params, player.params, "the parameters are those that were saved")
    assert (saved.spec, saved.seats, saved.seat) == (DILEMMA.spec, (1, 0), 1)
    assert saved.metadata == METADATA
    assert saved.game_data == game_data(DILEMMA)
    assert saved.game() == DILEMMA


def test_a_player_acts_where_its_game_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TRUST, "")
    player = make_player(make_agent("a2c", **SETTINGS), DILEMMA)
    path = tmp_path / "p.safetensors"
    save_player(path, player, DILEMMA, 0, METADATA)
    about = load_arrays(path, PLAYER_FORMAT).about
    rewritten(path, {**about, "game": {"name": "no_such_module:Game", "size": 3}}, player.params)
    saved = read_player(path)
    with pytest.raises(ComityError, match=r"no_such_module:Game runs code of its own\. If you trust it"):
        saved.game()
    actor = comity.load_player(path)
    assert actor.agent == player.agent
    assert actor.act(0) in (0, 1)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"seats": []}, "seats = '[]' is not possible"),
    ({"seats": [0, 0]}, "seats"),
    ({"seats": [2]}, "numbers of seats, from 0 to 1"),
    ({"seats": [True]}, "numbers of seats"),
    ({"seats": 0}, "numbers of seats"),
    ({"metadata": 3}, "metadata = 3"),
    ({"game": "coin"}, "game = 'coin'"),
    ({"agent": {"name": "a2x"}}, "Did you mean a2c"),
    ({"agent": {"name": "os:system"}}, "os:system runs code of its own"),
    ({"spec": {}}, "spec"),
]


@pytest.mark.parametrize(("change", "message"), WRONG, ids=[str(change) for change, _ in WRONG])
def test_what_a_file_says_wrongly_is_refused(
    change: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TRUST, "")
    player = make_player(make_agent("a2c", **SETTINGS), DILEMMA)
    path = tmp_path / "p.safetensors"
    save_player(path, player, DILEMMA, 0, METADATA)
    rewritten(path, {**load_arrays(path, PLAYER_FORMAT).about, **change}, player.params)
    with pytest.raises(ComityError) as caught:
        read_player(path)
    assert message in str(caught.value)
    without = {k: v for k, v in load_arrays(path, PLAYER_FORMAT).about.items() if k not in change}
    rewritten(path, without, player.params)
    with pytest.raises(ComityError, match="is damaged: a player file says its agent, spec, seats"):
        read_player(path)


def test_seats_of_one_player_see_and_do_the_same(tmp_path: Path) -> None:
    player = make_player(make_agent("ppo"), ODD, seat=0)
    save_player(tmp_path / "p.safetensors", player, ODD, (0, 1), METADATA)
    with pytest.raises(ComityError, match="seats that see and do the same"):
        read_player(tmp_path / "p.safetensors")


def test_version_1_is_refused(tmp_path: Path) -> None:
    player = make_player(make_agent("a2c", **SETTINGS), DILEMMA, seed=9)
    old = tmp_path / "old.safetensors"
    rewritten(old, about_1(player, DILEMMA, 0), player.params, version=1)
    with pytest.raises(ComityError, match=r"written by an older Comity .format 1, this one reads 2.: use it"):
        read_player(old)


def test_a_run_gives_every_seat_the_player_that_was_trained_there(tmp_path: Path) -> None:
    """Files sort by name, and the groups are such that neither order nor the first seat would do."""
    game = make_game("public-goods", players=4, horizon=2)
    folder = tmp_path / "run"
    (folder / "players").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    agent = make_agent("a2c", **SETTINGS)
    groups = {"z": (0, 2), "a": (1,)}
    players = {name: make_player(agent, game, seed=seed) for seed, name in enumerate(groups)}
    for name, seats in groups.items():
        save_player(folder / "players" / f"{name}.safetensors", players[name], game, seats, {})
    loaded = [jax.tree.leaves(comity.load_player(folder, game, seat).params)[0] for seat in range(4)]
    expected = [jax.tree.leaves(players[name].params)[0] for name in ("z", "a", "z")]
    for found, wanted in zip(loaded[:3], expected, strict=True):
        assert np.array_equal(found, wanted)
    assert loaded[3].shape == expected[0].shape  # nobody was trained there, but the seat is like the others


def test_nobody_sits_where_one_sees_something_else(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    (folder / "players").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    agents = {0: make_agent("ppo"), 2: make_agent("a2c")}
    for seat, agent in agents.items():
        player = make_player(agent, ODD, seat=seat)
        save_player(folder / "players" / f"{ODD.seats[seat].name}.safetensors", player, ODD, seat, {})
    assert [comity.load_player(folder, ODD, seat).agent for seat in agents] == list(agents.values())
    with pytest.raises(ComityError, match="has no player for the seat 'guest'"):
        comity.load_player(folder, ODD, 1)


def test_a_file_is_small_data(tmp_path: Path) -> None:
    """The spec of the largest game does not swell the file."""
    harvest = make_game("commons-harvest-open")
    agent = make_agent("random", harvest)
    save_player(tmp_path / "p.safetensors", make_player(agent, harvest), harvest, 0, {})
    about = load_arrays(tmp_path / "p.safetensors", PLAYER_FORMAT).about
    assert len(json.dumps(about)) < 100_000
