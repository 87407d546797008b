"""Commons Harvest: joint steps per CPU-second with random actions, planes and pixels, and where time goes.

The original engine does 3,161 steps per CPU-second without pixels and 1,225 with them; the known version in
JAX about 1,800.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from harness import Measurement, measure, peak_gflops, report
from jaxtyping import PRNGKeyArray as Key

from comity.games.commons_harvest import CommonsHarvest
from comity.play.specs import make_game


def stepping(game: CommonsHarvest, batch: int, length: int) -> Measurement:
    """Many games step by step; every observation is used, so that none is left out."""

    def run(key: Key) -> Any:
        start_key, play_key = jax.random.split(key)
        states = jax.vmap(game.reset)(jax.random.split(start_key, batch))[0]

        def advance(carry: Any, step_key: Key) -> tuple[Any, None]:
            states, total = carry
            act_key, game_key = jax.random.split(step_key)
            drawn = jax.random.randint(act_key, (game.players, batch), 0, 8)
            keys = jax.random.split(game_key, batch)
            states, step = jax.vmap(game.step)(keys, states, tuple(drawn))
            seen = sum(obs.reshape(batch, -1)[:, ::7].astype(jnp.int32).sum(axis=1) for obs in step.obs)
            return (states, total + seen), None

        zeros = jnp.zeros(batch, jnp.int32)
        (states, total), _ = jax.lax.scan(advance, (states, zeros), jax.random.split(play_key, length))
        return states.apples.sum(), total

    name = f"{game.observe}, {batch} x {length}"
    return measure(name, run, jax.random.key(0), steps=batch * length, repeats=3)


def parts(batch: int) -> list[Measurement]:
    """CPU time of the parts of a step."""
    game = make_game("commons-harvest-open")
    drawn = make_game("commons-harvest-open", observe="pixels")
    assert isinstance(game, CommonsHarvest)
    assert isinstance(drawn, CommonsHarvest)
    keys = jax.random.split(jax.random.key(0), batch)
    states = jax.jit(jax.vmap(game.reset))(keys)[0]
    action = jax.random.randint(jax.random.key(1), (batch, 7), 0, 8)
    chance = jax.jit(jax.vmap(game.draw))(keys)
    alive = states.away == 0

    def rules(states: Any, action: Any, chance: Any) -> Any:
        after, step = game.outcome(states, action, chance)
        return after, step.reward  # what is seen is not asked for, so it is left out

    return [
        measure(f"drawing what is random, {batch}", jax.vmap(game.draw), keys, steps=batch),
        measure(f"rules, {batch}", jax.vmap(rules), states, action, chance, steps=batch),
        measure(
            f"of these moves, {batch}", jax.vmap(game.moves), states.cells, states.facing, action,
            chance.rank, steps=batch,
        ),
        measure(
            f"of these beams, {batch}", jax.vmap(game.zap), states.cells, states.facing, alive, steps=batch
        ),
        measure(f"planes, {batch}", jax.vmap(game.observed), states, steps=batch),
        measure(f"pixels, {batch}", jax.vmap(drawn.observed), states, steps=batch),
    ]  # fmt: skip


def main() -> None:
    """Prints the tables and writes benchmarks/results/harvest.json."""
    peak = peak_gflops()
    rows = []
    for observe in ("planes", "pixels"):
        game = make_game("commons-harvest-open", observe=observe)
        assert isinstance(game, CommonsHarvest)
        for batch, length in ((1, 1000), (64, 200), (1024, 50 if observe == "planes" else 10)):
            rows.append(stepping(game, batch, length))
    report("harvest", [*rows, *parts(1024)], peak, Path(__file__).parent / "results" / "harvest.json")


if __name__ == "__main__":
    main()
