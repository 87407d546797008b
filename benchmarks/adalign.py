"""Advantage Alignment: an iteration of Coin Game training, 512 x 50 with a GRU of 64, and a league.

The published code takes 2.15 CPU-seconds per iteration on a core that does 84 GFLOP per CPU-second on a
large matrix product, which is 180 GFLOP-equivalents.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import time
from pathlib import Path

from foundation import stepping, training
from harness import Measurement, peak_gflops, report

from comity.evaluate.league import play_league
from comity.play.specs import make_agent, make_game
from comity.play.zoo import zoo_recipe
from comity.testing.contracts import make_player
from comity.training.experiment import Experiment

PUBLISHED = 180.0


def main() -> None:
    """Prints the table and writes benchmarks/results/adalign.json."""
    peak = peak_gflops()
    game = make_game("coin")
    recipe = Experiment.from_data(zoo_recipe("coin", "adalign"))
    iteration = training("training, coin 512 x 50, the zoo's recipe", recipe, peak)
    rows = [stepping("stepping, coin 512 x 50", game, 512, 50, peak), iteration, league()]
    report("adalign", rows, peak, Path(__file__).parent / "results" / "adalign.json")
    cost = iteration.seconds * peak
    print(
        f"an iteration costs {cost:.0f} GFLOP-equivalents, the published code's 180: 1/{PUBLISHED / cost:.1f}"
    )


def league() -> Measurement:
    """Ten GRU players, every one against every one, 50 episodes of 16 steps a pair."""
    game = make_game("coin", horizon=16)
    agent = make_agent("adalign", game)
    players = {f"player {i}": make_player(agent, game, seed=i) for i in range(10)}
    begun = time.process_time()
    play_league(game, players, episodes=50)
    first = time.process_time() - begun
    begun = time.process_time()
    play_league(game, players, episodes=50, seed=1)
    second = time.process_time() - begun
    return Measurement("league of 10 GRU players, 50 x 16", first - second, second, 100 * 50 * 16 / second)


if __name__ == "__main__":
    main()
