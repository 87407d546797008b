"""Schelling diagrams: known payoffs of public goods, a game without a dilemma, and the command."""

import json
from pathlib import Path

import numpy as np
import pytest

from comity.api import scripted_player
from comity.cli import run as comity
from comity.evaluate.schelling import schelling
from comity.play.specs import make_game


@pytest.mark.parametrize("players", [2, 5])
def test_public_goods_pay_what_the_formula_says(players: int) -> None:
    game = make_game("public-goods", players=players, multiplier=1.5, horizon=4)
    cooperator, defector = (scripted_player(name, game) for name in ("always-cooperate", "always-defect"))
    found = schelling(game, cooperator, defector, episodes=2)
    others = np.arange(players)
    np.testing.assert_allclose(found.defects, 1.5 * others / players, atol=1e-6)
    np.testing.assert_allclose(found.cooperates, 1.5 * (others + 1) / players - 1.0, atol=1e-6)
    np.testing.assert_allclose(found.welfare, 0.5 * np.arange(players + 1) / players, atol=1e-6)
    assert found.is_dilemma
    assert found.fear == pytest.approx(1.0 - 1.5 / players, abs=1e-5)
    assert found.greed == pytest.approx(1.0 - 1.5 / players, abs=1e-5)


def test_where_giving_pays_there_is_no_dilemma() -> None:
    game = make_game("public-goods", players=3, multiplier=6.0, horizon=4)
    giver, taker = (scripted_player(name, game) for name in ("always-cooperate", "always-defect"))
    assert not schelling(game, giver, taker, episodes=1).is_dilemma


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "diagram.svg"
    line = ["schelling", "public-goods", "always-cooperate", "always-defect", "--episodes", "2"]
    assert comity([*line, "--picture", str(picture)]) == 0
    said = capsys.readouterr().out
    assert "a social dilemma" in " ".join(said.split())
    assert picture.read_text().startswith("<svg")
    assert comity([*line, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["dilemma"] is True
    assert comity(["schelling", "public-goods", "random"]) == 2
    assert "who cooperates and who defects" in capsys.readouterr().err
