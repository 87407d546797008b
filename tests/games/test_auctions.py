"""Auctions as games: what the known equilibria earn, and that nobody gains by another bid."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.api import scripted_player
from comity.core.errors import ComityError
from comity.games.auctions.double_auction import DoubleAuctionGame
from comity.games.auctions.sealed_bid import SealedBidAuction, equilibrium_bid
from comity.play.match import play
from comity.play.specs import make_agent
from comity.testing import check_game
from comity.training.experiment import make_experiment
from comity.training.options import Options
from comity.training.runner import create, run

KEY = jax.random.key(4)
PRICES: Any = ("first", "second", "all-pay")


@pytest.mark.parametrize("price", PRICES)
def test_contract(price: Any) -> None:
    check_game(SealedBidAuction(bidders=3, price=price))


@pytest.mark.parametrize("price", PRICES)
@pytest.mark.parametrize("bidders", [2, 3, 4])
def test_revenue_in_equilibrium(bidders: int, price: Any) -> None:
    """(n - 1)/(n + 1), whatever is paid."""
    game = SealedBidAuction(bidders=bidders, price=price)
    values = jax.random.uniform(KEY, (4000, bidders))
    bids = equilibrium_bid(values, bidders, price)
    state = jax.vmap(game.reset)(jax.random.split(KEY, 4000))[0]._replace(values=values)
    steps = jax.vmap(game.step)(
        jax.random.split(KEY, 4000), state, tuple(bids[:, i : i + 1] for i in range(bidders))
    )[1]
    welfare = np.asarray(values.max(axis=1))
    paid = welfare - np.asarray(jnp.stack(steps.reward)).sum(axis=0)
    assert paid.mean() == pytest.approx(game.revenue, abs=float(4 * paid.std() / 4000**0.5))


@pytest.mark.parametrize("price", PRICES)
@pytest.mark.parametrize("value", [0.3, 0.8])
def test_nobody_gains_by_another_bid(price: Any, value: float) -> None:
    game, bidders, samples = SealedBidAuction(bidders=3, price=price), 3, 8000
    values = jax.random.uniform(KEY, (samples, bidders)).at[:, 0].set(value)
    others = equilibrium_bid(values, bidders, price)
    state = jax.vmap(game.reset)(jax.random.split(KEY, samples))[0]._replace(values=values)
    keys = jax.random.split(KEY, samples)

    def earned(bid: Any) -> Any:
        bids = others.at[:, 0].set(bid)
        actions = tuple(bids[:, i : i + 1] for i in range(bidders))
        return jax.vmap(game.step)(keys, state, actions)[1].reward[0]

    grid = jnp.linspace(0.0, 1.0, 41)
    own = np.asarray(earned(equilibrium_bid(jnp.float32(value), bidders, price)))
    table = np.asarray(jax.vmap(earned)(grid))  # [bid, sample]
    assert table.mean(axis=1).max() <= own.mean() + 0.012
    assert table.mean(axis=1).min() < own.mean() - 0.05  # and many lose
    if price == "second":  # dominant: whatever the others bid
        assert (table <= own + 1e-6).all()


def test_scripted_bidders() -> None:
    def earn(game: Any, *names: str, **settings: Any) -> np.ndarray:
        players = tuple(scripted_player(name, game, seat) for seat, name in enumerate(names))
        return np.asarray(jnp.stack(play(game, players, KEY, 4000, 1).step.reward))[:, 0]

    first = SealedBidAuction(bidders=2)
    both = earn(first, "equilibrium", "equilibrium").mean(axis=1)
    np.testing.assert_allclose(both, 1 / 6, atol=0.015)
    shading = earn(first, "shading", "shading").mean(axis=1)  # half the value is the equilibrium of two
    np.testing.assert_allclose(shading, 1 / 6, atol=0.015)
    assert earn(first, "truthful", "shading").mean(axis=1)[0] == pytest.approx(0.0, abs=1e-6)
    trades = earn(DoubleAuctionGame(), "equilibrium", "equilibrium")
    assert trades.sum(axis=0).mean() == pytest.approx(27 / 32 / 6, abs=0.01)
    honest = earn(DoubleAuctionGame(), "truthful", "truthful")
    assert honest.sum(axis=0).mean() == pytest.approx(1 / 6, abs=0.01)
    with pytest.raises(ComityError):
        scripted_player("truthful")


def test_double_auction_trades_where_it_must_and_nobody_gains_by_another_price() -> None:
    game = DoubleAuctionGame()
    check_game(game)
    state, _ = game.reset(KEY)
    buyer, seller = (scripted_player("equilibrium", game, seat) for seat in range(2))
    for v, c in ((0.8, 0.5), (0.8, 0.6), (0.3, 0.0), (0.24, 0.0), (1.0, 0.74), (1.0, 0.76)):
        worth = jnp.array([v, c], jnp.float32)
        prices = tuple(
            jnp.asarray(player.act(worth[i : i + 1], deterministic=True))
            for i, player in enumerate((buyer, seller))
        )
        after, step = game.step(KEY, state._replace(worth=worth), prices)
        assert bool(after.trades) == (v >= c + 0.25)
        assert all(float(reward) >= 0 for reward in step.reward)
    costs = jnp.linspace(0.0, 1.0, 2001)
    asks = jnp.maximum(costs, 2 * costs / 3 + 0.25)
    for v in (0.4, 0.7, 0.95):

        def gain(bid: Any, v: float = v) -> float:
            return float(jnp.where(bid >= asks, v - (bid + asks) / 2, 0.0).mean())

        assert max(gain(bid) for bid in np.linspace(0, 1, 101)) <= gain(2 * v / 3 + 1 / 12) + 2e-4


@pytest.mark.parametrize(("settings", "said"), [({"bidders": 1}, "bidders"), ({"price": "third"}, "price")])
def test_bad_auctions_are_refused(settings: Any, said: str, unchecked: None) -> None:
    with pytest.raises(ComityError, match=said):
        SealedBidAuction(**settings)


@pytest.mark.slow
@pytest.mark.parametrize("bidders", [2, 3, 4])
def test_learned_bidders_reach_the_equilibrium(bidders: int, tmp_path: Any) -> None:
    game = SealedBidAuction(bidders=bidders)
    agent = make_agent("ppo", **LEARNER)
    experiment = make_experiment(game, agent, iterations=1500, batch=2048, unroll=1)
    player = run(create(experiment, tmp_path / "run"), Options(tensorboard=False)).players[0]
    values = np.linspace(0.1, 1.0, 19, dtype=np.float32)
    bids = [float(player.act(np.array([v]), deterministic=True)[0]) for v in values]
    error = np.abs(np.array(bids) - (bidders - 1) / bidders * values).mean()
    assert error <= 0.03


LEARNER: Any = {
    "network": "mlp",
    "network.width": 32,
    "critic.network": "mlp",
    "critic.network.width": 32,
    "optimiser.learning_rate": 1e-3,
    "schedule.final_learning_rate": 0.0,
    "entropy_coef": 0.0,
}
