"""Population-based training: who copies whom, what is explored, and the paper's toy problem."""

import json
from pathlib import Path
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.agent import Act, Agent, Context, Metrics
from comity.core.batch import TeamBatch
from comity.core.errors import ComityError
from comity.core.game import Environment, GameSpec, PerSeat, Seat, TimeStep
from comity.core.spaces import Box, Discrete
from comity.play.specs import make_agent, make_game
from comity.training.executors.in_process import InProcess
from comity.training.executors.vectorised import Vectorised
from comity.training.experiment import Experiment, make_experiment
from comity.training.options import Options
from comity.training.populations import pbt as module
from comity.training.populations.base import train_population
from comity.training.populations.exploration import Range, explored, read_ranges
from comity.training.populations.lineage import FILE, read_lineage
from comity.training.populations.pbt import PBT
from comity.training.populations.selection import tournament, truncation

QUIET = Options(tensorboard=False)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


# ---- Who copies whom, and what is explored ---------------------------------------------------------------


def test_the_worst_copy_the_best() -> None:
    fitness = np.array([3.0, 0.0, 9.0, 1.0, 8.0, np.nan, 4.0, 5.0])
    parents = truncation(fitness, 0.25, rng())
    assert [i for i in range(8) if parents[i] != i] == [1, 5]  # the worst, and who has no fitness
    assert set(parents[[1, 5]]) <= {2, 4}


def test_the_best_of_eight_wins_three_in_eight_tournaments_of_three() -> None:
    """A tournament of 3 among 8 different members has the best in it with probability 3/8."""
    generator, wins, places = rng(), 0, 0
    fitness = np.arange(8.0)
    for _ in range(2000):
        parents = tournament(fitness, 3, 1, generator)
        assert parents[7] == 7  # the elite stays
        wins += int((parents[:7] == 7).sum())
        places += 7
    assert wins / places == pytest.approx(3 / 8, abs=0.015)


def test_a_tournament_of_all_is_won_by_the_best() -> None:
    assert tournament(np.array([1.0, 7.0, 3.0]), 3, 2, rng()).tolist() == [1, 1, 2]


def test_explored_settings_stay_in_their_ranges() -> None:
    ranges = (Range("a", 0.1, 1.0), Range("b", 1.0, 100.0))
    generator = rng()
    found = [explored({"a": 0.9, "b": 10.0}, ranges, "perturb", 1.25, generator) for _ in range(40)]
    assert {round(own["a"], 6) for own in found} == {0.72, 1.0}
    assert {round(own["b"], 6) for own in found} == {8.0, 12.5}
    drawn = np.array([explored({}, ranges, "resample", 2.0, generator)["b"] for _ in range(2000)])
    assert drawn.min() >= 1.0
    assert drawn.max() <= 100.0
    assert np.mean(drawn < 10.0) == pytest.approx(0.5, abs=0.04)  # evenly on a scale of ratios


# ---- The toy problem of the paper ------------------------------------------------------------------------


class Hill(Environment):
    """One step: two numbers earn 1.2 minus the sum of their squares."""

    @property
    def horizon(self) -> int:
        return 1

    @property
    def family(self) -> str:
        return "hill"

    @property
    def seats(self) -> PerSeat[Seat]:
        return (Seat("climber", Discrete(1), Box((2,), -2.0, 2.0)),)

    @property
    def symmetric(self) -> bool:
        return True

    def reset(self, key: Key) -> tuple[PyTree, PerSeat[PyTree]]:
        return jnp.int32(0), (jnp.int32(0),)

    def step(self, key: Key, state: PyTree, actions: PerSeat[PyTree]) -> tuple[PyTree, TimeStep]:
        reward = 1.2 - (actions[0] ** 2).sum()
        over = jnp.bool_(True)
        return state, TimeStep((jnp.int32(0),), (reward,), jnp.bool_(False), over, (over,))


class Climber(Agent):
    r"""Follows the gradient of :math:`1.2 - h_0\theta_0^2 - h_1\theta_1^2`, which is not what it earns."""

    first: float = 1.0  # h_0
    second: float = 1e-6  # h_1

    tunable: ClassVar[tuple[str, ...]] = ("first", "second")

    def check(self, spec: GameSpec, seats: tuple[int, ...]) -> None:
        """Any seat will do."""

    def init(self, key: Key, spec: GameSpec, seats: tuple[int, ...]) -> Float[Array, " 2"]:
        return jnp.asarray([0.9, 0.9])

    def policy(self, state: PyTree) -> PyTree:
        return state

    def initial_carry(self, params: PyTree) -> PyTree:
        return ()

    def act(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> Act:
        return Act(params, carry, ())

    def update(self, state: PyTree, batch: TeamBatch, context: Context, key: Key) -> tuple[PyTree, Metrics]:
        gradient = 2.0 * jnp.stack([jnp.asarray(self.first), jnp.asarray(self.second)]) * state
        return state - 0.1 * gradient, {"theta": state.sum()}


def climb(agent: Climber, iterations: int = 48) -> Experiment:
    return make_experiment(Hill(), agent, iterations=iterations, batch=1, unroll=1, chunk=iterations)


@pytest.mark.long
def test_a_population_climbs_where_fixed_settings_stay(tmp_path: Path) -> None:
    """With h = (1, 0) or (0, 1) one number stays at .9: 1.2 - .81 = .39. A population finds 1.2."""
    population = PBT(
        tune=("first:1e-3:1", "second:1e-3:1"), size=4, interval=8, explore="resample", episodes=1
    )
    executor = Vectorised()
    experiment = climb(Climber())
    runs = train_population(population, experiment, executor, tmp_path / "hill", QUIET)
    assert len(runs) == 6 * 4
    assert population.lineage.best.fitness == pytest.approx(1.2, abs=0.02)
    fixed = train_population(
        PBT(tune=("first:0.999:1", "second:1e-6:2e-6"), size=2, interval=48, episodes=1),
        experiment, executor, tmp_path / "fixed", QUIET,
    )  # fmt: skip
    assert len(fixed) == 2
    assert read_lineage(tmp_path / "fixed").best.fitness == pytest.approx(0.39, abs=0.001)


# ---- Runs, lineage and resuming --------------------------------------------------------------------------

TABULAR: dict[str, Any] = {"network": "tabular", "critic.network": "tabular"}
TUNE = ("optimiser.learning_rate:0.001:0.3", "entropy_coef:1e-4:0.1")


def small(**settings: Any) -> tuple[PBT, Experiment]:
    agent = make_agent("a2c", **TABULAR)
    experiment = make_experiment(
        make_game("prisoners-dilemma", horizon=4), agent, iterations=9, batch=8, chunk=3, seed=7
    )
    return PBT(
        **{"tune": TUNE, "size": 3, "interval": 3, "share": 0.4, "episodes": 4, **settings}
    ), experiment


def checkpoints(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("checkpoints/*.safetensors")}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("pbt") / "whole"
    population, experiment = small()
    train_population(population, experiment, InProcess(), out, QUIET)
    return out


def test_copies_have_all_of_their_parents(trained: Path) -> None:
    """The settings are those of the parent, perturbed, and every copy is of the best of its generation."""
    lineage = read_lineage(trained)
    assert len(lineage.generations) == 3
    by_name = {own.name: own for generation in lineage.generations for own in generation}
    copied = [
        own
        for generation in lineage.generations[1:]
        for own in generation
        if own.parent is not None and own.parent[-1] != own.name[-1]
    ]
    assert copied, "in each generation the worst copies the best"
    for own in copied:
        parent = by_name[str(own.parent)]
        siblings = [
            other for other in by_name.values() if other.name.split("/")[0] == parent.name.split("/")[0]
        ]
        assert parent.fitness == max(other.fitness or -9.0 for other in siblings)
        for name, value in own.settings.items():
            low, high = (float(x) for x in next(t for t in TUNE if t.startswith(name)).split(":")[1:])
            near = [float(np.clip(parent.settings[name] * f, low, high)) for f in (1.2, 1 / 1.2)]
            assert value == pytest.approx(near[0]) or value == pytest.approx(near[1])
        config = json.loads((trained / own.name / "config.json").read_text())
        rate = config["agents"][0]["optimiser"]["learning_rate"]
        assert rate == pytest.approx(own.settings["optimiser.learning_rate"])
    line = lineage.ancestors(lineage.best.name)
    assert [own.parent for own in line[1:]] == [own.name for own in line[:-1]]
    assert line[0].parent is None


def test_a_population_that_was_killed_goes_on_bit_by_bit(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after the first member of the second generation has a folder, and once more in the third."""
    out = tmp_path / "again"
    create = module.PBT.start_state

    def killed_at(name: str) -> Any:
        def start_state(self: PBT, own: str, experiment: Experiment, where: Path) -> Any:
            if own == name:
                raise RuntimeError("killed")
            return create(self, own, experiment, where)

        return start_state

    for name in ("generation-001/member-1", "generation-002/member-2"):
        monkeypatch.setattr(module.PBT, "start_state", killed_at(name))
        population, experiment = small()
        with pytest.raises(RuntimeError, match="killed"):
            train_population(population, experiment, InProcess(), out, QUIET)
    monkeypatch.setattr(module.PBT, "start_state", create)
    population, experiment = small()
    train_population(population, experiment, InProcess(), out, QUIET)
    assert checkpoints(out) == checkpoints(trained)
    assert (out / FILE).read_bytes() == (trained / FILE).read_bytes()


@pytest.mark.long
def test_one_program_trains_what_single_runs_train(trained: Path, tmp_path: Path) -> None:
    population, experiment = small()
    train_population(population, experiment, Vectorised(), tmp_path / "together", QUIET)
    together = read_lineage(tmp_path / "together")
    apart = read_lineage(trained)
    for one, other in zip(together.generations, apart.generations, strict=True):
        assert [own.parent for own in one] == [own.parent for own in other]
        for a, b in zip(one, other, strict=True):
            assert a.fitness == pytest.approx(b.fitness, abs=1e-3)


@pytest.mark.long
def test_diversity_decides_where_fitness_does_not(tmp_path: Path) -> None:
    population, experiment = small(diversity=100.0, selection="tournament", contenders=3)
    train_population(population, experiment, InProcess(), tmp_path / "far", QUIET)
    first, second, _ = population.lineage.generations
    far = [own.diversity or 0.0 for own in first]
    combined = [own.parent for own in second]
    assert combined == [first[int(np.argmax(far))].name] * 3  # it wins every tournament of all three


@pytest.mark.parametrize(
    ("tune", "words"),
    [
        ((), "needs settings to explore"),
        (("entropy",), "entropy_coef"),
        (("entropy_coef:1:0.1",), "the lower first"),
        (("discount:0.5:2",), "between 0 and 1"),
        (("entropy_coef:a:b",), "NAME:LOW:HIGH"),
    ],
)
def test_what_cannot_be_explored_is_refused(tune: tuple[str, ...], words: str) -> None:
    population, experiment = small(tune=tune)
    with pytest.raises(ComityError, match=words):
        population.members(experiment)


def test_ranges_that_are_not_given_are_around_the_value() -> None:
    _, experiment = small()
    (rate, discount) = read_ranges(("agent.optimiser.learning-rate", "discount"), experiment)
    value = experiment.agents[0].optimiser.learning_rate  # type: ignore[attr-defined]
    assert (rate.low, rate.high) == pytest.approx((value / 10, value * 10))
    assert discount.high == pytest.approx(0.96)  # ten times as much is no discount


@pytest.mark.parametrize(
    "settings", [{"size": 1}, {"share": 0.6}, {"elites": 3}, {"factor": 1.0}, {"contenders": 4}]
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ComityError, match=f"pbt.{next(iter(settings))}"):
        small(**settings)
