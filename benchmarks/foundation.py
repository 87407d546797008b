"""Stepping alone and training: PPO with a GRU of 64 on the prisoner's dilemma, 2048 games of 16 steps."""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
from harness import Measurement, measure, peak_gflops, report
from jaxtyping import Array, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.game import Environment
from comity.core.matchmaker import Occupant
from comity.play.rollout import EnvBatch, reset, rollout
from comity.play.specs import make_agent, make_game
from comity.testing.contracts import make_player
from comity.training import loop
from comity.training.experiment import Experiment, make_experiment


def stepping(name: str, game: Environment, batch: int, steps: int, peak: float) -> Measurement:
    """Random play: the game, and drawing actions."""
    agent = make_agent("random", game)
    params = make_player(agent, game).params
    occupants = (Occupant(tuple(range(len(game.seats))), agent, params),)
    games = reset(game, occupants, batch, jax.random.key(0))

    def play(games: EnvBatch, key: Key) -> tuple[Array, EnvBatch]:
        played, after = rollout(game, occupants, games, key, steps)
        return jnp.stack(played.step.reward).sum(), after

    return measure(name, play, games, jax.random.key(1), steps=batch * steps, peak=peak)


def training(name: str, experiment: Experiment, peak: float) -> Measurement:
    """One iteration of training."""
    state = eqx.filter_jit(loop.start)(experiment)
    arrays, static = eqx.partition(state, eqx.is_array)

    def iterate(arrays: PyTree) -> PyTree:
        after, metrics = loop.iterate(experiment, eqx.combine(arrays, static))
        return eqx.filter(after, eqx.is_array), metrics

    steps = experiment.batch * experiment.unroll
    return measure(name, iterate, arrays, steps=steps, peak=peak, repeats=3)


def main() -> None:
    """Prints the table and writes benchmarks/results/foundation.json."""
    peak = peak_gflops()
    game = make_game("prisoners-dilemma")
    ppo = make_experiment(game, make_agent("ppo"), batch=2048)
    rows = [
        stepping("stepping, prisoners-dilemma 2048 x 16", game, 2048, 16, peak),
        training("training, ppo gru 64, 2048 x 16", ppo, peak),
    ]
    report("foundation", rows, peak, Path(__file__).parent / "results" / "foundation.json")


if __name__ == "__main__":
    main()
