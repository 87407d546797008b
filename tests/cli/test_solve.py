"""`comity solve` and `comity analyse` in process: known answers, JSON, pictures, and what they refuse."""

import json

import numpy as np
import pytest

from comity.cli import run
from comity.cli.report import league_page
from comity.evaluate.league import League

THREE_PLAYERS = """NFG 1 R "Majority" { "A" "B" "C" } { { "x" "y" } { "x" "y" } { "x" "y" } }

1 1 1  0 1 1  1 0 1  1 1 0  1 1 0  1 0 1  0 1 1  1 1 1
"""

GAME_FILES = {
    "dilemma.csv": ",quiet,talk\nquiet,-1 -1,-3 0\ntalk,0 -3,-2 -2\n",
    "sexes.json": json.dumps({"row": [[3, 0], [0, 2]], "column": [[2, 0], [0, 3]]}),
    "pennies.csv": "1,-1\n-1,1\n",
    "coordination.json": json.dumps({"payoffs": [np.eye(3).tolist()] * 2}),
    "majority.nfg": THREE_PLAYERS,
}


def solved(capsys, *arguments):
    assert run(["solve", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("name", "count"),
    [("dilemma.csv", 1), ("sexes.json", 3), ("pennies.csv", 1), ("coordination.json", 7)],
)
def test_equilibria_of_files(tmp_path, capsys, name, count):
    (tmp_path / name).write_text(GAME_FILES[name])
    report = solved(capsys, tmp_path / name)
    assert len(report["equilibria"]) == count
    assert max(found["regret"] for found in report["equilibria"]) < 1e-8


def test_three_players_from_gambits_format(tmp_path, capsys):
    path = tmp_path / "majority.nfg"
    path.write_text(THREE_PLAYERS)
    report = solved(capsys, path)
    assert report["players"] == ["A", "B", "C"]
    assert {"A": {"x": 1.0}, "B": {"x": 1.0}, "C": {"x": 1.0}} in [
        e["strategies"] for e in report["equilibria"]
    ]
    assert run(["solve", str(path)]) == 0
    assert "search that may miss some" in capsys.readouterr().out


def test_a_registered_game_takes_its_settings_and_may_stand_anywhere(capsys):
    textbook = ["--game.swerve", 6, "--game.yielding", 2, "--game.dare", 7, "--game.crash", 0]
    report = solved(capsys, *textbook, "chicken")
    np.testing.assert_allclose(report["payoffs"][0], [[6, 2], [7, 0]])
    np.testing.assert_allclose(report["correlated"]["payoffs"], [5.25, 5.25])
    assert len(report["equilibria"]) == 3
    goods = solved(capsys, "public-goods", "--game.players", 3, "--game.multiplier", 1.6)
    (found,) = goods["equilibria"]
    assert all(strategy == {"D": 1.0} for strategy in found["strategies"].values())
    np.testing.assert_allclose(found["payoffs"], 0.0, atol=1e-12)
    assert len(solved(capsys, "coordination")["equilibria"]) == 7  # known to the theory only


def test_tables_say_what_the_data_say(capsys):
    assert run(["solve", "prisoners-dilemma"]) == 0
    text = capsys.readouterr().out
    for words in ("1 Nash equilibrium\n", "-2, -2", "0.0e+00", "Iterated elimination", "Pareto-optimal",
                  "Best correlated equilibrium: payoffs -2, -2", "largest sum of payoffs: -2"):  # fmt: skip
        assert words in text


def test_names_with_brackets_are_printed_as_they_are(tmp_path, capsys):
    path = tmp_path / "odd.json"
    names = [["[bold]a", "b"], ["c", "d"]]
    path.write_text(json.dumps({"row": [[1, 0], [0, 1]], "column": [[1, 0], [0, 1]], "actions": names}))
    assert run(["solve", str(path)]) == 0
    assert "[bold]a" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "name"),
    [([], "a.png"), (["--draw", "region"], "b.svg"), (["--draw", "flow"], "c.pdf")],
)
def test_pictures(tmp_path, capsys, options, name):
    path = tmp_path / name
    assert run(["solve", "battle-of-the-sexes", "--picture", str(path), *options]) == 0
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[path.suffix[1:]]
    assert path.read_bytes().startswith(start)
    assert path.stat().st_size > 3000


COALITION_FILES = {
    "gloves.csv": "left,0\nr1,0\nr2,0\nleft,r1,1\nleft,r2,1\nr1,r2,0\nleft,r1,r2,1\n",
    "talmud.json": json.dumps({"estate": 200, "claims": [100, 200, 300]}),
    "majority.json": json.dumps({"weights": [1, 1, 1], "quota": 2}),
}


def coalitions(tmp_path, capsys, name):
    (tmp_path / name).write_text(COALITION_FILES[name])
    return solved(capsys, "--coalition", tmp_path / name)


def test_cooperative_games(tmp_path, capsys):
    np.testing.assert_allclose(coalitions(tmp_path, capsys, "gloves.csv")["shapley"], [2 / 3, 1 / 6, 1 / 6])
    np.testing.assert_allclose(coalitions(tmp_path, capsys, "talmud.json")["nucleolus"], [50, 75, 75])
    assert coalitions(tmp_path, capsys, "majority.json")["core"]["empty"]
    assert run(["solve", str(tmp_path / "majority.json"), "--coalition"]) == 0
    text = capsys.readouterr().out
    assert "the core is empty" in text
    assert "0.3333" in text


BAD_FILES = {
    "ragged.csv": ("1 2,3 4\n5 6\n", [], "Line 2 has 1 cells"),
    "words.csv": ("1 2,3 4\n5 6,7 eight\n", [], "Line 2, cell 2 is 'eight', not a number"),
    "first.csv": ("1 2,3 four\n5 6,7 8\n", [], "'3 four' is not a payoff"),
    "second.csv": ("1 2,3 4\n5 six,7 8\n8 9,1 1\n", [], "'5 six' is not a payoff"),
    "infinite.csv": ("1 2,inf 4\n5 6,7 8\n", [], "finite"),
    "ragged.json": ('{"row": [[1, 2], [3]]}', [], "rows of equal length"),
    "not.json": ("{", [], "is not JSON"),
    "empty.json": ("{}", [], 'no "payoffs"'),
    "game.xlsx": ("", [], ".csv, .json or .nfg"),
    "cut.nfg": ('NFG 1 R "x" { "a" "b" } { 2 2 }\n1 2 3', [], "payoff 4 of 8"),
    "huge.nfg": ('NFG 1 R "x" { "a" "b" } { 999999999 2 }\n1 2 3', [], "too short"),
    "huge.json": ('{"row": [[1e308, 0], [0, 1]]}', [], "up to 1e+100 would work"),
    "names.json": ('{"row": [[1, 0], [0, 1]], "players": 2}', [], "a list of names"),
    "actions.json": ('{"row": [[1, 0], [0, 1]], "actions": [1, 2]}', [], "a list of names"),
    "twice.csv": (",a,a\nx,1 1,2 2\n", [], "'a' twice"),
    "null.json": ('{"payoffs": null}', [], "a table of numbers would work"),
    "quota.json": ('{"weights": [1, 2], "quota": "2"}', ["--coalition"], "quota is '2'"),
    "estate.json": ('{"estate": null, "claims": [1]}', ["--coalition"], "estate is None"),
    "nobody.csv": ("worth\n", ["--coalition"], "No coalition has a member"),
    "empty.csv": ("", [], "empty"),
    "negative.json": ('{"weights": [1, -2], "quota": 1}', ["--coalition"], "at least 0 would work"),
    "many.json": (json.dumps({"weights": [1] * 40, "quota": 3}), ["--coalition"], "shapley_sampled"),
    "missing.csv": ("a,1\nb,2\n", ["--coalition"], "is missing"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_refused_with_what_would_work(tmp_path, capsys, name):
    text, options, words = BAD_FILES[name]
    (tmp_path / name).write_text(text)
    refused(capsys, ["solve", str(tmp_path / name), *options], words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["prisoner-dilema"], "Did you mean prisoners-dilemma"),
        (["nowhere.csv"], "no file nowhere.csv"),
        (["coin"], "comity analyse"),
        (["chicken", "--picture", "a.doc"], ".png, .svg or .pdf"),
        (["rock-paper-scissors", "--picture", "a.png", "--draw", "responses"], "2 x 2"),
        (["public-goods", "--picture", "a.png"], "games of 2 players"),
        (["public-goods", "--game.players", "30"], "up to 8 would work"),
        (["votes", "--coalition"], "quota"),
        (["chicken", "--coalition", "--picture", "a.png"], "leave out --picture"),
    ],
)
def test_bad_arguments_are_refused_with_what_would_work(capsys, arguments, words):
    refused(capsys, ["solve", *arguments], words)


def refused(capsys, arguments, words):
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: ")
    assert any(word in shown.err for word in words.split("|")), shown.err


def a_league(names=("rock", "paper", "scissors", "lazy")):
    mean = np.array([[0, -1, 1, 0.5], [1, 0, -1, 0.5], [-1, 1, 0, 0.5], [-0.5, -0.5, -0.5, 0]])
    mean = mean[: len(names), : len(names)]
    game = {"name": "rock-paper-scissors"}
    return League(game, 16, 100, 0, tuple(names), mean, mean - 0.05, mean + 0.05)


@pytest.fixture
def league_file(tmp_path):
    path = tmp_path / "league.json"
    a_league().save(path)
    return path


def test_a_league_as_a_game(league_file, capsys):
    assert run(["analyse", str(league_file), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    (found,) = report["equilibria"]
    assert found["strategies"]["row"] == pytest.approx({"rock": 1 / 3, "paper": 1 / 3, "scissors": 1 / 3})
    assert 0 < found["regret_interval"][1] < 0.2
    np.testing.assert_allclose(report["alpha_rank"]["distribution"], [1 / 3, 1 / 3, 1 / 3, 0], atol=1e-9)
    assert report["ratings"]["elo"][0] == pytest.approx(report["ratings"]["elo"][1])
    assert report["ratings"]["elo"][0] > 0 > report["ratings"]["elo"][3]
    assert report["ratings"]["cyclic_share"] == pytest.approx(0.8)
    assert report["exploitability"]["exploiter"][:3] == ["paper", "scissors", "rock"]


def test_a_league_in_tables_and_a_picture(league_file, tmp_path, capsys):
    picture = tmp_path / "flow.png"
    members = ["--members", "rock", "paper", "lazy"]
    assert run(["analyse", str(league_file), "--picture", str(picture), *members]) == 0
    text = capsys.readouterr().out
    assert "1 equilibrium of the league" in text
    assert "80.0%" in text
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_league_page_has_an_analysis(league_file):
    page = league_page(a_league(), league_file)
    assert "<h2>Analysis</h2>" in page
    assert "80% of these differences are cyclic" in page
    assert page == league_page(a_league(), league_file)
    alone = league_page(a_league(["rock"]), league_file)
    assert "<h2>Analysis</h2>" not in alone
    assert "<h2>Analysis</h2>" in league_page(a_league(["rock", "paper"]), league_file)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["FILE", "--resamples", "-1"], "resamples = -1"),
        (["FILE", "--picture", "a.png", "--members", "rock", "well", "lazy"], "choose among"),
        (["FILE", "--picture", "a.gif"], ".png, .svg or .pdf"),
        (["FILE", "--fresh", "well"], "its players are"),
        (["FILE", "--fresh", "rock"], "neither a run folder|There is no agent"),
        (["FILE", "--fresh", "rock=always-cooperate", "--learner", "tit-for-tat"], "does not learn"),
        (["nowhere.json"], "does not exist"),
        (["OTHER"], "comity league"),
    ],
)
def test_analyse_refuses_what_it_cannot_do(league_file, tmp_path, capsys, arguments, words):
    other = tmp_path / "other.json"
    other.write_text('{"payoffs": []}')
    paths = {"FILE": str(league_file), "OTHER": str(other)}
    refused(capsys, ["analyse", *(paths.get(word, word) for word in arguments)], words)
