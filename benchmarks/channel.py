"""What a channel costs: steps of training per CPU-second with and without one, and by the number of seats."""

from pathlib import Path
from typing import Any

from harness import measure, peak_gflops, report

from comity.games.transforms import Channel, Symbols, Vector
from comity.play.specs import make_agent, make_game
from comity.training import loop
from comity.training.experiment import make_experiment

HERE = Path(__file__).parent
SEATS = (2, 8, 32, 128)
BATCH, UNROLL = 16, 8


def trained(game: Any) -> Any:
    """One iteration of PPO with a perceptron of 32 units, shared by all seats."""
    agent = make_agent("ppo", network="mlp", **{"network.width": 32, "critic.network": "mlp"})
    return make_experiment(game, agent, share=True, iterations=1, batch=BATCH, unroll=UNROLL)


def main() -> None:
    """Prints the table and writes benchmarks/results/channel.json: public goods, silent and with talk."""
    peak = peak_gflops()
    found = []
    for seats in SEATS:
        inner = make_game("public-goods", players=seats, horizon=UNROLL)
        games = {
            "silent": inner,
            "symbols": Channel(game=inner, message=Symbols(vocabulary=4)),
            "vector": Channel(game=inner, message=Vector(length=2)),
        }
        for name, game in games.items():
            experiment = trained(game)
            found.append(
                measure(
                    f"ppo, {seats} seats, {name}",
                    lambda state, own=experiment: loop.advance(own, state, 1)[0],
                    loop.start(experiment),
                    steps=BATCH * UNROLL,
                    peak=peak,
                )
            )
    report("channel", found, peak, HERE / "results" / "channel.json")


if __name__ == "__main__":
    main()
