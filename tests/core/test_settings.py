"""Settings: a wrong value names the field, the value and what is allowed."""

import dataclasses
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from comity.core.errors import ComityError, require, unknown_name
from comity.core.files import read_json, write_json
from comity.core.registry import Registry, Row
from comity.core.settings import build, nest, to_data
from comity.games.transforms import SharedReward
from comity.play.matchmaking import AgentReplayBuffer
from comity.play.specs import make_agent, make_game, make_matchmaker
from comity.train.experiment import Experiment, make_experiment


@dataclass(frozen=True)
class Inner:
    width: int = 3
    kind: Literal["thin", "thick"] = "thin"


@dataclass(frozen=True)
class Outer:
    name_of_it: str
    rate: float = 0.5
    on: bool = False
    limit: int | None = None
    pair: tuple[int, float] = (1, 2.0)
    many: tuple[float, ...] = ()
    inner: Inner = Inner()
    derived: int = dataclasses.field(default=0, init=False)


def resolve(kind: type[Any], data: Any, path: str) -> Any:
    return build(kind, data, path, resolve)


def read(**data: Any) -> Outer:
    outer: Outer = build(Outer, {"name_of_it": "x", **data}, "outer", resolve)
    return outer


def test_everything_survives() -> None:
    value = Outer("x", 1e-3, True, 7, (2, 3.0), (0.1, 0.2), Inner(9, "thick"))
    data = json.loads(json.dumps(to_data(value, lambda cls: None)))
    assert build(Outer, data, "outer", resolve) == value
    assert "derived" not in data


def test_whole_numbers_become_numbers_and_defaults_stay() -> None:
    assert read(rate=2) == Outer("x", 2.0)
    assert isinstance(read(rate=2).rate, float)


WRONG = [
    ({"rate": "fast"}, "outer.rate = 'fast' is not possible: it must be a finite number."),
    ({"rate": True}, "outer.rate = True is not possible: it must be a finite number."),
    ({"rate": math.inf}, "outer.rate = inf is not possible: it must be a finite number."),
    ({"rate": None}, "outer.rate = None is not possible: it must be a finite number."),
    ({"on": 1}, "outer.on = 1 is not possible: it must be true or false."),
    ({"limit": 2.5}, "outer.limit = 2.5 is not possible: it must be a whole number."),
    ({"limit": True}, "outer.limit = True is not possible: it must be a whole number."),
    ({"name_of_it": 5}, "outer.name_of_it = 5 is not possible: it must be a text."),
    ({"pair": 5}, "outer.pair = 5 is not possible: it must be a list."),
    ({"pair": [1]}, "outer.pair = [1] is not possible: it must be a list of 2 values."),
    ({"pair": [1, "b"]}, "outer.pair[1] = 'b' is not possible: it must be a finite number."),
    ({"many": [0.5, "b"]}, "outer.many[1] = 'b' is not possible: it must be a finite number."),
    ({"inner": 3}, "outer.inner = 3 is not possible: it must be the settings of a Inner."),
    ({"inner": {"width": "b"}}, "outer.inner.width = 'b' is not possible: it must be a whole number."),
    ({"inner": {"kind": "fat"}}, "outer.inner.kind = 'fat' is not possible: it must be one of thin, thick."),
    ({"inner": {"widht": 3}}, "There is no setting of outer.inner named 'widht'. Did you mean width?"),
    ({"derived": 3}, "There is no setting of outer named 'derived'. There are: "),
]


@pytest.mark.parametrize(("data", "message"), WRONG, ids=[message.split(" is ")[0] for _, message in WRONG])
def test_a_wrong_value(data: dict[str, Any], message: str) -> None:
    with pytest.raises(ComityError) as caught:
        read(**data)
    assert str(caught.value).startswith(message)


def test_a_field_without_default_is_asked_for() -> None:
    with pytest.raises(ComityError, match=r"outer\.name_of_it is missing: it has no default"):
        build(Outer, {}, "outer", resolve)


def test_what_cannot_be_written() -> None:
    with pytest.raises(ComityError, match="rate = nan is not possible: it must be a finite number"):
        to_data(Outer("x", rate=math.nan), lambda cls: None)
    with pytest.raises(ComityError, match=r"many\[1\] = inf is not possible"):
        to_data(Outer("x", many=(1.0, math.inf)), lambda cls: None)
    with pytest.raises(ComityError, match="is of type function"):
        to_data(resolve, lambda cls: None)
    assert to_data(np.asarray([[1.5], [2.0]]), lambda cls: None) == [[1.5], [2.0]]


def test_dotted_names() -> None:
    assert nest({"a": 1, "b.c": 2, "b.d.e": 3}) == {"a": 1, "b": {"c": 2, "d": {"e": 3}}}


def test_unknown_names_suggest_the_nearest() -> None:
    known = ["prisoners-dilemma", "stag-hunt", "chicken"]
    assert "Did you mean stag-hunt?" in str(unknown_name("game", "stag-hnt", known))
    assert "There are: chicken, prisoners-dilemma, stag-hunt." in str(unknown_name("game", "xyz", known))


def test_require_names_field_value_and_what_is_allowed() -> None:
    require(True, "batch", 1, "at least 1")
    with pytest.raises(ComityError, match=r"^batch = 0 is not possible: it must be at least 1\.$"):
        require(False, "batch", 0, "at least 1")


def test_a_registry_takes_classes_of_the_users_own() -> None:
    registry = Registry("thing", {"inner": Row(f"{__name__}:Inner", "one")})
    registry.register("mine", Outer, "another")
    assert (registry.load("mine"), registry.name_of(Outer)) == (Outer, "mine")
    assert (registry.load("inner"), registry.name_of(Inner)) == (Inner, "inner")
    with pytest.raises(ComityError, match="There is a thing named 'mine' already"):
        registry.register("mine", Outer, "again")
    with pytest.raises(ComityError, match=r"no thing named 'mnie'\. Did you mean mine\?"):
        registry.load("mnie")
    with pytest.raises(ComityError, match="The thing Path has no name, so it cannot be written"):
        registry.name_of(Path)


TABULAR_NETWORK: dict[str, Any] = {"network.kind": "tabular"}
MLP: dict[str, Any] = {"network.kind": "mlp"}
TREE: dict[str, Any] = {"network.kind": "tree"}
NO_WIDTH: dict[str, Any] = {"network.width": 0}
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: make_game("prisoners-dilema"), "Did you mean prisoners-dilemma?"),
    (lambda: make_game("prisoners-dilemma", horizont=3), "Did you mean horizon?"),
    (lambda: make_game("prisoners-dilemma", horizon=0), "horizon = 0 is not possible: it must be at least 1"),
    (lambda: make_game("prisoners-dilemma", reward="much"), "prisoners-dilemma.reward = 'much'"),
    (lambda: make_game("matrix-game", payoff=(1.0, 2.0)), "8 numbers for 2 players"),
    (lambda: make_agent("pp0"), "Did you mean ppo?"),
    (lambda: make_agent("tit-for-tta"), "Did you mean tit-for-tat"),
    (lambda: make_agent("a2c", learning_rat=1e-3), "Did you mean learning_rate"),
    (lambda: make_agent("a2c", learning_rate=-1.0), "learning_rate = -1.0 is not possible: it must be above"),
    (lambda: make_agent("a2c", discount=1.5), "discount = 1.5 is not possible: it must be between 0 and 1"),
    (lambda: make_agent("ppo", **TREE), "one of tabular, mlp, gru"),
    (lambda: make_agent("ppo", **NO_WIDTH), "network.width = 0 is not possible"),
    (lambda: make_matchmaker("selfplay"), "Did you mean self-play or replay?"),
    (lambda: make_matchmaker("replay", capacity=0), "capacity = 0 is not possible: it must be at least 1"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_games_and_agents_refuse_wrong_settings(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ComityError) as caught:
        make()
    assert message in str(caught.value)


def experiments() -> list[Experiment]:
    dilemma = make_game("prisoners-dilemma", temptation=0.5, horizon=8)
    tabular = make_agent("a2c", **TABULAR_NETWORK)
    replay = AgentReplayBuffer(capacity=8, groups=4)
    return [
        make_experiment(dilemma, tabular, iterations=7, batch=4, seed=3),
        make_experiment(SharedReward(game=dilemma, others=0.5), tabular, matchmaker=replay, batch=8),
        make_experiment(dilemma, (make_agent("ppo"), make_agent("tit-for-tat", dilemma))),
        make_experiment(make_game("public-goods", players=3), make_agent("ppo"), share=False, unroll=5),
        make_experiment(make_game("negotiation"), make_agent("ppo", **MLP)),
    ]


@pytest.mark.parametrize("number", range(len(experiments())))
def test_an_experiment_survives_a_file(number: int, tmp_path: Path) -> None:
    experiment = experiments()[number]
    write_json(tmp_path / "config.json", experiment.to_data())
    assert Experiment.from_data(read_json(tmp_path / "config.json", "an experiment")) == experiment


DAMAGED: list[tuple[dict[str, Any], str]] = [
    ({"iterations": "many"}, "iterations = 'many' is not possible: it must be a whole number"),
    ({"batch": True}, "batch = True is not possible: it must be a whole number"),
    ({"seed": -1}, "seed = -1 is not possible: it must be between 0 and 2147483647"),
    ({"colour": "red"}, "There is no setting of an experiment named 'colour'"),
    ({"seating": [[0, "1"]]}, "seating = [[0, '1']] is not possible"),
    ({"seating": [[0]]}, "do not fill each of them once"),
    ({"seating": [[0, 0]]}, "do not fill each of them once"),
    ({"agents": "a2c"}, "agents = 'a2c' is not possible: it must be a list of agents"),
    ({"agents": [{"name": "a2x"}]}, "Did you mean a2c?"),
    ({"agents": [{"discount": 0.9}]}, "agents[0] must have a name and settings"),
    ({"agents": [{"name": "a2c", "discount": "b"}]}, "agents[0].discount = 'b' is not possible"),
    ({"game": {"name": "stag-hnt"}}, "Did you mean stag-hunt?"),
    ({"game": {"name": "chicken", "crash": "b"}}, "game.crash = 'b' is not possible"),
    ({"matchmaker": {"name": "replay", "every": 0}}, "every = 0 is not possible: it must be at least 1"),
]


@pytest.mark.parametrize(("change", "message"), DAMAGED, ids=[message for _, message in DAMAGED])
def test_a_damaged_experiment_is_refused(change: dict[str, Any], message: str) -> None:
    data = experiments()[0].to_data() | change
    with pytest.raises(ComityError) as caught:
        Experiment.from_data(data)
    assert message in str(caught.value)


def test_an_experiment_lacks_something() -> None:
    data = experiments()[0].to_data()
    del data["batch"], data["seed"]
    with pytest.raises(ComityError, match="The experiment lacks batch, seed"):
        Experiment.from_data(data)
    with pytest.raises(ComityError, match="must be an object"):
        Experiment.from_data([1, 2])
