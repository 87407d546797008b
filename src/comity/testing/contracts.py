"""What every game and every agent must hold; a check raises an `AssertionError` that says what does not."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import spaces
from comity.core.agent import Agent, Context, Player, add_group_axis
from comity.core.batch import Trajectory, team_batch
from comity.core.errors import ComityError
from comity.core.game import Environment, PerSeat, Seat, TimeStep
from comity.core.matchmaker import Occupant
from comity.core.memory import PRIORITIES
from comity.core.scene import as_scene
from comity.drawing.pixels import paint
from comity.drawing.text import write
from comity.play.rollout import reset, rollout, simulator


def check_game(game: Environment, steps: int = 40, seed: int = 0) -> None:
    """Checks a game's contract with random play.

    Shapes and types stay the same under jit and vmap; observations lie in their spaces; rewards are
    finite float32 scalars; flags are booleans; the same key gives the same game; an episode that does not
    terminate is truncated exactly at the horizon if that is fixed; seats of one role see and do the same.
    In games of turns somebody acts in every step, who waits has one legal choice (if it has choices and sees
    which are legal), and what it does changes nothing. What the game draws can be shown in every state.
    """
    seats = game.seats
    assert len(seats) >= 1, "a game needs at least one seat"
    assert len({seat.name for seat in seats}) == len(seats), "the seats need different names"
    if game.symmetric:
        shapes = {(seat.observation, seat.action) for seat in seats}
        assert len(shapes) == 1, "a symmetric game has equal seats"
    for role in {seat.role for seat in seats if seat.role}:
        alike = {(seat.observation, seat.action) for seat in seats if seat.role == role}
        assert len(alike) == 1, f"the seats of the role {role} see or do different things"
    key = jax.random.key(seed)
    reset, step = eqx.filter_jit(game.reset), eqx.filter_jit(game.step)
    sample = eqx.filter_jit(_sample_actions)
    state, obs = reset(key)
    assert_trees_equal((state, obs), reset(key), "reset with one key must give one game")
    structure = jax.tree.map(lambda x: (x.shape, x.dtype), state)
    acts = game.acting(state)  # who acts in the next step
    turns = bool(acts)
    age = 0  # steps of this episode
    check_drawing(game, state)
    for time in range(steps):
        key, action_key, step_key = jax.random.split(jax.random.fold_in(key, time), 3)
        for seat, seen in zip(seats, obs, strict=True):
            assert spaces.contains(seat.observation, seen), f"step {time}: {seat.name} sees {seen}"
        actions = sample(seats, action_key)
        result = step(step_key, state, actions)
        _check_answer(seats, result[1])
        assert_trees_equal(result, step(step_key, state, actions), "a step with one key must give one result")
        others = sample(seats, step_key)
        _check_waiting(game, step, acts, (step_key, state, actions, others), obs, result)
        state, now = result
        assert jax.tree.map(lambda x: (x.shape, x.dtype), state) == structure, "the state must keep its shape"
        _check_turns(game, now, turns)
        game.view(state)
        over = bool(now.terminated | now.truncated)
        check_drawing(game, state, shown=over)
        obs, acts = now.obs, now.acts
        age += 1
        if game.horizon is not None and not bool(now.terminated):
            wanted = age == game.horizon
            assert bool(now.truncated) == wanted, (
                f"step {age} of an episode of {game.horizon}: truncated "
                + ("too early" if not wanted else "too late")
            )
        if over:
            state, obs = reset(jax.random.fold_in(key, 1))
            acts, age = game.acting(state), 0
    _check_batch(game, seed)


def check_drawing(game: Environment, state: PyTree, shown: bool = True) -> None:
    """A state's drawing is a scene, a text, a picture or nothing; if it is `shown`, as pixels and as text."""
    drawing = game.draw(state)
    if drawing is None:
        return
    try:
        scene = as_scene(drawing)
    except ComityError as error:
        raise AssertionError(str(error)) from None
    if shown:
        assert min(paint(scene).shape) >= 1
        assert write(scene).plain.strip(), "the drawing of a state is empty"


def _check_answer(seats: PerSeat[Seat], now: TimeStep) -> None:
    """Rewards and flags, one for each seat where they are a seat's."""
    assert len(now.obs) == len(now.reward) == len(now.alive) == len(seats), "one entry per seat"
    for seat, reward, alive in zip(seats, now.reward, now.alive, strict=True):
        _check_scalar(f"{seat.name}: reward", reward, jnp.float32)
        assert bool(jnp.isfinite(reward)), f"{seat.name}: the reward {reward} is not finite"
        _check_scalar(f"{seat.name}: alive", alive, jnp.bool_)
    _check_scalar("terminated", now.terminated, jnp.bool_)
    _check_scalar("truncated", now.truncated, jnp.bool_)


def _check_scalar(name: str, value: object, dtype: Any) -> None:
    wanted = f"return jnp.{jnp.dtype(dtype).name.replace('bool', 'bool_')}(...)"
    assert isinstance(value, jax.Array), f"{name} is {value!r}, of Python's {type(value).__name__}: {wanted}"
    assert (value.shape, value.dtype) == ((), dtype), f"{name} is {value.dtype}{list(value.shape)}: {wanted}"


def _sample_actions(seats: PerSeat[Seat], key: Key) -> PerSeat[PyTree]:
    return tuple(spaces.sample(seat.action, jax.random.fold_in(key, i)) for i, seat in enumerate(seats))


def _check_turns(game: Environment, now: TimeStep, turns: bool) -> None:
    """In a turn-based game every step says who acts next, and while it goes on somebody does."""
    assert bool(now.acts) == turns, "acting(state) and TimeStep.acts are both given, or both empty"
    if not turns:
        return
    assert len(now.acts) == len(game.seats), "one entry of acts per seat"
    for flag in now.acts:
        assert (flag.shape, flag.dtype) == ((), jnp.bool_), f"acts is {flag}"
    over = bool(now.terminated | now.truncated)
    someone = any(bool(acts & alive) for acts, alive in zip(now.acts, now.alive, strict=True))
    assert over or someone, "nobody acts in the next step, though the game goes on"


def _check_waiting(
    game: Environment,
    step: Callable[..., PyTree],
    acts: PerSeat[Array],
    inputs: tuple[Key, PyTree, PerSeat[PyTree], PerSeat[PyTree]],
    obs: PerSeat[PyTree],
    result: PyTree,
) -> None:
    """Who waits has one legal choice, and the step is the same whatever it does."""
    key, state, actions, others = inputs
    waiting = [not bool(flag) for flag in acts]
    if not any(waiting):
        return
    for seat, waits, seen in zip(game.seats, waiting, obs, strict=True):
        legal = spaces.legal(seat.observation, seen)
        if waits and legal is not None:
            assert int(legal.sum()) == 1, f"{seat.name} waits and has {int(legal.sum())} legal choices, not 1"
    replaced = tuple(
        other if waits else own for own, other, waits in zip(actions, others, waiting, strict=True)
    )
    assert_trees_equal(result, step(key, state, replaced), "what a seat that waits does must not matter")


def _check_batch(game: Environment, seed: int) -> None:
    """A batch of games is the games of the batch."""
    keys = jax.random.split(jax.random.key(seed), 3)
    together = eqx.filter_jit(jax.vmap(game.reset))(keys)
    reset = eqx.filter_jit(game.reset)
    for i in range(3):
        alone = reset(keys[i])
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
    places, spec = game.seats, game.spec
    agent.check(spec, tuple(range(len(places))))
    states = tuple(
        eqx.filter_jit(agent.init)(jax.random.key(seed + i), spec, seats if i == seats[0] else (i,))
        for i in range(len(places))
    )
    for leaf in jax.tree.leaves(states):
        assert eqx.is_array(leaf), f"the state of an agent holds arrays only, not {leaf!r}"
    params = tuple(eqx.filter_jit(agent.behaviour)(state, jnp.float32(0.0)) for state in states)
    occupants = tuple(Occupant((i,), agent, add_group_axis(own)) for i, own in enumerate(params))
    played = play_some(game, occupants, batch, steps, seed)
    assert_trees_equal(played, play_some(game, occupants, batch, steps, seed), "one key must give one play")
    for seat, action in zip(places, played.action, strict=True):
        first = jax.tree.map(lambda x: np.asarray(x[0, 0]), action)
        assert spaces.contains(seat.action, first), f"{seat.name} does {first}"
    carry = agent.initial_carry(params[0])
    obs = eqx.filter_jit(game.reset)(jax.random.key(0))[1][0]
    for act in (agent.act, agent.most_likely):
        _, after, _ = jax.eval_shape(act, params[0], carry, obs, jax.random.key(1))
        assert _shapes(carry) == _shapes(after), "the memory must keep its shape"
    saved = agent.policy(states[0])
    first_act = eqx.filter_jit(lambda own, key: agent.most_likely(own, agent.initial_carry(own), obs, key))
    action, _, _ = first_act(saved, jax.random.key(1))
    assert spaces.contains(places[0].action, jax.tree.map(np.asarray, action)), f"most likely: {action}"
    exact = type(game).exact_returns is not Environment.exact_returns
    if "values" in agent.needs and not exact:
        return
    others = (
        tuple(jax.tree.map(lambda x: x[None], own) for own in params) if "others" in agent.needs else None
    )
    values = game.exact_returns if "values" in agent.needs else None
    simulate = None
    if "simulate" in agent.needs:
        simulate = simulator(game, (agent,) * len(places), batch, steps)
    context = Context(jnp.float32(0.0), others, simulate, values)
    batch_of_team = team_batch(played, seats)
    memory = agent.memory.add(agent.memory.init(jax.eval_shape(lambda: batch_of_team)), batch_of_team)
    update = eqx.filter_jit(agent.update)
    learned_from = agent.memory.sample(memory, jax.random.key(3))
    state, metrics = update(states[seats[0]], learned_from, context, jax.random.key(2))
    if PRIORITIES in metrics:
        after = agent.memory.prioritise(memory, learned_from, metrics.pop(PRIORITIES))
        assert _shapes(after) == _shapes(memory), "priorities must keep the memory's shape"
    assert _shapes(state) == _shapes(states[seats[0]]), "an update must keep the state's shape"
    for name, value in metrics.items():
        assert value.shape == (), f"metric {name} has the shape {value.shape}"
        assert bool(jnp.isfinite(value)), f"metric {name} is {value}"
    same = all(
        bool(jnp.array_equal(a, b))
        for a, b in zip(
            jax.tree.leaves(agent.policy(state)), jax.tree.leaves(agent.policy(states[seats[0]])), strict=True
        )
    )
    assert same != agent.learns, "learners change their parameters in an update, scripted players do not"


def play_some(
    game: Environment, occupants: tuple[Occupant, ...], batch: int, steps: int, seed: int
) -> Trajectory:
    """A short rollout."""
    played: Trajectory = eqx.filter_jit(_play_some)(game, occupants, batch, steps, jax.random.key(seed))
    return played


def _play_some(
    game: Environment, occupants: tuple[Occupant, ...], batch: int, steps: int, key: Key
) -> Trajectory:
    key, reset_key = jax.random.split(key)
    return rollout(game, occupants, reset(game, occupants, batch, reset_key), key, steps)[0]


def make_player(agent: Agent, game: Environment, seat: int = 0, seed: int = 0) -> Player:
    """An untrained player for a seat."""
    make = eqx.filter_jit(lambda key: agent.policy(agent.init(key, game.spec, (seat,))))
    return Player(agent, make(jax.random.key(seed)), game.spec, seat)


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
