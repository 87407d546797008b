"""Matchmakers that choose opponents: whom they draw, and what ratings and past selves must come to."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from comity.core.errors import ComityError
from comity.core.matchmaker import Drawn
from comity.core.spaces import Discrete
from comity.play.behaviour import behaviour_along, distances
from comity.play.matchmaking import PastSelves, SelfPlay
from comity.play.opponents.diverse import Diverse
from comity.play.opponents.fixed import FixedPlayers
from comity.play.opponents.ledger import after_scores, empty_ledger, expected_score
from comity.play.opponents.prioritised import Prioritised
from comity.play.opponents.rated import RatedPool
from comity.play.opponents.seating import by_weight, systematic
from comity.play.opponents.strongest import Strongest
from comity.play.specs import make_agent, make_game, make_matchmaker
from comity.testing.contracts import assert_trees_equal
from comity.training import loop
from comity.training.experiment import make_experiment

ROCK = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
ONE_SHOT: dict[str, Any] = {"network": "tabular", "critic.network": "tabular"}
start, advance = eqx.filter_jit(loop.start), eqx.filter_jit(loop.advance)
KEY = jax.random.key(0)


def exploitability(mixture: Float[np.ndarray, " 3"]) -> float:
    """What the best answer earns against a mixture of rock, paper and scissors."""
    return float((ROCK @ mixture).max())


def policies(matchmaker: Any, iterations: int) -> Float[np.ndarray, "parts 3"]:
    """The learner's probabilities in one-shot rock-paper-scissors, ten times during training."""
    game = make_game("rock-paper-scissors", horizon=1)
    learner = make_agent("a2c", **ONE_SHOT, **{"optimiser.learning_rate": 0.05, "entropy_coef": 0.3})
    experiment = make_experiment(
        game, learner, matchmaker=matchmaker, iterations=iterations, batch=256, seed=1, chunk=iterations // 40
    )
    state = start(experiment)
    found = []
    for _ in range(40):
        state, _ = advance(experiment, state, experiment.chunk)
        (player, _) = loop.players(experiment, state)
        found.append(player.probabilities(np.int32(0)))
    return np.array(found, np.float64)


def test_present_selves_cycle_and_past_selves_go_to_one_third() -> None:
    """With the same settings; in one-shot rock-paper-scissors every pure strategy is beaten by another."""
    present = policies(SelfPlay(), 2000)[20:]
    assert max(exploitability(own) for own in present) > 0.2
    assert set(np.argmax(present, axis=1)) == {0, 1, 2}  # round and round
    past = policies(PastSelves(capacity=500, every=4), 2000)[20:]
    assert exploitability(past.mean(axis=0)) < 0.05
    assert exploitability(past[-1]) < 0.1


def test_ratings_recover_known_strengths() -> None:
    """Games are won with the probabilities that ratings stand for; only differences are measured."""
    strengths = jnp.asarray([-300.0, -100.0, 0.0, 150.0, 250.0])
    own = jnp.float32(50.0)
    groups = 16

    def play(carry: Any, key: Any) -> tuple[Any, Array]:
        draw_key, win_key = jax.random.split(key)
        member = jax.random.randint(draw_key, (groups,), 0, 5)
        won = jax.random.uniform(win_key, (groups,)) < expected_score(own, strengths[member])
        drawn = Drawn((1,), 0, member)
        ledger = after_scores(carry, 0, drawn, won.astype(jnp.float32), 2.0, 0.999)
        return ledger, jnp.append(ledger.rating[0], ledger.present)

    ledger, ratings = jax.lax.scan(play, empty_ledger(1, 5), jax.random.split(KEY, 20_000))
    found = np.asarray(ratings[5_000:].mean(axis=0))
    wanted = np.append(strengths, own)
    np.testing.assert_allclose(found - found.mean(), wanted - wanted.mean(), atol=15.0)
    np.testing.assert_allclose(float(ratings[-1].sum()), 0.0, atol=0.1)  # what one wins another loses
    np.testing.assert_allclose(ledger.score(0, 0), expected_score(own, strengths), atol=0.1)


def pool(ratings: list[float], won: list[float], games: list[float]) -> RatedPool:
    room = len(ratings)
    ledger = empty_ledger(1, room)._replace(
        rating=jnp.asarray([ratings]), won=jnp.asarray([[won]]), games=jnp.asarray([[games]])
    )
    return RatedPool((jnp.arange(room, dtype=jnp.float32),), jnp.int32(room), ledger)


def test_the_strongest_are_met() -> None:
    matchmaker = Strongest(capacity=6, groups=12, best=2, all_share=0.0)
    chosen = pool([5.0, -3.0, 40.0, 39.0, 0.0, 99.0], [0.0] * 6, [0.0] * 6)
    filled = jnp.asarray([True] * 5 + [False])
    member = matchmaker.members(chosen, 0, 0, filled, KEY)
    assert sorted(np.asarray(member).tolist()) == [2] * 6 + [3] * 6
    now_and_then = Strongest(capacity=6, groups=40, best=2, all_share=0.5)
    counts = np.bincount(now_and_then.members(chosen, 0, 0, filled, KEY), minlength=6)
    np.testing.assert_allclose(counts, [4, 4, 14, 14, 4, 0], atol=1)


@pytest.mark.parametrize(
    ("weighting", "weights"),
    [
        ("squared", [0.81, 0.25, 0.01]),
        ("variance", [0.09, 0.25, 0.09]),
        ("linear", [0.9, 0.5, 0.1]),
        ("capped", [0.5, 0.5, 0.1]),
    ],
)
def test_who_is_hard_to_beat_is_met_more_often(weighting: Any, weights: list[float]) -> None:
    """Against these three the learner won 10, 50 and 90 of 100 games."""
    matchmaker = Prioritised(capacity=3, groups=1000, weighting=weighting)
    chosen = pool([0.0] * 3, [1e4, 5e4, 9e4], [1e5] * 3)
    member = matchmaker.members(chosen, 0, 0, jnp.ones(3, jnp.bool_), KEY)
    shares = np.bincount(member, minlength=3) / 1000
    np.testing.assert_allclose(shares, np.array(weights) / sum(weights), atol=2e-3)


def test_draws_meet_their_shares_as_exactly_as_their_number_allows() -> None:
    shares = jnp.asarray([0.5, 0.3, 0.2, 0.0])
    assert np.bincount(systematic(shares, 10, KEY), minlength=4).tolist() == [5, 3, 2, 0]
    nobody = by_weight(jnp.zeros(4), jnp.asarray([True, True, False, False]), 10, KEY)
    assert np.bincount(nobody, minlength=4).tolist() == [5, 5, 0, 0]


NARROW: dict[str, Any] = {"network": "mlp", "network.width": 8, "network.depth": 1, "critic.network": "mlp"}


def test_behaviour_does_not_depend_on_the_order_of_hidden_units() -> None:
    game = make_game("prisoners-dilemma", horizon=5)
    agent = make_agent("a2c", **NARROW)
    first, other = (agent.policy(agent.init(jax.random.key(i), game.spec, (0, 1))) for i in range(2))
    order = np.random.default_rng(0).permutation(8)
    leaves, shape = jax.tree.flatten(first)
    turned = [
        leaf[tuple(order if size == 8 else slice(None) for size in leaf.shape)] if 8 in leaf.shape else leaf
        for leaf in leaves
    ]
    permuted = jax.tree.unflatten(shape, turned)
    assert any(bool((a != b).any()) for a, b in zip(leaves, turned, strict=True))
    obs = jnp.asarray(np.random.default_rng(1).integers(0, 5, (6, 3)), jnp.int32)
    resets = jnp.zeros((6, 3), jnp.bool_)
    action = game.seats[0].action
    done = jnp.stack(
        [behaviour_along(agent, own, obs, resets, action, KEY) for own in (first, permuted, other)]
    )
    found = np.asarray(distances(done, action))
    np.testing.assert_allclose(found[0, 1], 0.0, atol=1e-6)
    assert found[0, 2] > 0.001
    np.testing.assert_allclose(found, found.T, atol=1e-7)


def test_a_memory_follows_the_observations_and_its_resets() -> None:
    """Grim trigger remembers one defection for the rest of the episode, and no longer."""
    game = make_game("prisoners-dilemma", horizon=5)
    agent = make_agent("grim-trigger", game)
    params = agent.policy(agent.init(KEY, game.spec, (0,)))
    obs = jnp.asarray([[0], [1], [2], [3], [0], [1]], jnp.int32)  # start, CC, CD, DC, start, CC
    resets = jnp.asarray([[False], [False], [False], [False], [True], [False]])
    done = behaviour_along(agent, params, obs, resets, Discrete(2), KEY)
    assert np.asarray(done[:, 0, 1]).tolist() == [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]
    never = jnp.zeros_like(done).at[..., 0].set(1.0)
    np.testing.assert_allclose(distances(jnp.stack([done, never]), Discrete(2))[0, 1], 2 / 6, rtol=1e-6)


def test_diverse_opponents_are_one_of_each_kind() -> None:
    """Nine past selves behave in three ways; three groups meet all three."""
    matchmaker = Diverse(capacity=9, groups=3, probes=2)
    kind = jnp.asarray([0, 0, 0, 0, 0, 1, 1, 1, 2])
    distance = (kind[:, None] != kind[None]).astype(jnp.float32)[None]
    empty = matchmaker.init((jnp.zeros(1),))
    full = empty._replace(stored=jnp.int32(9), notes=empty.notes._replace(distance=distance))
    filled = jnp.ones(9, jnp.bool_)
    for seed in range(5):
        member = matchmaker.members(full, 0, 0, filled, jax.random.key(seed))
        assert sorted(np.asarray(kind[member]).tolist()) == [0, 1, 2]


def test_past_selves_are_compared_by_what_they_do_in_games() -> None:
    experiment = make_experiment(
        make_game("prisoners-dilemma", horizon=4),
        make_agent("a2c", **ONE_SHOT, **{"optimiser.learning_rate": 0.3}),
        matchmaker=make_matchmaker("diverse", capacity=4, every=5, groups=2, probes=2),
        iterations=25,
        batch=8,
    )
    state, _ = advance(experiment, start(experiment), 25)
    found = np.asarray(state.pool.notes.distance[0])
    np.testing.assert_allclose(np.diag(found), 0.0)
    assert found[~np.eye(4, dtype=np.bool_)].min() > 0.01  # it learned from copy to copy


def test_fixed_players_are_met_with_their_shares_and_scores() -> None:
    """A learner that does not learn yet plays at random: against a defector it draws half of the games."""
    matchmaker = FixedPlayers(
        players=("always-defect", "memory-one,first=1,after-cc=1,after_cd=1,after_dc=1,after_dd=1"),
        shares=(1.0, 3.0), groups=8, current_share=0.5,
    )  # fmt: skip
    learner = make_agent("a2c", **ONE_SHOT, **{"optimiser.learning_rate": 1e-7, "entropy_coef": 0.0})
    game = make_game("prisoners-dilemma", horizon=1)
    experiment = make_experiment(game, learner, matchmaker=matchmaker, iterations=50, batch=64)
    state, metrics = advance(experiment, start(experiment), 50)
    (lineup,) = matchmaker.lineups(state.pool, loop._teams(experiment, state.learners, jnp.float32(0)), KEY)
    assert np.bincount(np.asarray(lineup.drawn[0].member) + 1).tolist() == [4, 1, 3]
    assert lineup.occupants[1].params.kind.shape == (8,)
    last = {name: float(values[-10:].mean()) for name, values in metrics.items()}
    np.testing.assert_allclose(last["score/always-defect"], 0.25, atol=0.06)
    np.testing.assert_allclose(last[f"score/{matchmaker.players[1]}"], 0.75, atol=0.06)
    assert last["rating"] == pytest.approx(float(state.pool.ledger.present[0]), abs=60.0)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("strongest", {"every": 3}),
        ("prioritised", {"every": 3, "weighting": "variance"}),
        ("diverse", {"every": 3, "probes": 2, "capacity": 5}),
        ("fixed", {"players": ["tit-for-tat", "stranger"], "current_share": 0.5, "weighting": "squared"}),
    ],
)
def test_ten_iterations_are_five_and_five(name: str, settings: dict[str, Any]) -> None:
    """What a matchmaker knows is in the run's state, so a run that goes on goes on bit by bit."""
    experiment = make_experiment(
        make_game("prisoners-dilemma", horizon=4),
        make_agent("a2c", **ONE_SHOT),
        matchmaker=make_matchmaker(name, groups=4, **settings),
        iterations=10,
        batch=8,
        share=name != "prioritised",
    )
    whole, metrics = advance(experiment, start(experiment), 10)
    half, _ = advance(experiment, start(experiment), 5)
    parts, _ = advance(experiment, half, 5)
    assert_trees_equal(
        (whole.learners, whole.pool, whole.returns),
        (parts.learners, parts.pool, parts.returns),
        "a run must not depend on where it was cut",
    )
    assert any(metric.startswith("rating") for metric in metrics)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"players": ("nobody",)}, "nobody"),
        ({"players": ("a2c",)}, "learns"),
        ({"players": ("tit-for-tat,generosity",)}, "settings as in"),
        ({"players": ("zoo:coin/adalign/0",)}, "cannot play in this game"),
        ({"players": ("tit-for-tat",), "shares": (1.0, 2.0)}, "one per player"),
        ({"players": ()}, "at least one player"),
        ({"groups": 3}, "divisor of the batch"),
        ({"learning_seats": 2}, "less than the 2 seats"),
    ],
)
def test_fixed_players_that_cannot_be_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ComityError, match=words):
        make_experiment(
            make_game("prisoners-dilemma"), make_agent("a2c"), matchmaker=FixedPlayers(**settings), batch=16
        )


def test_strangers_are_others_in_each_episode() -> None:
    """Among many there are those who always cooperate, who never do, and others; most react."""
    game = make_game("prisoners-dilemma", horizon=12)
    agent = make_agent("stranger", game, most_slip=0.0)
    params = agent.policy(agent.init(KEY, game.spec, (0,)))
    keys = jax.random.split(jax.random.key(3), 400)

    def actions(key: Any, seen: Any) -> Array:
        def step(carry: Any, inputs: Any) -> Any:
            act = agent.act(params, carry, inputs[0], inputs[1])
            return act.carry, act.action

        return jax.lax.scan(step, agent.initial_carry(params), (seen, jax.random.split(key, 12)))[1]

    # The other cooperates always, or never; what one did oneself is seen as it would be by a cooperator.
    kind, harsh = (jnp.asarray([0] + [code] * 11, jnp.int32) for code in (1, 2))
    to_kind, to_harsh = (np.asarray(jax.vmap(lambda k, s=s: actions(k, s))(keys)) for s in (kind, harsh))
    always, never = (to_kind == 0).all(axis=1), (to_kind == 1).all(axis=1)
    assert always.sum() > 40
    assert never.sum() > 10
    assert (~always & ~never).sum() > 100
    assert (to_kind != to_harsh).any(axis=1).sum() > 100
    assert to_kind.mean() < to_harsh.mean() - 0.1


def test_contrite_tit_for_tat_repairs_an_accident_in_one_round() -> None:
    """Tit-for-tat echoes the same accident for ever; who defects on purpose is punished by both."""
    game = make_game("prisoners-dilemma", horizon=8)

    def play(name: str, forced: dict[int, int]) -> list[str]:
        """What two copies do, the first one being made to act otherwise in some rounds."""
        agent = make_agent(name, game)
        params = agent.policy(agent.init(KEY, game.spec, (0,)))
        carries, seen, played = [agent.initial_carry(params)] * 2, [0, 0], []
        for time in range(6):
            acts = [agent.act(params, carries[i], jnp.int32(seen[i]), KEY) for i in range(2)]
            carries = [act.carry for act in acts]
            done = [int(act.action) for act in acts]
            done[0] = forced.get(time, done[0])
            seen = [1 + 2 * done[0] + done[1], 1 + 2 * done[1] + done[0]]
            played.append("".join("CD"[action] for action in done))
        return played

    assert play("contrite-tit-for-tat", {1: 1}) == ["CC", "DC", "CD", "CC", "CC", "CC"]
    assert play("tit-for-tat", {1: 1}) == ["CC", "DC", "CD", "DC", "CD", "DC"]
    always = dict.fromkeys(range(6), 1)
    assert play("contrite-tit-for-tat", always) == ["DC", "DD", "DD", "DD", "DD", "DD"]
