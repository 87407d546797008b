"""A past that goes on over rollouts, that is kept for each other player, and aligning with a team only."""

import jax
import jax.numpy as jnp
import numpy as np

from comity.agents.on_policy.a2c import A2C
from comity.agents.shaping.adalign import AdvantageAlignment, Alignment
from comity.agents.shaping.opponent_values import Other, OwnView
from comity.agents.shaping.past import Averaged, Before
from comity.core.batch import team_batch
from comity.learn.critics import Critic
from comity.play.specs import make_game
from comity.training import loop
from comity.training.experiment import make_experiment
from tests.agents.shaped import TABLE, plain, played, quick_jit

GAME = make_game("prisoners-dilemma", horizon=6)


def test_the_past_goes_on_where_an_episode_does() -> None:
    agent = AdvantageAlignment(
        A2C(network=TABLE, critic=Critic(network=TABLE, learning_rate=1e-2)),
        Alignment(past=Averaged(), lasting=True),
        OwnView(),
    )
    experiment = make_experiment(GAME, agent, batch=3, unroll=4, iterations=4)
    state = quick_jit(lambda: loop.start(experiment))()
    assert state.learners[0].past.shape == (1, 2, 3)
    advance = quick_jit(lambda state: loop.iterate(experiment, state))
    (state, first), (again, _) = advance(state), advance(state)
    assert np.abs(state.learners[0].past).max() > 0  # 4 of 6 steps: in the middle of episodes
    np.testing.assert_array_equal(state.learners[0].past, again.learners[0].past)
    fresh = state._replace(learners=(state.learners[0]._replace(past=jnp.zeros((1, 2, 3))),))
    lasting, restarted = advance(state)[1], advance(fresh)[1]
    assert lasting["past_advantage"] != restarted["past_advantage"]
    assert first["opponent_explained_variance"] <= 1.0
    state = advance(advance(state)[0])[0]  # 12 steps: two whole episodes
    np.testing.assert_array_equal(state.learners[0].past, 0.0)


def test_only_the_team_is_aligned_with() -> None:
    game = make_game("public-goods", players=3, horizon=6)
    everybody, team = (plain(opponent_values=OwnView(align_with=whom)) for whom in ("everybody", "team"))
    found = played(game, everybody, seats=(0, 1))
    batch = team_batch(found.joint, (0, 1))

    def others(agent: AdvantageAlignment) -> np.ndarray:
        learner = agent.learner
        read = agent.opponent_values.read(learner, found.state, batch)
        values = learner.values(found.state.critic, found.state.policy, read)
        each = agent.opponent_values.others(learner, found.state, values, read, batch, 0.5)
        return np.stack([np.asarray(other.advantage) for other in each])  # [other, time, seat, game]

    all_of_them, fellows = others(everybody), others(team)
    # Seat 0 meets seats 1 and 2, seat 1 meets 2 and 0; seat 2 is no fellow.
    np.testing.assert_array_equal(fellows[0, :, 0], all_of_them[0, :, 0])
    np.testing.assert_array_equal(fellows[1, :, 1], all_of_them[1, :, 1])
    assert not fellows[1, :, 0].any()
    assert not fellows[0, :, 1].any()
    assert all_of_them[1, :, 0].any()


def test_an_attributed_past_counts_what_happened_while_the_other_gained() -> None:
    own = jnp.asarray([1.0, -2.0, -1.0, 5.0])
    ended = jnp.zeros(4, jnp.bool_)
    zeros = jnp.zeros(4)
    other = Other(jnp.asarray([2.0, 3.0, -4.0, 1.0]), zeros, zeros, zeros, (), (), zeros)
    term = Alignment(past=Averaged(), attributed=True)
    so_far, shaping = term(own, ended, other, Before(), 0.9)
    # Felt: 1 x 2, -2 x 3, 0 (the other lost); the mean of what came before each step.
    np.testing.assert_allclose(so_far, [0.0, 2 / 2, -4 / 3, -4 / 4], rtol=1e-6)
    np.testing.assert_allclose(shaping, so_far * other.advantage)
    assert float(term.total_after(own, ended, other, Before(), 0.9)) == 1.0
    assert jax.tree.leaves(Before()) == [0.0, 0.0]
