"""What a prompt and a notebook show: short, escaped, and of arrays only what can be read."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import comity
from comity import theory
from comity.core import palette
from comity.core.display import brief, curve, html_table
from comity.core.errors import ComityError
from comity.core.rows import Rows
from comity.core.tunable import with_tunable
from comity.evaluate.league import League
from comity.play.specs import make_agent, make_game

GAME = make_game("prisoners-dilemma", horizon=4)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, "3"),
        (1 / 3, "0.3333"),
        (23_861.7, "23,862"),
        (float("nan"), "nan"),
        (True, "True"),
        (None, "None"),
        (np.arange(3.0), "[0, 1, 2]"),
        (jnp.zeros((2, 2)), "[[0, 0], [0, 0]]"),
        (np.zeros((10, 20)), "<float64 10 x 20>"),
        (("a", [1.0]), "('a', [1])"),
        ((1,), "(1,)"),
        (list(range(9)), "[0, 1, 2, 3, 4, 5, ... 3 more]"),
        ({"a": np.zeros(99)}, "{a: <float64 99>}"),
        (GAME, "PrisonersDilemma(horizon=4)"),
        (make_agent("ppo", network="mlp"), "PPO(network=MLP())"),
        (make_agent("ppo"), "PPO()"),
    ],
)
def test_values_are_brief(value: object, expected: str) -> None:
    assert brief(value) == expected


def test_settings_that_are_being_traced_are_brief_too() -> None:
    shown = []

    def show(x: jax.Array) -> jax.Array:
        shown.append(repr(with_tunable(make_agent("a2c"), {"discount": x})))
        return x

    jax.jit(show)(jnp.float32(0.5))
    assert shown == ["A2C(discount=<float32 traced>)"]


def test_tables_are_escaped() -> None:
    assert "<script>" not in html_table(["<script>"], [["<script>"]], "<script>")


def test_everything_prints_in_a_line_and_shows_a_table() -> None:
    table = np.zeros((3, 3))
    league = League({"name": "coin"}, 5, 5, 0, ("a", "b", "<i>"), table, table, table)
    dilemma = theory.named_game("prisoners-dilemma")
    three = theory.NormalFormGame(np.arange(24.0).reshape(3, 2, 2, 2))
    shown = [
        comity.load_player("tit-for-tat"),
        GAME,
        league,
        dilemma,
        three,
        theory.lemke_howson(dilemma),
        theory.social_optimum(dilemma),
        theory.correlated_equilibrium(dilemma),
        theory.CoalitionalGame(np.arange(4.0), ("a", "b")),
    ]
    for value in shown:
        assert len(repr(value)) < 200, value
        assert "\n" not in repr(value)
        page = value._repr_html_()  # type: ignore[attr-defined]
        assert "<tbody><tr><td>" in page
        assert "<i>" not in page
    assert "<td>5, 0</td>" in dilemma._repr_html_()
    assert "player 3 earns" in three._repr_html_()


def test_a_league_shows_its_heat_map() -> None:
    table = np.array([[-1.0, -3.0], [0.0, np.nan]])
    page = League({"name": "coin"}, 5, 5, 0, ("a", "b"), table, table, table)._repr_html_()
    assert page.count("background:#") == 3  # what was not measured has no colour
    assert f'background:{palette.SCALE[0]};color:{palette.ON_CELL}">-3.000' in page
    assert f'background:{palette.SCALE[2]};color:{palette.ON_CELL}">0.000' in page


def test_a_curve_shows_numbers_and_leaves_out_what_is_none() -> None:
    page = curve([0.0, float("nan"), 1.0, 0.5], width=104, height=54)
    assert 'points="2.0,52.0 68.7,2.0 102.0,27.0"' in page
    assert "from 0 to 0.5, between 0 and 1" in page
    assert curve([1.0]) == curve([]) == ""


def test_rows_are_a_list_and_columns() -> None:
    rows = Rows([{"iteration": i, "reward": i / 2} for i in range(30)] + [{"iteration": 30, "more": 1}])
    assert rows[-1] == {"iteration": 30, "more": 1}
    assert rows["reward"][:3].tolist() == [0.0, 0.5, 1.0]
    assert np.isnan(rows["reward"][-1])
    assert isinstance(rows[:2], Rows)
    assert rows == list(rows)
    with pytest.raises(ComityError, match=r"no column named 'rewards'\. Did you mean reward"):
        rows["rewards"]
    page = rows._repr_html_()
    assert page.count("<tr>") == 1 + 3 + 1 + 7
    assert "31 rows" in page


def test_a_table_is_a_data_frame_where_pandas_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Rows([{"a": 1}, {"a": 2, "b": 3.0}])
    frame = pytest.importorskip("pandas").DataFrame
    assert isinstance(rows.table(), frame)
    assert rows.table()["a"].tolist() == [1, 2]
    table = np.arange(4.0).reshape(2, 2)
    league = League({"name": "coin"}, 5, 5, 0, ("a", "b"), table, table, table).table()
    assert league[["player", "opponent", "mean"]].values.tolist()[2] == ["b", "a", 2.0]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ComityError, match="pip install pandas"):
        rows.table()
