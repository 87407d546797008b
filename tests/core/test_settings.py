"""Settings: a wrong value names the field, the value and what is allowed."""

import dataclasses
import itertools
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
import tyro

from comity.agents.on_policy.a2c import A2C
from comity.agents.on_policy.ppo import PPO
from comity.cli.choices import choose
from comity.core.errors import ComityError, require, unknown_name
from comity.core.files import read_json, write_json
from comity.core.registry import Registry, Row
from comity.core.settings import build, nest, to_data
from comity.games.transforms import SharedReward
from comity.nets import GRU, MLP, Tabular
from comity.play.matchmaking import PastSelves
from comity.play.specs import agent_data, make_agent, make_game, make_matchmaker
from comity.training.experiment import Experiment, make_experiment


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


def resolve(kind: type[Any], data: Any, path: str, default: Any) -> Any:
    return build(kind, data, path, resolve, default)


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


def test_a_name_and_its_settings_come_in_any_order() -> None:
    expected = {"shape": {"name": "ring", "radius": 2.0, "inside": {"name": "square", "side": 1.0}}}
    flat = {"shape": "ring", "shape.radius": 2.0, "shape.inside": "square", "shape.inside.side": 1.0}
    for order in itertools.permutations(flat):
        assert nest({name: flat[name] for name in order}) == expected
    given = {"name": "ring"}
    assert nest({"shape": given, "shape.radius": 1.0}) == {"shape": {"name": "ring", "radius": 1.0}}
    assert given == {"name": "ring"}
    with pytest.raises(ComityError, match=r"shape is given as a whole already, so shape\.radius cannot"):
        nest({"shape": Square(), "shape.radius": 1.0})


SHAPES = Registry(
    "shape", {"square": Row(f"{__name__}:Square", "has sides"), "ring": Row(f"{__name__}:Ring", "is round")}
)


@dataclass(frozen=True)
class Shape:
    options: ClassVar[Registry] = SHAPES


@dataclass(frozen=True)
class Square(Shape):
    side: float = 1.0


@dataclass(frozen=True)
class Ring(Shape):
    radius: float = 3.0
    inside: Shape | None = None


@dataclass(frozen=True)
class Drawing:
    shape: Shape = Ring(radius=5.0, inside=Square(4.0))
    behind: Shape | None = None
    exactly: Square = Square()
    many: tuple[Shape, ...] = ()


def draw(**data: Any) -> Drawing:
    drawing: Drawing = build(Drawing, nest(data), "drawing", resolve)
    return drawing


def test_a_choice_by_name() -> None:
    assert draw(shape="square") == draw(shape={"name": "square"}) == Drawing(Square())
    assert draw(shape={"name": "square", "side": 2.0}) == Drawing(Square(2.0))
    assert draw(**{"shape.side": 2.0}, shape="square") == Drawing(Square(2.0))
    assert draw(shape=Square(7.0)) == Drawing(Square(7.0))
    assert draw(shape="ring") == Drawing(Ring())  # a name stands for the class as it is by default
    deep = draw(shape="ring", **{"shape.inside": "ring", "shape.inside.radius": 1.0})
    assert deep == Drawing(Ring(inside=Ring(radius=1.0)))
    assert draw(many=["ring", {"name": "square", "side": 2.0}]).many == (Ring(), Square(2.0))


def test_without_a_name_the_default_is_changed() -> None:
    assert draw(**{"shape.radius": 1.0}) == Drawing(Ring(1.0, Square(4.0)))
    assert draw(**{"shape.inside.side": 1.0}) == Drawing(Ring(5.0, Square(1.0)))


def test_an_optional_choice() -> None:
    assert draw(behind=None) == Drawing()
    assert draw(behind="ring").behind == Ring()
    assert draw(**{"shape.inside": None}) == Drawing(Ring(radius=5.0))
    with pytest.raises(
        ComityError, match=r"drawing\.behind\.name is missing: it must be one of square, ring"
    ):
        draw(**{"behind.radius": 1.0})


@pytest.mark.parametrize("number", range(4))
def test_a_choice_survives_a_file(number: int) -> None:
    value = [Drawing(), Drawing(Square(2.0), Ring()), draw(exactly={"side": 2.0}), draw(many=["ring"])][
        number
    ]
    data = json.loads(json.dumps(to_data(value, lambda cls: None)))
    assert build(Drawing, data, "drawing", resolve) == value
    assert data["shape"]["name"] == ("square" if number == 1 else "ring")


CHOSEN_WRONG = [
    ({"shape": "sqare"}, "There is no shape for drawing.shape named 'sqare'. Did you mean square?"),
    ({"shape": 3}, "drawing.shape = 3 is not possible: it must be one of square, ring."),
    ({"shape": {"name": "square", "radius": 1.0}}, "There is no setting of drawing.shape named 'radius'."),
    ({"shape": {"name": ["square"]}}, "There is no shape for drawing.shape named "),
    ({"behind": "sqare"}, "There is no shape for drawing.behind named 'sqare'. Did you mean square?"),
    ({"exactly": {"name": "ring"}}, "There is no setting of drawing.exactly named 'name'."),
    (
        {"exactly": "square"},
        "drawing.exactly = 'square' is not possible: it must be the settings of a Square.",
    ),
]


@pytest.mark.parametrize(("data", "message"), CHOSEN_WRONG, ids=[message for _, message in CHOSEN_WRONG])
def test_a_wrong_choice(data: dict[str, Any], message: str) -> None:
    with pytest.raises(ComityError) as caught:
        draw(**data)
    assert str(caught.value).startswith(message)


@dataclass(frozen=True)
class Line(Shape):
    length: float = 2.0


@pytest.fixture
def line_is_a_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    for table in ("_rows", "_classes"):
        monkeypatch.setattr(SHAPES, table, dict(getattr(SHAPES, table)))
    SHAPES.register("line", Line, "is thin")


def test_classes_of_ones_own_are_chosen_too(line_is_a_shape: None) -> None:
    assert draw(**{"shape": "line", "shape.length": 1.0}).shape == Line(1.0)
    assert to_data(Line(), lambda cls: None) == {"name": "line", "length": 2.0}
    SHAPES.register("drawing", Drawing, "is no shape")
    with pytest.raises(ComityError, match="the class Drawing is not a Shape"):
        draw(shape="drawing")


def test_choices_on_the_command_line(line_is_a_shape: None) -> None:
    words = ["--a.shape", "ring", "--a.shape.inside=line", "--a.behind", "square", "--a.exactly", "ring"]
    drawing, choices = choose(Drawing(), "a", words)
    assert drawing == Drawing(Ring(inside=Line()), Square())
    assert [(choice.flag, choice.chosen, choice.optional) for choice in choices] == [
        ("a.shape", "ring", False),
        ("a.shape.inside", "line", True),
        ("a.behind", "square", True),
    ]
    unchanged, choices = choose(Drawing(), "a", ["--b.shape", "square", "--a.shape", "--a.behind"])
    assert unchanged == Drawing()
    assert [choice.chosen for choice in choices] == ["ring", "square", "none"]
    assert choose(Drawing(), "a", ["--a.shape.inside", "none"])[0] == Drawing(Ring(radius=5.0))
    with pytest.raises(ComityError, match=r"no shape for --a\.behind named 'lin'\. Did you mean line\?"):
        choose(Drawing(), "a", ["--a.behind", "lin"])


def test_an_optional_choice_is_parsed() -> None:
    words = ["--a.behind", "square", "--a.behind.side", "3", "--a.shape.radius", "2"]
    drawing, choices = choose(Drawing(), "a", words)
    fields = [choice.field(f"choice_{i}") for i, choice in enumerate(choices)]
    fields.append(("a", Drawing, dataclasses.field(default=drawing)))
    together = dataclasses.make_dataclass("Together", fields)
    parsed: Any = tyro.cli(together, args=words, config=(tyro.conf.AvoidSubcommands,))
    assert parsed.a == Drawing(Ring(2.0, Square(4.0)), Square(3.0))


def test_networks_by_name() -> None:
    assert make_agent("a2c", network="tabular") == A2C(network=Tabular())
    assert make_agent("ppo", network="gru", **{"network.width": 32}) == PPO(network=GRU(width=32))
    assert make_agent("ppo", **{"network.width": 32}) == PPO(network=GRU(width=32))
    assert make_agent("ppo", network=MLP(width=32)) == PPO(network=MLP(width=32))
    assert agent_data(PPO(network=MLP(width=32)))["network"] == {
        "name": "mlp", "width": 32, "depth": 1,
        "encoder": {"name": "flat", "stack": 1, "overlaps": False},
        "inputs": {"clock": False, "normalise": False},
        "orthogonal": False, "precision": "float32", "layer_norm": False,
    }  # fmt: skip


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


TABULAR_NETWORK: dict[str, Any] = {"network": "tabular"}
PERCEPTRON: dict[str, Any] = {"network": "mlp"}
TREE: dict[str, Any] = {"network": "tree"}
NO_WIDTH: dict[str, Any] = {"network.width": 0}
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: make_game("prisoners-dilema"), "Did you mean prisoners-dilemma?"),
    (lambda: make_game("prisoners-dilemma", horizont=3), "Did you mean horizon?"),
    (lambda: make_game("prisoners-dilemma", horizon=0), "horizon = 0 is not possible: it must be at least 1"),
    (lambda: make_game("prisoners-dilemma", reward="much"), "prisoners-dilemma.reward = 'much'"),
    (lambda: make_game("matrix-game", payoff=(1.0, 2.0)), "8 numbers for 2 players"),
    (lambda: make_agent("pp0"), "Did you mean ppo?"),
    (lambda: make_agent("tit-for-tta"), "Did you mean tit-for-tat"),
    (lambda: make_agent("a2c", optimiser={"learning_rat": 1e-3}), "Did you mean learning_rate"),
    (
        lambda: make_agent("a2c", **{"optimiser.learning_rate": -1.0}),
        "learning_rate = -1.0 is not possible: it must be above",
    ),
    (lambda: make_agent("a2c", discount=1.5), "discount = 1.5 is not possible: it must be between 0 and 1"),
    (
        lambda: make_agent("ppo", **TREE),
        "no network for ppo.network named 'tree'. There are: gru, gtrxl, lstm",
    ),
    (lambda: make_agent("ppo", network="mpl"), "Did you mean mlp?"),
    (
        lambda: make_agent("ppo", network=3),
        "ppo.network = 3 is not possible: it must be one of tabular, mlp, gru",
    ),
    (
        lambda: make_agent("ppo", network="mlp", **{"network.after": 1}),
        "no setting of ppo.network named 'after'",
    ),
    (lambda: make_agent("ppo", **NO_WIDTH), "network.width = 0 is not possible"),
    (lambda: make_matchmaker("selfplay"), "Did you mean self-play?"),
    (lambda: make_matchmaker("past", capacity=0), "capacity = 0 is not possible: it must be between 1 and"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_games_and_agents_refuse_wrong_settings(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ComityError) as caught:
        make()
    assert message in str(caught.value)


def experiments() -> list[Experiment]:
    dilemma = make_game("prisoners-dilemma", temptation=0.5, horizon=8)
    tabular = make_agent("a2c", **TABULAR_NETWORK)
    replay = PastSelves(capacity=8, groups=4)
    return [
        make_experiment(dilemma, tabular, iterations=7, batch=4, seed=3),
        make_experiment(SharedReward(game=dilemma, others=0.5), tabular, matchmaker=replay, batch=8),
        make_experiment(dilemma, (make_agent("ppo"), make_agent("tit-for-tat", dilemma))),
        make_experiment(make_game("public-goods", players=3), make_agent("ppo"), share=False, unroll=5),
        make_experiment(make_game("negotiation"), make_agent("ppo", **PERCEPTRON)),
    ]


@pytest.mark.parametrize("number", range(len(experiments())))
def test_an_experiment_survives_a_file(number: int, tmp_path: Path) -> None:
    experiment = experiments()[number]
    write_json(tmp_path / "config.json", experiment.to_data())
    assert Experiment.from_data(read_json(tmp_path / "config.json", "an experiment")) == experiment


def test_every_setting_of_an_experiment_survives_a_file() -> None:
    game = make_game("public-goods", players=3)
    agents = (make_agent("a2c", **TABULAR_NETWORK), make_agent("ppo"))
    experiment = Experiment(game, agents, ((0, 1), (2,)), PastSelves(groups=4), 7, 8, 5, 3, 11, 2)
    assert Experiment.from_data(json.loads(json.dumps(experiment.to_data()))) == experiment
    changes: dict[str, Any] = {
        "game": make_game("public-goods", players=3, horizon=4),
        "agents": agents[::-1],
        "seating": ((0, 2), (1,)),
        "matchmaker": PastSelves(groups=2),
        **{
            name: getattr(experiment, name) + 1
            for name in ("iterations", "unroll", "chunk", "seed", "warm_up")
        },
        "batch": 16,
        "schedule_iterations": 9,
        "tunable": ("optimiser.learning_rate",),
    }
    assert set(changes) == {field.name for field in dataclasses.fields(experiment)}
    for name, value in changes.items():
        changed = dataclasses.replace(experiment, **{name: value})
        again = Experiment.from_data(json.loads(json.dumps(changed.to_data())))
        assert again == changed, name
        assert again != experiment, name


DAMAGED: list[tuple[dict[str, Any], str]] = [
    ({"iterations": "many"}, "iterations = 'many' is not possible: it must be a whole number"),
    ({"batch": True}, "batch = True is not possible: it must be a whole number"),
    ({"seed": -1}, "seed = -1 is not possible: it must be between 0 and 2147483647"),
    ({"colour": "red"}, "There is no setting of an experiment named 'colour'"),
    ({"seating": [[0, "1"]]}, "seating = [[0, '1']] is not possible"),
    ({"seating": [[0]]}, "each must be filled once"),
    ({"seating": [[0, 0]]}, "each must be filled once"),
    ({"agents": "a2c"}, "agents = 'a2c' is not possible: it must be a list of agents"),
    ({"agents": [{"name": "a2x"}]}, "Did you mean a2c?"),
    ({"agents": [{"discount": 0.9}]}, "agents[0] must have a name and settings"),
    ({"agents": [{"name": "a2c", "discount": "b"}]}, "agents[0].discount = 'b' is not possible"),
    ({"game": {"name": "stag-hnt"}}, "Did you mean stag-hunt?"),
    ({"game": {"name": "chicken", "crash": "b"}}, "game.crash = 'b' is not possible"),
    ({"matchmaker": {"name": "past", "every": 0}}, "every = 0 is not possible: it must be at least 1"),
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


DEEPER = [
    ("a2c", "learning_rate", "Did you mean critic.learning_rate or optimiser.learning_rate?"),
    ("adalign", "goodwill", "Did you mean term.goodwill?"),
    ("ppo", "gae_lamda", "Did you mean gae_lambda?"),
]


@pytest.mark.parametrize(("agent", "name", "hint"), DEEPER)
def test_a_setting_that_lies_deeper_is_named_with_its_place(agent: str, name: str, hint: str) -> None:
    with pytest.raises(ComityError, match=re.escape(hint)):
        make_agent(agent, **{name: 0.5})
