"""Experiments: what is left out is chosen well, and what cannot work is refused before it is compiled."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.core.errors import ComityError
from comity.games.transforms import SharedReward, TimeLimit
from comity.play.matchmaking import PastSelves, SelfPlay
from comity.play.specs import make_agent, make_game
from comity.testing.contracts import assert_trees_equal
from comity.training import loop
from comity.training.experiment import Experiment, make_experiment

DILEMMA = make_game("prisoners-dilemma", horizon=4)
SEXES = make_game("battle-of-the-sexes")
TABULAR_NETWORK: dict[str, Any] = {"network": "tabular"}
SMALL_NETWORK: dict[str, Any] = {
    "network": "mlp",
    "network.width": 4,
    "critic.network": "mlp",
    "critic.network.width": 4,
}
TABULAR = make_agent("a2c", **TABULAR_NETWORK)
start = eqx.filter_jit(loop.start)


def test_one_agent_shares_its_parameters_in_a_symmetric_game() -> None:
    assert make_experiment(DILEMMA, TABULAR).seating == ((0, 1),)
    assert make_experiment(DILEMMA, TABULAR, share=False).seating == ((0,), (1,))
    assert make_experiment(SEXES, TABULAR).seating == ((0,), (1,))
    assert make_experiment(SEXES, TABULAR, share=True).seating == ((0, 1),)
    assert make_experiment(make_game("public-goods", players=3), TABULAR).seating == ((0, 1, 2),)


def test_several_agents_fill_the_seats_one_by_one() -> None:
    tit = make_agent("tit-for-tat", DILEMMA)
    experiment = make_experiment(DILEMMA, (TABULAR, tit))
    assert experiment.agents == (TABULAR, tit)
    assert experiment.seating == ((0,), (1,))


def test_groups_of_seats_share_parameters() -> None:
    tag = make_game("simple-tag")
    agent, other = make_agent("mappo", **SMALL_NETWORK), make_agent("ppo", **SMALL_NETWORK)
    groups = ((0, 1, 2), (3,))
    assert make_experiment(tag, agent, groups=groups).agents == (agent, agent)
    experiment = make_experiment(tag, (agent, other), groups=groups)
    assert experiment.seating == groups
    assert experiment.agents == (agent, other)
    with pytest.raises(ComityError, match="2 groups"):
        make_experiment(tag, (agent, other, other), groups=groups)
    with pytest.raises(ComityError, match="each must be filled once"):
        make_experiment(tag, agent, groups=((0, 1), (3,)))
    with pytest.raises(ComityError, match="see or do different"):
        make_experiment(tag, agent, groups=((0, 1), (2, 3)))


def test_sizes_that_are_left_out() -> None:
    assert make_experiment(DILEMMA, TABULAR).unroll == 4
    assert make_experiment(make_game("probe-choice"), TABULAR).unroll == 32
    chunks = {n: make_experiment(DILEMMA, TABULAR, iterations=n).chunk for n in (1, 150, 1000, 100_000)}
    assert chunks == {1: 1, 150: 1, 1000: 5, 100_000: 50}
    assert isinstance(make_experiment(DILEMMA, TABULAR).matchmaker, SelfPlay)


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: make_experiment(make_game("negotiation"), TABULAR), "A tabular network needs a discrete obs"),
    (lambda: make_experiment(make_game("coin"), TABULAR), "A tabular network needs a discrete obs"),
    (lambda: make_experiment(DILEMMA, (TABULAR,) * 3), "2 seats: give 1 agent for all or 2, not 3"),
    (
        lambda: make_experiment(make_game("probe-odd-seats"), make_agent("ppo"), share=True),
        "give each its own",
    ),
    (lambda: make_experiment(DILEMMA, TABULAR, iterations=0), "iterations = 0 is not possible"),
    (lambda: make_experiment(DILEMMA, TABULAR, batch=0), "batch = 0 is not possible"),
    (lambda: make_experiment(DILEMMA, TABULAR, unroll=0), "unroll = 0 is not possible"),
    (lambda: make_experiment(DILEMMA, TABULAR, chunk=0), "chunk = 0 is not possible"),
    (lambda: make_experiment(DILEMMA, TABULAR, seed=2**31), "seed = 2147483648 is not possible"),
    (
        lambda: make_experiment(DILEMMA, TABULAR, batch=6, matchmaker=PastSelves(groups=4)),
        "groups = 4 is not possible: it must be a divisor of the batch of 6",
    ),
    (
        lambda: make_experiment(DILEMMA, TABULAR, batch=4, matchmaker=PastSelves(groups=4, learning_seats=2)),
        "learning_seats = 2 is not possible: it must be less than the 2 seats",
    ),
    (
        lambda: make_experiment(make_game("probe-choice"), TABULAR, batch=4, matchmaker=PastSelves(groups=4)),
        "A game of one seat has no opponents",
    ),
    (
        lambda: SharedReward(game=DILEMMA, weights=((1.0, 0.0),)),
        "weights = ((1.0, 0.0),) is not possible: it must be 2 rows of 2 numbers",
    ),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_cannot_work_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ComityError) as caught:
        make()
    assert message in str(caught.value)


def test_transforms_are_part_of_the_experiment() -> None:
    game = TimeLimit(game=SharedReward(game=make_game("prisoners-dilemma", horizon=None)), horizon=6)
    experiment = make_experiment(game, TABULAR)
    assert experiment.unroll == 6
    assert experiment.to_data()["game"]["game"]["name"] == "shared-reward"
    assert type(experiment).from_data(experiment.to_data()) == experiment


def test_a_chunk_is_its_iterations_one_by_one() -> None:
    """How many iterations one compiled call makes does not matter for what comes out."""
    experiment = make_experiment(DILEMMA, TABULAR, iterations=6, batch=4)
    at_once, metrics = jax.jit(lambda s: loop.advance(experiment, s, 3))(start(experiment, 0))
    one_by_one = start(experiment, 0)
    step = jax.jit(lambda s: loop.advance(experiment, s, 1))
    rewards = []
    for _ in range(3):
        one_by_one, metric = step(one_by_one)
        rewards.append(float(metric["reward"][0]))
    assert int(at_once.iteration) == 3
    assert metrics["reward"].tolist() == rewards
    assert_trees_equal(at_once, one_by_one, "three iterations at once are three iterations")


def test_seeds_differ() -> None:
    mlp = make_agent("a2c", **SMALL_NETWORK)
    experiment = make_experiment(DILEMMA, mlp, batch=4)
    first, again, second = (start(experiment, jnp.int32(seed)) for seed in (1, 1, 2))
    assert_trees_equal(first, again, "one seed gives one start")
    with pytest.raises(AssertionError):
        assert_trees_equal(first, second, "two seeds give two")


def test_warm_up_plays_at_random_and_only_normalisers_see_it() -> None:
    agent = make_agent(
        "mappo", **{"network": "mlp", "network.inputs.normalise": True, "critic.network": "mlp"}
    )
    game = make_game("simple-spread")
    cold, warm = (make_experiment(game, agent, batch=6, unroll=4, warm_up=steps) for steps in (0, 7))
    assert Experiment.from_data(warm.to_data()) == warm
    before, after = start(cold), start(warm)
    assert int(before.envs[0].state.time[0]) == 0
    assert after.envs[0].state.time.tolist() == [7] * 6
    learned, watched = before.learners[0], after.learners[0]
    assert not np.array_equal(learned.policy.torso.normaliser.mean, watched.policy.torso.normaliser.mean)
    np.testing.assert_array_equal(
        learned.policy.torso.layers[0].weight, watched.policy.torso.layers[0].weight
    )
    _, metrics = eqx.filter_jit(loop.advance)(warm, after, 1)
    assert np.isfinite(metrics["reward"]).all()
    with pytest.raises(ComityError, match="warm_up"):
        make_experiment(game, agent, warm_up=-1)
