"""What every game and every agent must hold; a check raises an `AssertionError` that says what does not."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from comity.core import spaces
from comity.core.types import (
    Agent,
    Environment,
    Experience,
    Occupant,
    Player,
    Trajectory,
    with_everyone,
)
from comity.play.matchmaking import current_occupants
from comity.play.rollout import begin, rollout, simulator


def check_game(game: Environment, steps: int = 40, seed: int = 0) -> None:
    """Checks a game's contract with random play.

    Shapes and types stay the same under jit and vmap; observations lie in their spaces; rewards are
    finite float32 scalars; flags are booleans; the same key gives the same game; a fixed horizon
    truncates exactly there.
    """
    seats = game.seats
    assert len(seats) >= 1, "a game needs at least one seat"
    assert len({seat.name for seat in seats}) == len(seats), "the seats need different names"
    if game.symmetric:
        shapes = {(seat.observation, seat.action) for seat in seats}
        assert len(shapes) == 1, "a symmetric game has equal seats"
    key = jax.random.key(seed)
    reset, step = eqx.filter_jit(game.reset), eqx.filter_jit(game.step)
    state, obs = reset(key)
    assert_trees_equal((state, obs), reset(key), "reset with one key must give one game")
    structure = jax.tree.map(lambda x: (x.shape, x.dtype), state)
    for time in range(steps):
        key, action_key, step_key = jax.random.split(jax.random.fold_in(key, time), 3)
        for seat, seen in zip(seats, obs, strict=True):
            assert spaces.contains(seat.observation, seen), f"step {time}: {seat.name} sees {seen}"
        actions = tuple(
            spaces.sample(seat.action, jax.random.fold_in(action_key, i)) for i, seat in enumerate(seats)
        )
        result = step(step_key, state, actions)
        assert_trees_equal(result, step(step_key, state, actions), "a step with one key must give one result")
        state, now = result
        assert jax.tree.map(lambda x: (x.shape, x.dtype), state) == structure, "the state must keep its shape"
        assert len(now.obs) == len(now.reward) == len(now.alive) == len(seats), "one entry per seat"
        for seat, reward, alive in zip(seats, now.reward, now.alive, strict=True):
            assert (reward.shape, reward.dtype) == ((), jnp.float32), f"{seat.name}: reward {reward}"
            assert bool(jnp.isfinite(reward)), f"{seat.name}: the reward {reward} is not finite"
            assert (alive.shape, alive.dtype) == ((), jnp.bool_), f"{seat.name}: alive {alive}"
        for flag in (now.terminated, now.truncated):
            assert (flag.shape, flag.dtype) == ((), jnp.bool_), f"a flag is {flag}"
        game.view(state)
        obs = now.obs
        if bool(now.terminated | now.truncated):
            if game.horizon is not None and not bool(now.terminated):
                assert (time + 1) % game.horizon == 0 or time + 1 <= game.horizon, "truncated off its horizon"
            state, obs = reset(jax.random.fold_in(key, 1))
    _check_batch(game, seed)


def _check_batch(game: Environment, seed: int) -> None:
    """A batch of games is the games of the batch."""
    keys = jax.random.split(jax.random.key(seed), 3)
    together = jax.vmap(game.reset)(keys)
    for i in range(3):
        alone = game.reset(keys[i])
        picked = jax.tree.map(lambda x, i=i: x[i], together)
        assert_trees_equal(alone, picked, "a game in a batch must be the game alone")


def check_agent(
    agent: Agent,
    game: Environment,
    seats: tuple[int, ...] = (0,),
    batch: int = 32,
    steps: int = 6,
    seed: int = 0,
) -> None:
    """Checks an agent's contract in a game, with copies of it in all seats.

    Actions lie in their spaces; one key gives one act; parameters are arrays; the memory keeps its shape;
    an update keeps the state's shape, gives finite scalar metrics and, for learners, changes parameters.
    """
    places = game.seats
    for seat in places:
        agent.check(seat)
    states = tuple(
        eqx.filter_jit(agent.init)(jax.random.key(seed + i), with_everyone(game, i))
        for i in range(len(places))
    )
    for leaf in jax.tree.leaves(states):
        assert eqx.is_array(leaf), f"the state of an agent holds arrays only, not {leaf!r}"
    params = tuple(agent.params(state) for state in states)
    seating = tuple((i,) for i in range(len(places)))
    occupants = current_occupants((agent,) * len(places), params, seating)
    played = play_some(game, occupants, batch, steps, seed)
    assert_trees_equal(played, play_some(game, occupants, batch, steps, seed), "one key must give one play")
    for seat, action in zip(places, played.action, strict=True):
        first = jax.tree.map(lambda x: np.asarray(x[0, 0]), action)
        assert spaces.contains(seat.action, first), f"{seat.name} does {first}"
    carry = agent.start(params[0])
    obs = game.reset(jax.random.key(0))[1][0]
    _, after, _ = jax.eval_shape(agent.act, params[0], carry, obs, jax.random.key(1))
    assert _shapes(carry) == _shapes(after), "the memory must keep its shape"
    exact = type(game).exact_values is not Environment.exact_values
    if "values" in agent.needs and not exact:
        return
    others = (
        tuple(jax.tree.map(lambda x: x[None], own) for own in params) if "others" in agent.needs else None
    )
    values = game.exact_values if "values" in agent.needs else None
    simulate = None
    if "simulate" in agent.needs:
        simulate = simulator(game, (agent,) * len(places), batch, steps)
    experience = Experience(seats, played, jnp.float32(0.0), others, simulate, values)
    state, metrics = eqx.filter_jit(agent.update)(states[seats[0]], experience, jax.random.key(2))
    assert _shapes(state) == _shapes(states[seats[0]]), "an update must keep the state's shape"
    for name, value in metrics.items():
        assert value.shape == (), f"metric {name} has the shape {value.shape}"
        assert bool(jnp.isfinite(value)), f"metric {name} is {value}"
    same = all(
        bool(jnp.array_equal(a, b))
        for a, b in zip(jax.tree.leaves(agent.params(state)), jax.tree.leaves(params[seats[0]]), strict=True)
    )
    assert same != agent.learns, "learners change their parameters in an update, scripted players do not"


def play_some(
    game: Environment, occupants: tuple[Occupant, ...], batch: int, steps: int, seed: int
) -> Trajectory:
    """A short rollout."""
    key, begin_key = jax.random.split(jax.random.key(seed))
    table = begin(game, occupants, batch, begin_key)
    return eqx.filter_jit(rollout)(game, occupants, table, key, steps)[0]


def make_player(agent: Agent, game: Environment, seat: int = 0, seed: int = 0) -> Player:
    """An untrained player for a seat."""
    return Player(agent, agent.params(agent.init(jax.random.key(seed), with_everyone(game, seat))))


def assert_trees_equal(first: PyTree, second: PyTree, why: str) -> None:
    """Raises unless two trees hold the same arrays, bit by bit."""
    leaves = zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True)
    for a, b in leaves:
        assert np.array_equal(_plain(a), _plain(b), equal_nan=_is_float(a)), why


def _shapes(tree: PyTree) -> PyTree:
    return jax.tree.map(lambda x: (x.shape, x.dtype), tree)


def _plain(x: jax.Array) -> np.ndarray:
    return np.asarray(jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x)


def _is_float(x: jax.Array) -> bool:
    return bool(jnp.issubdtype(x.dtype, jnp.floating))
