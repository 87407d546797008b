"""Replays beside a plain gather: what inserting and sampling 1,024 steps take, and how many times as long.

The plain gather takes the same fields of 1,024 steps from arrays that have one axis for all steps, at places
that are known; the plain scatter puts them there. All run many times within one compiled program, as they do
in training, so that a replay is changed in place.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from harness import peak_gflops

from comity.core.agent import add_group_axis
from comity.core.batch import TeamBatch, team_batch
from comity.core.compilation import compiled
from comity.core.matchmaker import Occupant
from comity.core.memory import Memory
from comity.learn.prioritised import PrioritisedReplay
from comity.learn.replay import UniformReplay
from comity.play.rollout import reset, rollout
from comity.play.specs import make_agent, make_game

HERE = Path(__file__).parent
GAMES, LENGTH, CAPACITY, BATCH = 128, 8, 131_072, 1_024
TIMES = 50  # in one call
CALLS = 7  # the fastest counts: a busy machine only adds time


def played() -> TeamBatch:
    """What is inserted: 1,024 steps of simple-spread, seen by three seats."""
    game = make_game("simple-spread")
    agent = make_agent("vdn")
    seats = tuple(range(len(game.seats)))

    def play() -> TeamBatch:
        state = agent.init(jax.random.key(0), game.spec, seats)
        occupants = (Occupant(seats, agent, add_group_axis(agent.behaviour(state, jnp.float32(0.0)))),)
        envs = reset(game, occupants, GAMES, jax.random.key(1))
        return team_batch(rollout(game, occupants, envs, jax.random.key(2), LENGTH)[0], seats)

    return compiled(play)()


def seconds(function: Callable[[Any, Any], Any], carry: Any) -> float:
    """CPU time of one of many repetitions in one program."""

    def repeat(carry: Any, keys: Any) -> Any:
        return jax.lax.scan(function, carry, keys)

    run = jax.jit(repeat, donate_argnums=0)
    keys = jax.random.split(jax.random.key(3), TIMES)
    carry, _ = jax.block_until_ready(run(carry, keys))
    best = float("inf")
    for _ in range(CALLS):
        begun = time.process_time()
        carry, _ = jax.block_until_ready(run(carry, keys))
        best = min(best, (time.process_time() - begun) / TIMES)
    return best


def total(tree: Any) -> Any:
    """One number of all leaves, so that no field can be left out by the compiler."""
    return sum(x.astype(jnp.float32).sum() for x in jax.tree.leaves(tree))


def full(memory: Memory, batch: TeamBatch) -> Any:
    """A replay after so many rollouts that it goes round."""
    state = memory.init(jax.eval_shape(lambda: batch))
    add = jax.jit(memory.add, donate_argnums=0)
    for _ in range(CAPACITY // (GAMES * LENGTH) + 3):
        state = add(state, batch)
    return state


def copied(tree: Any) -> Any:
    """A tree that may be given away."""
    return jax.tree.map(jnp.copy, tree)


def main() -> None:
    """Prints the table and writes it beside the others."""
    batch = played()
    uniform = UniformReplay(capacity=CAPACITY, batch=BATCH, learning_starts=0)
    prioritised = PrioritisedReplay(capacity=CAPACITY, batch=BATCH, learning_starts=0)
    ring = full(uniform, batch)
    # The same fields with one axis for all steps, [steps, seat, ...].
    flat = {
        name: jax.tree.map(
            lambda x: jnp.swapaxes(x, 1, 2).reshape((-1, x.shape[1], *x.shape[3:])) if x.ndim > 2
            else x.reshape(-1), value
        )
        for name, value in ring.steps.items()
    }  # fmt: skip
    rows = jax.tree.map(lambda x: x[:BATCH], flat)

    def places(key: Any) -> Any:
        return jax.random.randint(key, (BATCH,), 0, CAPACITY)

    def gather(carry: Any, key: Any) -> Any:
        chosen = places(key)
        return carry, total(jax.tree.map(lambda x: x[chosen], carry))

    def scatter(carry: Any, key: Any) -> Any:
        chosen = places(key)
        return jax.tree.map(lambda old, new: old.at[chosen].set(new), carry, rows), 0.0

    def sample(memory: Memory) -> Callable[[Any, Any], Any]:
        def draw(state: Any, key: Any) -> Any:
            found = memory.sample(state, key)
            return state, total((found.obs, found.next_obs, found.action, found.reward, found.terminated,
                                 found.truncated, found.resets, found.alive, found.acts, found.next_acts,
                                 found.age))  # fmt: skip

        return draw

    def insert(memory: Memory) -> Callable[[Any, Any], Any]:
        return lambda state, key: (memory.add(state, batch), 0.0)

    def learn(state: Any, key: Any) -> Any:
        found = prioritised.sample(state, key)
        surprise = jax.random.uniform(key, (BATCH,))
        return prioritised.prioritise(state, found, surprise), total(
            (found.obs, found.next_obs, found.reward)
        )

    plain = {"gather": seconds(gather, copied(flat)), "scatter": seconds(scatter, copied(flat))}
    found = {
        "uniform replay, sample": (seconds(sample(uniform), copied(ring)), "gather"),
        "uniform replay, insert": (seconds(insert(uniform), copied(ring)), "scatter"),
    }
    state = full(prioritised, batch)
    found |= {
        "prioritised replay, sample": (seconds(sample(prioritised), copied(state)), "gather"),
        "prioritised replay, sample and set priorities": (seconds(learn, copied(state)), "gather"),
        "prioritised replay, insert": (seconds(insert(prioritised), copied(state)), "scatter"),
    }
    table: list[dict[str, Any]] = [
        {"name": f"plain {name}", "seconds": took, "beside": "", "ratio": 1.0} for name, took in plain.items()
    ]
    table += [
        {"name": name, "seconds": took, "beside": f"plain {beside}", "ratio": took / plain[beside]}
        for name, (took, beside) in found.items()
    ]
    print(f"{'1,024 steps of simple-spread':50} {'microseconds':>12} {'ratio':>6}")
    for row in table:
        print(f"{row['name']:50} {1e6 * row['seconds']:12.1f} {row['ratio']:6.2f} {row['beside']}")
    about = {
        "capacity": CAPACITY, "batch": BATCH, "games": GAMES, "length": LENGTH,
        "peak_gflops": peak_gflops(), "jax": jax.__version__,
    }  # fmt: skip
    results = {"about": about, "rows": table}
    (HERE / "results" / "replay.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
