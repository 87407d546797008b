"""Reading games from files."""

import json

import numpy as np
import pytest

from comity.theory import (
    TheoryError,
    gloves,
    named_game,
    read_coalitions,
    read_game,
    weighted_votes,
)

DILEMMA = named_game("prisoners-dilemma").payoffs


def write(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plain.csv", "3 3,0 5\n5 0,1 1\n"),
        ("named.csv", ",cooperate,defect\ncooperate,3;3,0;5\ndefect,5;0,1;1\n"),
        ("header.csv", "cooperate,defect\n3|3,0|5\n5|0,1|1\n"),
        ("profiles.csv", "Ann,Bob,payoff Ann,payoff Bob\nC,C,3,3\nC,D,0,5\nD,C,5,0\nD,D,1,1\n"),
        ("bimatrix.json", '{"row": [[3, 0], [5, 1]], "column": [[3, 5], [0, 1]]}'),
        ("tensor.json", '{"payoffs": [[[3, 0], [5, 1]], [[3, 5], [0, 1]]], "title": "PD"}'),
        ("bare.json", "[[[3, 0], [5, 1]], [[3, 5], [0, 1]]]"),
        ("payoffs.nfg", 'NFG 1 R "PD" { "Ann" "Bob" } { 2 2 }\n\n3 3 5 0 0 5 1 1\n'),
        (
            "outcomes.nfg",
            'NFG 1 R "PD" { "Ann" "Bob" }\n{ { "C" "D" }\n{ "C" "D" }\n}\n"comment"\n{\n{ "a" 3, 3 }\n'
            '{ "b" 5, 0 }\n{ "" 0, 5 }\n{ "d" 1, 1 }\n}\n1 2 3 4\n',
        ),
    ],
)
def test_the_prisoners_dilemma_in_every_format(tmp_path, name, text):
    game = read_game(write(tmp_path, name, text))
    np.testing.assert_array_equal(game.payoffs, DILEMMA)


def test_names_are_kept(tmp_path):
    game = read_game(write(tmp_path, "a.csv", ",left,right\nup,1,2\ndown,3,4\n"))
    assert game.actions == (("up", "down"), ("left", "right"))
    np.testing.assert_array_equal(game.payoffs, [[[1, 2], [3, 4]], [[-1, -2], [-3, -4]]])
    game = read_game(
        write(tmp_path, "b.nfg", 'NFG 1 R "A \\"fine\\" game" { "x" } { { "one" "two" } } 1/2 -1e1')
    )
    assert game.title == 'A "fine" game'
    assert game.actions == (("one", "two"),)
    np.testing.assert_array_equal(game.payoffs, [[0.5, -10]])


def test_three_players_in_nfg_and_csv(tmp_path):
    """The first player's action changes fastest in .nfg; the number of a payoff tells its profile."""
    values = np.arange(2 * 3 * 2 * 3)
    text = 'NFG 1 R "three" { "a" "b" "c" } { 2 3 2 }\n' + " ".join(map(str, values))
    game = read_game(write(tmp_path, "three.nfg", text))
    assert game.num_actions == (2, 3, 2)
    assert game.payoffs[2, 1, 2, 0] == 3 * (1 + 2 * 2 + 6 * 0) + 2
    assert game.payoffs[0, 0, 1, 1] == 3 * (0 + 2 * 1 + 6 * 1)
    lines = ["a,b,c,payoff a,payoff b,payoff c"]
    for i, j, k in np.ndindex(2, 3, 2):
        lines.append(f"a{i},b{j},c{k}," + ",".join(str(game.payoffs[p, i, j, k]) for p in range(3)))
    table = read_game(write(tmp_path, "three.csv", "\n".join(lines)))
    np.testing.assert_array_equal(table.payoffs, game.payoffs)
    assert table.actions[1] == ("b0", "b1", "b2")


def test_the_null_outcome_pays_zero(tmp_path):
    text = 'NFG 1 R "" { "a" "b" } { { "1" "2" } { "1" "2" } } { { "only" 4 1/4 } } 0 1 1 0'
    game = read_game(write(tmp_path, "null.nfg", text))
    np.testing.assert_array_equal(game.payoffs[0], [[0, 4], [4, 0]])
    np.testing.assert_array_equal(game.payoffs[1], [[0, 0.25], [0.25, 0]])


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.csv", "1 1,2 2\n3 3\n", "Line 2 has 1 cells where the first has 2"),
        ("a.csv", "1 1,2 2\n3 3,x 4\n", "not a number"),
        ("a.csv", "1 1,2 2\n3 3,nan 4\n", "Line 2, cell 2 is 'nan'"),
        ("a.csv", "1 1,2 2\n3 3,inf 4\n", "use a large finite number instead"),
        ("a.csv", "1 1,2\n3 3,4\n", "two in every cell"),
        ("a.csv", "1 1 1,2 2 2\n", "For more players use payoff columns"),
        ("a.csv", "", "The file is empty"),
        ("a.csv", "a,b,payoff 1,payoff 2\nx,y,1,2\nx,z,1,2\nw,y,1,1\n", r"\['w', 'z'\] is missing"),
        ("a.csv", "a,b,payoff 1,payoff 2\nx,y,1,2\nx,y,1,2\n", "a second time"),
        ("a.csv", "a,b,payoff 1\nx,y,1\n", "n columns of actions and then n columns"),
        ("a.json", '{"payoffs": [[1, 2], [3]]}', "rows of equal length"),
        ("a.json", '{"payoffs": [[[1, Infinity]], [[0, 0]]]}', "holds inf at index"),
        ("a.json", '{"payoff": []}', 'The JSON has no "payoffs"'),
        ("a.json", '{"row": [[1,2]]', "Line 1 is not JSON"),
        ("a.nfg", 'EFG 2 R "x"', "begins with: NFG 1 R"),
        ("a.nfg", 'NFG 1 R "x" { "a" "b" } { 2 2 } 1 2 3', "file's end where payoff 4 of 8 should be"),
        ("a.nfg", 'NFG 1 R "x" { "a" "b" } { 1 1 } 1 2 3', "after the last profile"),
        ("a.nfg", 'NFG 1 R "x" { "a" "b" } { 1 }', "actions for 1 players where 2 are named"),
        ("a.nfg", 'NFG 1 R "x" { "a" "b" } { 1 1 }\n\n1 zwei', "Line 3 has 'zwei' where payoff 2 of 2"),
        ("a.nfg", 'NFG 1 R "x" { "a" "b" } { 1 1 } { { "o" 1 2 } } 7', "outcome 7; there are only 1"),
        ("a.nfg", 'NFG 1 R "x', "quotation mark that is not closed"),
        ("a.txt", "1 2", "a .csv, .json or .nfg file would work"),
    ],
)
def test_bad_files_are_refused_with_what_would_work(tmp_path, name, text, sentence):
    with pytest.raises(TheoryError, match=sentence):
        read_game(write(tmp_path, name, text))


def test_missing_file(tmp_path):
    with pytest.raises(TheoryError, match="There is no file"):
        read_game(tmp_path / "nothing.csv")


def test_coalitions_in_every_format(tmp_path):
    worth = {"L": 0, "R1": 0, "R2": 0, "L,R1": 1, "L,R2": 1, "R1,R2": 0, "L,R1,R2": 1}
    from_json = read_coalitions(
        write(tmp_path, "g.json", json.dumps({"worth": worth, "players": ["L", "R1", "R2"]}))
    )
    lines = "\n".join(f"{coalition},{value}" for coalition, value in worth.items())
    from_csv = read_coalitions(write(tmp_path, "g.csv", "members,,,worth\n" + lines))
    for game in (from_json, from_csv):
        np.testing.assert_array_equal(game.worth, gloves(1, 2).worth)
        assert game.players == ("L", "R1", "R2")
    votes = read_coalitions(write(tmp_path, "v.json", '{"weights": [2, 1, 1], "quota": 3}'))
    np.testing.assert_array_equal(votes.worth, weighted_votes([2, 1, 1], 3).worth)
    assert (
        read_coalitions(write(tmp_path, "b.json", '{"estate": 100, "claims": [100, 200]}')).worth[-1] == 100
    )
    assert read_coalitions(write(tmp_path, "c.json", '{"costs": [1, 5]}')).worth[-1] == -5


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.json", '{"weights": [1, -2], "quota": 1}', r"weights\[1\] is -2.0"),
        ("a.json", '{"worth": {"a": "much"}}', "'much'; a number would work"),
        ("a.json", '{"worth": {"a": 1, "a,b": 2}}', r"coalition \['b'\] is missing"),
        ("a.json", '{"value": 3}', 'no "worth"'),
        ("a.csv", "a,1\nb,2\na,b,many\n", "Line 3, the worth is 'many'"),
        ("a.csv", "a,1\nb,2\na,b,3\nb,a,4\n", "a second time"),
        ("a.nfg", "", "a .csv or .json file would work"),
    ],
)
def test_bad_coalition_files(tmp_path, name, text, sentence):
    with pytest.raises(TheoryError, match=sentence):
        read_coalitions(write(tmp_path, name, text))


def test_names_that_are_numbers_need_an_empty_corner(tmp_path):
    game = read_game(write(tmp_path, "levels.csv", ",0,50,all\n0,1 1,2 2,3 3\n50,4 4,5 5,6 6\n"))
    assert game.actions == (("0", "50"), ("0", "50", "all"))
    with pytest.raises(TheoryError, match="leave the first cell of the first line empty"):
        read_game(write(tmp_path, "levels.csv", "x,0,50,all\na,1 1,2 2,3 3\nb,4 4,5 5,6 6\n"))
