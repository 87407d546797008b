"""Gifts and contracts: reward that changes hands, and what it does to the equilibria of the game inside."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.cli import run as cli
from comity.core.errors import ComityError
from comity.core.spaces import Discrete
from comity.games.transforms import Contract, Gifting
from comity.play.specs import make_agent, make_game
from comity.testing import check_game
from comity.theory import NormalFormGame, pure_equilibria
from comity.training.experiment import make_experiment
from comity.training.options import Options
from comity.training.overrides import with_transform
from comity.training.runner import create, run

KEY = jax.random.key(2)
PD = make_game("prisoners-dilemma", horizon=4)


def numbers(*actions: int) -> tuple[Any, ...]:
    return tuple(jnp.int32(action) for action in actions)


def test_gifts_change_hands() -> None:
    game = Gifting(game=make_game("public-goods", players=3, horizon=5), amount=0.5, budget=0.75)
    check_game(game)
    assert game.seats[0].action == Discrete(6)
    state, _ = game.reset(KEY)
    inner = game.game.step(KEY, state.inner, numbers(1, 0, 1))[1]
    # Seat 0 gives to the next one, seat 1 to the one after next, seat 2 to nobody.
    after, step = game.step(KEY, state, numbers(1 + 2 * 1, 0 + 2 * 2, 1))
    np.testing.assert_allclose(
        jnp.stack(step.reward) - jnp.stack(inner.reward), [-0.5 + 0.5, -0.5 + 0.5, 0.0], atol=1e-6
    )
    _, again = game.step(KEY, after, numbers(1 + 2 * 1, 0, 1 + 2 * 1))  # seat 0 has too little left
    change = jnp.stack(again.reward) - jnp.stack(again.game_reward)
    np.testing.assert_allclose(change, [0.5, 0.0, -0.5], atol=1e-6)
    np.testing.assert_array_equal(jnp.stack(step.game_reward), jnp.stack(inner.reward))


def stage(game: Any, state: Any) -> Any:
    """What the next step pays for every pair of actions."""
    table = np.zeros((2, 2, 2))
    for a, b in np.ndindex(2, 2):
        table[:, a, b] = jnp.stack(game.step(KEY, state, numbers(a, b))[1].reward)
    return table


def signed(game: Contract, *levels: int) -> Any:
    state, _ = game.reset(KEY)
    state, step = game.step(KEY, state, numbers(*levels))
    assert [float(reward) for reward in step.reward] == [0.0, 0.0]
    return state


@pytest.mark.parametrize(("fine", "equilibrium"), [(3.0, (0, 0)), (1.5, (0, 0)), (0.5, (1, 1))])
def test_a_contract_makes_cooperation_the_equilibrium(fine: float, equilibrium: tuple[int, int]) -> None:
    """Payoffs -1, -3, 0, -2: to defect alone pays 1 more than to cooperate, so a fine above 1 decides."""
    game = Contract(game=PD, largest=fine)
    bound = stage(game, signed(game, 1, 1))
    np.testing.assert_allclose(bound[0], [[-1, -3 + fine], [0 - fine, -2]], atol=1e-6)
    np.testing.assert_allclose(bound[0], bound[1].T, atol=1e-6)
    assert pure_equilibria(NormalFormGame.from_bimatrix(*bound))[0].strategies[0].argmax() == equilibrium[0]
    assert len(pure_equilibria(NormalFormGame.from_bimatrix(*bound))) == 1
    for refused in ((0, 1), (1, 0), (0, 0)):
        free = stage(game, signed(game, *refused))
        np.testing.assert_allclose(free[0], [[-1, -3], [0, -2]], atol=1e-6)


def test_to_sign_is_the_equilibrium_of_the_whole_game() -> None:
    """By backward induction: signed they cooperate for -1 a step, else they defect for -2."""
    game = Contract(game=PD, largest=3.0)
    played = np.full((2, 2), -2.0)
    played[1, 1] = stage(game, signed(game, 1, 1))[0, 0, 0]
    whole = NormalFormGame.from_bimatrix(played, played.T)
    found = {tuple(int(s.argmax()) for s in one.strategies) for one in pure_equilibria(whole)}
    assert (1, 1) in found
    assert (played[1] >= played[0]).all()  # it is never worse to sign
    assert (played[1] > played[0]).any()


def test_the_lowest_fine_binds_and_the_game_waits() -> None:
    game = Contract(game=PD, largest=3.0, levels=3)
    check_game(game)
    state, obs = game.reset(KEY)
    assert int(obs[0][0][0]) == 0
    assert obs[0][1].tolist() == [True] * 4
    after, step = game.step(KEY, state, numbers(3, 2))
    assert (int(after.level), int(step.obs[0][0][0])) == (2, 3)
    assert step.obs[0][1].tolist() == [True, True, False, False]
    for a, b in zip(jax.tree.leaves(state.inner), jax.tree.leaves(after.inner), strict=True):
        np.testing.assert_array_equal(a, b)
    reward = game.step(KEY, after, numbers(1, 0))[1].reward
    np.testing.assert_allclose(jnp.stack(reward), [0 - 2, -3 + 2], atol=1e-6)
    assert game.horizon == 5
    count = 0
    while not bool(step.truncated | step.terminated):
        after, step = game.step(KEY, after, numbers(0, 0))
        count += 1
    assert count == 4


def test_fines_of_several_seats_go_to_the_others() -> None:
    game = Contract(game=make_game("public-goods", players=3, horizon=5), largest=1.0)
    check_game(game)
    state = game.reset(KEY)[0]
    state, _ = game.step(KEY, state, numbers(1, 1, 1))
    free = game.game.step(KEY, state.inner, numbers(0, 0, 1))[1].reward
    paid = game.step(KEY, state, numbers(0, 0, 1))[1].reward
    change = np.asarray(jnp.stack(paid) - jnp.stack(free))
    after = game.game.step(KEY, state.inner, numbers(0, 0, 1))[0]
    judged = game.game.cooperation(game.game.view(state.inner), numbers(0, 0, 1), game.game.view(after))
    assert judged is not None
    wrong = np.array([float(one.choices - one.cooperative) for one in judged])
    np.testing.assert_allclose(change, (wrong.sum() - wrong) / 2 - wrong, atol=1e-6)
    assert abs(change.sum()) < 1e-6
    assert np.abs(change).max() > 0.4


@pytest.mark.parametrize(
    ("transform", "said"),
    [
        ("contract,largest=0", "largest"),
        ("contract,levels=0", "levels"),
        ("gifting,amount=0", "amount"),
        ("gifting,budget=-1", "budget"),
        ("gift", "There is no transform named 'gift'"),
        ("gifting,sum=1", "sum"),
    ],
)
def test_bad_transforms_are_refused_by_name(
    transform: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli(["train", "prisoners-dilemma", "ppo", "--transforms", transform, "--dry-run"]) == 2
    assert said in capsys.readouterr().err


def test_games_they_are_not_for() -> None:
    for game, said in (("alternating-offers", "always legal"), ("simple-spread", "what is cooperative")):
        with pytest.raises(ComityError, match=said):
            Contract(game=make_game(game))
    with pytest.raises(ComityError, match="always legal"):
        Gifting(game=make_game("negotiation"))
    assert with_transform(PD, "contract,largest=2") == Contract(game=PD, largest=2.0)


@pytest.mark.long
def test_plain_ppo_signs_and_cooperates(tmp_path: Path) -> None:
    """Mutual cooperation earns -1 a step, mutual defection -2; the signing step earns nothing."""
    game = Contract(game=make_game("prisoners-dilemma", horizon=8), largest=3.0)
    settings: Any = {"network.width": 16, "optimiser.learning_rate": 5e-3, "entropy_coef": 0.02}
    agent = make_agent(
        "ppo", network="mlp", **settings, **{"critic.network": "mlp", "critic.network.width": 16}
    )
    experiment = make_experiment(game, agent, iterations=150, batch=128)
    found = run(create(experiment, tmp_path / "run"), Options(tensorboard=False))
    assert found.metrics[-1]["reward"] * 9 / 8 >= -1.1
    alone = make_experiment(game.game, agent, iterations=150, batch=128)
    assert run(create(alone, tmp_path / "alone"), Options(tensorboard=False)).metrics[-1]["reward"] <= -1.9
