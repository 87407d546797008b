"""`comity coordinate`: markets from files, every mechanism, and what is refused."""

import json
from pathlib import Path

import pytest

from comity.cli import run as cli
from comity.coordination import read_market

BUNDLES = {
    "needs": {
        "ann": {"bids": [{"bundle": ["A", "B"], "value": 5}]},
        "bob": {"bids": [{"bundle": ["A"], "value": 2}]},
        "cy": {"bids": [{"bundle": ["B"], "value": 2}]},
    }
}


def written(path: Path, data: object) -> str:
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return str(path)


def test_all_mechanisms_that_are_for_a_market(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path / "bundles.json", BUNDLES)
    assert cli(["coordinate", file, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["mechanisms"]) == {"optimum", "vcg"}
    assert found["mechanisms"]["vcg"]["payments"] == {"ann": 4.0, "bob": 0.0, "cy": 0.0}
    assert "would work" in found["not for this market"]["hierarchy"]
    assert cli(["coordinate", file]) == 0
    assert "A, B" in capsys.readouterr().out


def test_one_mechanism_with_its_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path / "goods.csv", "need,x,y\nann,9,9\nbob,4,4\ncosts,5,8\n")
    market = read_market(file)
    assert (market.needs, market.offers, market.costs.tolist()) == (("ann", "bob"), ("x", "y"), [5, 8])
    line = ["coordinate", file, "--mechanism", "double-auction", "--settings.k", "1", "--json"]
    assert cli(line) == 0
    found = json.loads(capsys.readouterr().out)["mechanisms"]["double-auction"]
    assert found["payments"] == {"ann": 8.0, "bob": 0.0}  # prices from 5 to 8 clear the market
    assert found["measures"]["efficiency"] == 1.0


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"needs": {"ann": {"bids": [{"bundle": ["A", "A"], "value": 1}]}}}, "no name twice"),
        ({"needs": {"ann": {"bids": [{"bundle": "A", "value": 1}]}}}, "list of names"),
        ({"needs": {"ann": {"bids": [{"bundle": [], "value": 1}]}}}, "set of one offer"),
        ({"needs": {"ann": {"values": {"A": "x"}}}}, "a number"),
        ({"needs": {"ann": {"values": {"A": 1}}}, "offers": {"B": 0}}, "offers that there are: B"),
        ({"needs": {}}, "a need at least"),
        ({"needs": {"ann": {"values": {"A": 1}}, "bob": {"bids": []}}}, "all with values"),
        ({"needs": {"a": {"values": {"A": 1}, "budget": 1}, "b": {"values": {"A": 1}}}}, "for every need"),
        ({"needs": {"ann": {"values": {"A": 1}}}, "demand": "much"}, "demand"),
        ("[", "cannot be read"),
    ],
)
def test_bad_files_are_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: object, said: str
) -> None:
    assert cli(["coordinate", written(tmp_path / "bad.json", data)]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["", "need,x\n", "need,x\nann\n", "need,x\nann,1\nann,2\n", "need,x\nann,much\n"]
)
def test_bad_tables_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    assert cli(["coordinate", written(tmp_path / "bad.csv", text)]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_unknown_mechanisms_and_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path / "bundles.json", BUNDLES)
    assert cli(["coordinate", file, "--mechanism", "vgc"]) == 2
    assert "Did you mean vcg?" in capsys.readouterr().err
    assert cli(["coordinate", file, "--mechanism", "hierarchy"]) == 2
    assert "optimum or vcg would work" in capsys.readouterr().err
    assert cli(["coordinate", str(tmp_path / "none.json")]) == 2
