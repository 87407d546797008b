"""Specs as data: what is written is what is read, and what is wrong is refused by its name."""

import json
import math
from typing import Any

import pytest

from comity.core.errors import ComityError
from comity.core.game import GameSpec, Seat
from comity.core.spaces import Bits, Box, Discrete, Masked, Space
from comity.core.spec_data import LARGEST_SPACE, space_data, space_from_data, spec_data, spec_from_data
from comity.games.registry import GAMES
from comity.play.specs import make_game

SPACES: list[Space] = [
    Discrete(3),
    Discrete(2, ("C", "D")),
    Box((2, 3)),
    Box((), -1.5, 2.5),
    Box((4,), 0.0),
    Box((4,), high=7.0),
    Bits((5, 3, 3)),
    Masked((Discrete(2), Box((2,))), 4),
    (),
    (Discrete(2), (Box((1,)), Bits((1, 2, 2)))),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_a_space_survives_json(space: Space) -> None:
    text = json.dumps(space_data(space), allow_nan=False)
    assert space_from_data(json.loads(text), "space") == space


SPEC = GameSpec(
    (
        Seat("a", Box((2,)), Discrete(3), (True, False), "speaker"),
        Seat("b", Discrete(2), Box((1,), 0.0, 1.0), (), "listener"),
    ),
    Box((7,)),
    12,
    "mine:of-some-kind",
    True,
)


def test_every_field_of_a_spec_survives_json() -> None:
    """No field has the value that it would have if it were left out."""
    assert spec_from_data(json.loads(json.dumps(spec_data(SPEC)))) == SPEC
    without = SPEC._replace(state=None, horizon=None, symmetric=False)
    assert spec_from_data(json.loads(json.dumps(spec_data(without)))) == without


@pytest.mark.parametrize("name", GAMES.rows())
def test_the_spec_of_every_game_survives_json(name: str) -> None:
    spec = make_game(name).spec
    assert spec_from_data(json.loads(json.dumps(spec_data(spec)))) == spec


def test_a_box_without_sense_is_not_written() -> None:
    for box in (Box((1,), math.nan, 1.0), Box((1,), 0.0, -math.inf)):
        with pytest.raises(ComityError, match="finite number, or null"):
            space_data(box)


def nested(depth: int) -> Any:
    return {"kind": "tuple", "parts": [nested(depth - 1)] if depth else []}


WRONG: list[tuple[Any, str]] = [
    (5, "space.kind = None is not possible: it must be one of discrete, box"),
    ({"kind": "tree"}, "space.kind = 'tree' is not possible"),
    ({"kind": ["box"]}, "space.kind"),
    ({"kind": "discrete", "n": 2}, "labels too"),
    ({"kind": "discrete", "n": 2, "labels": [], "size": 3}, "There is no field of space named 'size'"),
    ({"kind": "discrete", "n": 0, "labels": []}, "space.n = 0"),
    ({"kind": "discrete", "n": True, "labels": []}, "space.n = True"),
    ({"kind": "discrete", "n": LARGEST_SPACE + 1, "labels": []}, "space.n"),
    ({"kind": "discrete", "n": 2, "labels": ["C"]}, "space.labels"),
    ({"kind": "discrete", "n": 2, "labels": ["C", 5]}, "space.labels[1]"),
    ({"kind": "discrete", "n": 2, "labels": ["C", "D" * 2000]}, "space.labels[1]"),
    ({"kind": "box", "shape": [2, -1], "low": None, "high": None}, "space.shape[1] = -1"),
    ({"kind": "box", "shape": [4096, 4097], "low": None, "high": None}, "space.shape = [4096, 4097]"),
    ({"kind": "box", "shape": [1] * 9, "low": None, "high": None}, "space.shape = 9"),
    ({"kind": "box", "shape": [1], "low": "small", "high": None}, "space.low = 'small'"),
    ({"kind": "box", "shape": [1], "low": 10**400, "high": None}, "space.low"),
    ({"kind": "box", "shape": [1], "low": 2.0, "high": 1.0}, "space.low = 2.0"),
    ({"kind": "bits", "shape": [2, 3]}, "space.shape = (2, 3)"),
    ({"kind": "bits", "shape": [32, 3, 3]}, "1 to 31 planes"),
    ({"kind": "masked", "observation": {"kind": "tree"}, "choices": 2}, "space.observation.kind"),
    ({"kind": "masked", "observation": space_data(Discrete(2)), "choices": 0}, "space.choices = 0"),
    ({"kind": "tuple", "parts": {}}, "space.parts"),
    ({"kind": "tuple", "parts": [space_data(Box((2**23,)))] * 3}, "at most 16777216 numbers"),
    (nested(40), "nested at most 16 deep"),
]


@pytest.mark.parametrize(("data", "message"), WRONG, ids=[str(i) for i in range(len(WRONG))])
def test_a_wrong_space_is_refused_by_its_field(data: Any, message: str) -> None:
    with pytest.raises(ComityError) as caught:
        space_from_data(data, "space")
    assert message in str(caught.value)


WRONG_SPECS: list[tuple[dict[str, Any], str]] = [
    ({"seats": []}, "spec.seats = [] is not possible: it must be at least one seat"),
    ({"seats": "many"}, "spec.seats"),
    ({"seats": [5]}, "spec.seats[0] = 5"),
    ({"horizon": 0}, "spec.horizon = 0"),
    ({"horizon": 1.5}, "spec.horizon = 1.5"),
    ({"family": 5}, "spec.family"),
    ({"symmetric": "yes"}, "spec.symmetric = 'yes'"),
    ({"state": {"kind": "tree"}}, "spec.state.kind"),
    ({"colour": "red"}, "There is no field of spec named 'colour'"),
    ({"seats": [{**spec_data(SPEC)["seats"][0], "resampled": [True] * 3}]}, "spec.seats[0].resampled"),
    ({"seats": [{**spec_data(SPEC)["seats"][0], "resampled": [1]}]}, "spec.seats[0].resampled[0] = 1"),
    ({"seats": [{**spec_data(SPEC)["seats"][0], "role": None}]}, "spec.seats[0].role"),
]


@pytest.mark.parametrize(("change", "message"), WRONG_SPECS, ids=[message for _, message in WRONG_SPECS])
def test_a_wrong_spec_is_refused_by_its_field(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ComityError) as caught:
        spec_from_data({**spec_data(SPEC), **change})
    assert message in str(caught.value)
