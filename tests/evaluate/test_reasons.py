"""Why players did what they did: numbers as an update would use them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import comity
from comity.core.agent import Player
from comity.core.batch import team_batch
from comity.evaluate.reasons import Learner, probabilities_of, reasons
from comity.evaluate.replay import replay
from comity.play.specs import make_agent

GAME = comity.make_game("prisoners-dilemma", horizon=6)
SMALL = {"learner.network": "tabular"}


def learner(name: str, **settings: object) -> Learner:
    agent = make_agent(name, GAME, **settings)
    return Learner(agent, agent.init(jax.random.key(0), GAME.spec, (0, 1)), (0, 1))


def played(own: Learner) -> Any:
    params = own.agent.behaviour(own.state, jnp.float32(1.0))
    players = tuple(Player(own.agent, params, GAME.spec, seat) for seat in (0, 1))
    return replay(GAME, players, seed=3, record=True)


def test_a_replay_is_the_same_whether_recorded_or_not() -> None:
    own = learner("ppo", network="tabular")
    params = own.agent.policy(own.state)
    players = tuple(Player(own.agent, params, GAME.spec, seat) for seat in (0, 1))
    plain = replay(GAME, players, seed=3)
    recorded = replay(GAME, players, seed=3, record=True)
    assert plain.played is None
    assert recorded.played is not None
    assert [moment.actions for moment in plain.moments] == [moment.actions for moment in recorded.moments]
    rewards = np.stack([np.asarray(own[:, 0]) for own in recorded.played.step.reward], axis=1)
    np.testing.assert_allclose(rewards, [moment.reward for moment in plain.moments[1:]])


def test_probabilities_are_those_of_the_policy() -> None:
    own = learner("ppo", network="tabular")
    found = played(own)
    shown = probabilities_of(GAME.seats[0], found.played.extras[0])
    assert shown is not None
    player = Player(own.agent, own.agent.policy(own.state), GAME.spec)
    first = jax.tree.map(lambda x: x[0, 0], found.played.obs[0])
    np.testing.assert_allclose(shown[0], player.probabilities(first), rtol=1e-5)


def test_advantages_without_a_critic_that_knows_anything_are_by_hand() -> None:
    """With lambda 1 and values of 0 an advantage is the discounted sum of what was still earned."""
    own = learner("ppo", network="tabular", gae_lambda=1.0, discount=0.5, normalise_advantages="none")
    zero = jax.tree.map(jnp.zeros_like, own.state.critic)
    own = own._replace(state=own.state._replace(critic=zero))
    found = played(own)
    known: Any = reasons(GAME.seats, found.played, {0: ("run", own), 1: ("run", own)})
    for seat in (0, 1):
        earned = [moment.reward[seat] for moment in found.moments[1:]]
        expected = [sum(0.5**k * r for k, r in enumerate(earned[t:])) for t in range(6)]
        np.testing.assert_allclose(known[seat].own, expected, rtol=1e-5)
        np.testing.assert_allclose(known[seat].value, np.zeros(6), atol=1e-7)
        np.testing.assert_allclose(known[seat].term, np.zeros(6), atol=1e-7)


@pytest.mark.long
@pytest.mark.parametrize("name", ["adalign", "loqa"])
def test_the_term_is_what_the_update_adds(name: str) -> None:
    own = learner(name, **SMALL)
    found = played(own)
    known: Any = reasons(GAME.seats, found.played, {0: ("run", own), 1: ("run", own)})
    agent: Any = own.agent
    batch = team_batch(found.played, (0, 1))
    read = agent.opponent_values.read(agent.learner, own.state, batch)
    values = agent.learner.values(own.state.critic, own.state.policy, read)
    shaped = agent.shaped_advantages(own.state, batch, read, values).advantage
    for seat in (0, 1):
        np.testing.assert_allclose(known[seat].advantage, shaped[:, seat, 0], rtol=1e-6)
        np.testing.assert_allclose(known[seat].own + known[seat].term, known[seat].advantage, rtol=1e-6)
        assert np.abs(known[seat].term).max() > 1e-4
        assert known[seat].others.shape == known[seat].past.shape == (1, 6)
    if name == "adalign":  # the product of own past and the other's advantage
        product = agent.term.weight * known[0].past[0] * known[0].others[0]
        np.testing.assert_allclose(known[0].term, product, rtol=1e-4, atol=1e-5)


def test_what_is_not_known_is_left_out() -> None:
    players = tuple(comity.load_player("tit-for-tat", GAME) for _ in range(2))
    found = replay(GAME, players, record=True)
    assert found.played is not None
    assert reasons(GAME.seats, found.played, {})[0] == (None,) * 6
    other = comity.make_game("coin", horizon=4)
    stranger = make_agent("ppo", other)
    state = stranger.init(jax.random.key(0), other.spec, (0, 1))
    wrong = Learner(stranger, state, (0, 1))
    assert reasons(GAME.seats, found.played, {0: ("run", wrong)})[0].own is None
