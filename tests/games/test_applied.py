"""Applied games: rules by hand, and the answers that are known of each."""

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.agents.scripted.applied import Driver, Firm, Fisher
from comity.agents.scripted.base import Scripted
from comity.core.agent import Player
from comity.core.errors import ComityError
from comity.core.game import Environment
from comity.games.applied.cournot import Cournot
from comity.games.applied.fish_war import SPAWN, FishWar
from comity.games.applied.network import BUILT_IN, read_network
from comity.games.applied.routing import Routing
from comity.play.match import play
from comity.theory import best_flow, routing_price_of_anarchy, wardrop_equilibrium

KEY = jax.random.key(0)


def numbers(*shares: float) -> tuple[jax.Array, ...]:
    return tuple(jnp.float32(share)[None] for share in shares)


def rewards_of(game: Environment, agent: Scripted, length: int, episodes: int = 1) -> np.ndarray:
    """What a rule earns in every seat, [seat, time, episode]."""
    seats = range(len(game.seats))
    players = tuple(Player(agent, agent.init(KEY, game.spec, (i,)), game.spec, i, "rule") for i in seats)
    return np.asarray(play(game, players, KEY, episodes, length).step.reward)


@pytest.mark.parametrize("players", [2, 3, 5])
def test_cournots_equilibrium_and_cartel(players: int) -> None:
    """n firms sell n/(n+1) of the competitive quantity; nobody gains by selling another quantity."""
    game = Cournot(players=players, intercept=10.0, slope=2.0, cost=4.0)
    shares = np.full(players, game.nash_share, np.float32)
    assert shares.sum() == pytest.approx(players / (players + 1))
    tried = np.linspace(0.0, 1.0, 401, dtype=np.float32)
    others = jnp.asarray(shares)
    profits = jax.vmap(lambda own: game.profit(others.at[0].set(own))[0])(jnp.asarray(tried))
    assert tried[int(jnp.argmax(profits))] == pytest.approx(game.nash_share, abs=0.003)
    together = jax.vmap(lambda own: game.profit(jnp.full(players, own)).sum())(jnp.asarray(tried) / players)
    assert tried[int(jnp.argmax(together))] == pytest.approx(players * game.cartel_share, abs=0.003)
    # In units of (a - c)^2 / b: 1 / (n + 1)^2 each in equilibrium, 1 / (4 n) each in the cartel.
    np.testing.assert_allclose(game.profit(others), 18.0 / (players + 1) ** 2, rtol=1e-5)
    cartel = game.profit(jnp.full(players, game.cartel_share))
    np.testing.assert_allclose(cartel, 18.0 / (4 * players), rtol=1e-5)


def test_a_round_of_cournot_by_hand() -> None:
    game = Cournot(players=2, intercept=10.0, slope=2.0, cost=4.0, horizon=1)  # a unit is 3
    state, _ = game.reset(KEY)
    state, step = game.step(KEY, state, numbers(0.5, 0.2))
    # Sold 1.5 and .6, price 10 - 4.2 = 5.8, margin 1.8.
    np.testing.assert_allclose(step.reward, [2.7, 1.08], rtol=1e-5)
    np.testing.assert_allclose(step.obs[1], [0.2, 0.5])
    assert bool(step.truncated)
    assert not bool(step.terminated)
    share = game.cooperation(state, numbers(0.25, 1 / 3), state._replace(last=jnp.asarray([0.25, 1 / 3])))
    np.testing.assert_allclose([own.cooperative for own in share], [1.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -3.0, 7.0])
def test_no_action_breaks_a_rule(bad: float) -> None:
    games: list[Any] = [Cournot(), FishWar()]
    for game in games:
        state, _ = game.reset(KEY)
        _, step = game.step(KEY, state, numbers(bad, 0.5))
        assert np.isfinite(np.asarray(step.reward)).all()
        seen = np.asarray(step.obs)
        assert ((seen >= 0.0) & (seen <= 1.0)).all()


def test_firms_that_reply_to_each_other_reach_the_equilibrium() -> None:
    game = Cournot(horizon=40)
    earned = rewards_of(game, Firm(quantity="best-reply"), 40)
    np.testing.assert_allclose(earned[:, -1, 0], 1.0 / 9.0, atol=1e-3)
    for quantity, each in (("nash", 1 / 9), ("cartel", 1 / 8), ("competitive", 0.0)):
        np.testing.assert_allclose(rewards_of(game, Firm(quantity=quantity), 2), each, atol=1e-6)  # type: ignore[arg-type]


@pytest.mark.parametrize("players", [2, 3])
def test_the_fish_wars_shares_are_the_best_of_their_kind(players: int) -> None:
    """No constant share is a better answer to the equilibrium's, and no common one beats the optimum's."""
    discount = 0.9
    game = FishWar(players=players, growth=0.6, horizon=None)
    tried = jnp.linspace(0.05, 0.9 / players, 400)

    def returns(shares: jax.Array) -> jax.Array:
        def season(carry: jax.Array, time: jax.Array) -> tuple[jax.Array, jax.Array]:
            caught = shares * carry
            grown = jnp.maximum((carry - caught.sum()) ** game.growth, SPAWN)
            return grown, jnp.float32(discount) ** time * jnp.log(caught)

        return jax.lax.scan(season, jnp.float32(1.0), jnp.arange(150.0))[1].sum(axis=0)

    nash = game.nash_share(discount)
    answers = jax.vmap(lambda own: returns(jnp.full(players, nash).at[0].set(own))[0])(tried)
    assert float(tried[int(jnp.argmax(answers))]) == pytest.approx(nash, abs=0.003)
    common = jax.vmap(lambda own: returns(jnp.full(players, own)).sum())(tried)
    assert float(tried[int(jnp.argmax(common))]) == pytest.approx(game.optimal_share(discount), abs=0.003)
    assert game.optimal_share(discount) < nash


def test_a_season_by_hand_and_fish_are_shared_out() -> None:
    game = FishWar(growth=0.5, limit=0.8)
    state, _ = game.reset(KEY)
    state, step = game.step(KEY, state, numbers(0.25, 0.25))
    np.testing.assert_allclose(state.stock, np.sqrt(0.5), rtol=1e-6)
    np.testing.assert_allclose(step.reward, np.log([0.25, 0.25]), rtol=1e-6)
    stock = float(state.stock)
    state, step = game.step(KEY, state, numbers(0.9, 0.3))  # asked for 1.2: two thirds of it are caught
    np.testing.assert_allclose(state.took, [0.6, 0.2], rtol=1e-6)
    np.testing.assert_allclose(step.reward, np.log([0.6 * stock, 0.2 * stock]), rtol=1e-5)
    np.testing.assert_allclose(state.stock, np.sqrt(0.2 * stock), rtol=1e-5)  # nothing is lost or made


def test_fishers_take_their_share() -> None:
    game = FishWar(horizon=5)
    earned = rewards_of(game, Fisher(share=0.2), 5)
    stock = [1.0]
    for _ in range(4):
        stock.append(np.sqrt(0.6 * stock[-1]))
    np.testing.assert_allclose(earned[0, :, 0], np.log(0.2 * np.asarray(stock)), rtol=1e-4)


def test_pigou_and_braess() -> None:
    """Selfish drivers take 4/3 of the best time, and Braess' new road makes everybody slower."""
    pigou = read_network("pigou", 8)
    found = wardrop_equilibrium(pigou.constants, pigou.slopes, pigou.uses)
    assert found.mean_latency == pytest.approx(1.0, abs=1e-6)
    assert best_flow(pigou.constants, pigou.slopes, pigou.uses).mean_latency == pytest.approx(0.75, abs=1e-6)
    assert routing_price_of_anarchy(pigou.constants, pigou.slopes, pigou.uses) == pytest.approx(
        4 / 3, abs=1e-5
    )
    times = {}
    for name in ("braess", "braess-shortcut"):
        roads = read_network(name, 8)
        assert len(roads.routes) == (2 if name == "braess" else 3)
        times[name] = wardrop_equilibrium(roads.constants, roads.slopes, roads.uses).mean_latency
    assert times == {"braess": pytest.approx(1.5, abs=1e-5), "braess-shortcut": pytest.approx(2.0, abs=1e-5)}


def test_nobody_gains_by_another_way_in_random_networks() -> None:
    random = np.random.default_rng(0)
    for _ in range(10):
        uses = random.random((5, 8)) < 0.4
        uses[:, 0] |= ~uses.any(axis=1)
        constant, slope = random.random(8), random.random(8)
        found = wardrop_equilibrium(constant, slope, uses)
        used = found.flow > 1e-4
        assert np.ptp(found.latency[used]) < 2e-3
        assert found.latency.min() > found.latency[used].max() - 2e-3
        assert 1.0 - 1e-6 <= routing_price_of_anarchy(constant, slope, uses) <= 4 / 3 + 1e-6


def test_a_day_of_routing_by_hand() -> None:
    game = Routing(players=4, network="pigou", horizon=2)
    state, obs = game.reset(KEY)
    assert [int(own) for own, _ in obs] == [0] * 4
    names = [game.roads.routes.index(route) for route in ((0,), (1,))]
    fixed, busy = names
    actions = tuple(jnp.int32(way) for way in (fixed, busy, busy, busy))
    state, step = game.step(KEY, state, actions)
    np.testing.assert_allclose(step.reward, [-1.0, -0.75, -0.75, -0.75])
    assert int(step.obs[1][0]) == busy + 1
    assert int(np.sum(np.asarray(state.took) >= 0)) == 4  # whoever drives is on one way


def test_drivers_reach_the_equilibrium_and_it_is_slow() -> None:
    game = Routing(players=20, network="braess-shortcut", horizon=60)
    earned = rewards_of(game, Driver(), 60, episodes=4)
    assert earned[:, 40:].mean() == pytest.approx(-2.0, abs=0.1)


def test_networks_from_files(tmp_path: Path) -> None:
    edges = [{"from": "a", "to": "b", "constant": 1.0}, {"from": "b", "to": "c", "slope": 2.0}]
    edges.append({"from": "a", "to": "c", "constant": 5})
    file = tmp_path / "roads.json"
    file.write_text(json.dumps({"from": "a", "to": "c", "edges": edges}))
    roads = read_network(str(file), 8)
    assert [roads.name(i) for i in range(2)] == ["a-b-c", "a-c"]
    game = Routing(players=2, network=str(file))
    state, _ = game.reset(KEY)
    _, step = game.step(KEY, state, (jnp.int32(0), jnp.int32(1)))
    np.testing.assert_allclose(step.reward, [-2.0, -5.0])
    assert set(BUILT_IN) == {"pigou", "braess", "braess-shortcut"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "not JSON"),
        ("[]", "list of edges"),
        ('{"edges": [{"from": "a"}]}', "edge 1"),
        ('{"edges": [{"from": "a", "to": "b", "slope": -1}], "from": "a", "to": "b"}', "slope"),
        ('{"edges": [{"from": "a", "to": "b"}], "from": "a", "to": "z"}', "to = 'z'"),
        ('{"edges": [{"from": "a", "to": "b"}], "from": "b", "to": "a"}', "no way"),
    ],
)
def test_networks_that_cannot_be(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "roads.json"
    file.write_text(text)
    with pytest.raises(ComityError, match=told):
        read_network(str(file), 8)


def test_settings_that_cannot_be() -> None:
    for game, settings, told in (
        (Cournot, {"cost": 3.0}, "intercept"),
        (Cournot, {"players": 1}, "players"),
        (FishWar, {"growth": 1.0}, "growth"),
        (FishWar, {"least": 0.6}, "least"),
        (Routing, {"network": "nowhere"}, "nowhere"),
        (Routing, {"routes": 0}, "routes"),
    ):
        with pytest.raises(ComityError, match=told):
            game(**settings)
