"""The demo: who cooperates, who is exploited, and who is not, in the iterated prisoner's dilemma.

Trains three learners with shared parameters in self-play, plays them in a league with scripted strategies,
lets trained players of the zoo meet in the Coin Game, prints the tables and writes one HTML page, which it
opens where there is a screen. Adding a learner is one entry in LEARNERS.

    python experiments/prisoners_dilemma/demo.py [FOLDER]
"""

import os
import shutil
import sys
import time
import webbrowser
from pathlib import Path

import jax

from comity.api import load_player, replay, scripted_player
from comity.cli.league import print_league
from comity.cli.progress import Progress
from comity.core.agent import Agent, Player
from comity.core.files import write_atomically
from comity.core.game import Environment
from comity.evaluate.behaviour import behaviour
from comity.evaluate.league import League, play_league
from comity.games.transforms import SharedReward
from comity.play.specs import make_agent, make_game
from comity.report import html, sections
from comity.training.experiment import make_experiment
from comity.training.options import Options
from comity.training.run import Run
from comity.training.runner import create, run, versions

GAME = make_game("prisoners-dilemma")
NAIVE = make_agent(
    "a2c",
    GAME,
    **{
        "network": "tabular",
        "optimiser.learning_rate": 0.05,
        "schedule.final_entropy": 0.1,
    },
    discount=0.9,
    entropy_coef=0.5,
)
ALIGNED = make_agent(
    "adalign",
    GAME,
    **{
        "term.weight": 1.0,
        "term.opponent_lambda": 0.0,
        "learner.network": "tabular",
        "learner.critic.kind": "action-value",
        "learner.critic.learning_rate": 3e-2,
        "learner.critic.td_lambda": 0.0,
        "learner.critic.target_tau": 0.01,
        "learner.optimiser.learning_rate": 5e-3,
        "learner.optimiser.max_grad_norm": 10.0,
        "learner.schedule.decay_from": 0.75,
        "learner.schedule.final_entropy": 0.1,
        "learner.discount": 0.9,
        "learner.gae_lambda": 0.0,
        "learner.entropy_coef": 0.15,
    },
)

# name: agent, game, iterations
LEARNERS: dict[str, tuple[Agent, Environment, int]] = {
    "naive": (NAIVE, GAME, 2000),
    "naive, shared reward": (NAIVE, SharedReward(game=GAME), 2000),
    "adalign": (ALIGNED, GAME, 5000),
}
STRATEGIES = ("always-cooperate", "always-defect", "tit-for-tat", "grim-trigger", "random")

COIN = make_game("coin")
COLLECTORS = {
    "AdAlign": "zoo:coin/adalign/0",
    "LOQA": "zoo:coin/loqa/0",
    "always-cooperate": "always-cooperate",
    "always-defect": "always-defect",
}
SHOWN = 25  # steps of a replay


def train(name: str, out: Path) -> Run:
    """Trains one learner with seed 0."""
    agent, game, iterations = LEARNERS[name]
    experiment = make_experiment(game, agent, iterations=iterations, batch=128, chunk=50)
    folder = create(experiment, out / name.replace(", ", "-").replace(" ", "-"), "make demo")
    with Progress({0: f"{name:<22}"}, iterations) as progress:
        return run(folder, Options(), lambda i, metrics: progress.update(0, i, metrics))


def verdict(league: League, name: str) -> str:
    """What a player's row says."""
    i, worst = league.players.index(name), league.players.index("always-defect")
    together = league.mean[i, i]
    loss = league.mean[worst, i] - league.mean[i, worst]
    peace = "cooperates with its own kind" if together > -1.2 else "does not cooperate"
    defence = "is exploited by always-defect" if loss > 0.5 else "is not exploited by always-defect"
    return f"{peace} ({together:.2f} per step), {defence} (it earns {loss:+.2f} more)"


def summary(league: League, names: list[str]) -> str:
    """Two sentences: who cooperates without being exploited, and what the others lack."""
    worst = league.players.index("always-defect")
    kinds = {}
    for name in names:
        i = league.players.index(name)
        kinds[name] = (league.mean[i, i] > -1.2, league.mean[worst, i] - league.mean[i, worst] <= 0.5)
    both = [name for name, (peace, defence) in kinds.items() if peace and defence]
    kind = [name for name, (peace, defence) in kinds.items() if peace and not defence]
    firm = [name for name, (peace, defence) in kinds.items() if not peace]
    first = f"{' and '.join(both) or 'None of them'} cooperates with its own kind and is not exploited."
    rest = [f"{' and '.join(kind)} cooperates and is exploited"] if kind else []
    rest += [f"{' and '.join(firm)} does not cooperate"] if firm else []
    return f"{first} {'; '.join(rest)}." if rest else first


def coin_game(out: Path) -> tuple[League, list[str]]:
    """Trained players of the zoo in the Coin Game: their league, and its part of the page, with replays."""
    players = {name: load_player(source, COIN) for name, source in COLLECTORS.items()}
    league = play_league(COIN, players, episodes=50)
    league.save(out / "coin-league.json")
    figures = []
    for other in ("AdAlign", "always-defect"):
        episode = replay(COIN, {"AdAlign": players["AdAlign"], other: players[other]}, steps=SHOWN)
        episode.save(out / f"coin-against-{other}.gif")
        figures.append(html.figure(episode._repr_html_(), f"AdAlign and {other}: {SHOWN} steps."))
    note = (
        "Trained players of the zoo. A coin pays 1 to whoever takes it; taking the other's costs the other "
        "2. With its own kind AdAlign leaves the other's coins, and it answers always-defect, who takes all."
    )
    parts = [html.section("The Coin Game", html.paragraph(note), html.side_by_side(*figures))]
    return league, [
        *parts,
        sections.league_section(league, "The same players head to head in the Coin Game."),
    ]


def show(page: Path) -> None:
    """Says where to look, and opens the page where there is a screen."""
    print(f"\nLook at {page.resolve()}")
    print(f"and at {page.parent / 'coin-against-always-defect.gif'}")
    print(f"With pip install '.[ui]', comity ui {page.parent} shows all of it in a browser.")
    screen = sys.platform == "darwin" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    if screen and not os.environ.get("CI"):
        webbrowser.open(page.resolve().as_uri())


def main() -> None:
    """Trains, plays, prints and writes the page."""
    started = time.monotonic()
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "demo")
    shutil.rmtree(out, ignore_errors=True)
    runs = {name: train(name, out) for name in LEARNERS}
    players: dict[str, Player] = {name: result.players[0] for name, result in runs.items()}
    everyone = players | {name: scripted_player(name, GAME) for name in STRATEGIES}
    league = play_league(GAME, everyone, episodes=200)
    league.save(out / "league.json")
    print_league(league)
    for name in players:
        print(f"- {name}: {verdict(league, name)}")
    coins, coin_parts = coin_game(out)
    print("\nThe Coin Game, trained players of the zoo")
    print_league(coins)
    seen = {name: behaviour(GAME, p, p, jax.random.key(0), tremble=0.05) for name, p in players.items()}
    curves = {name: [result.metrics] for name, result in runs.items()}
    page = html.page(
        "Who cooperates, who is exploited?",
        summary(league, list(players)),
        [
            html.side_by_side(
                html.table(["learner", "what it does"], [[n, verdict(league, n)] for n in players]),
                sections.curve_tabs(curves, "reward", name="first"),
            ),
            sections.league_section(league),
            *coin_parts,
            sections.behaviour_section(
                {name: found for name, found in seen.items() if found is not None},
                "Measured against copies of itself, with 5% of all actions replaced by random ones.",
            ),
            sections.curves_section(curves),
            sections.settings_section({name: r.experiment.to_data() for name, r in runs.items()}),
            sections.repeat_section(["make demo"], versions()),
        ],
        "Three learners in the iterated prisoner's dilemma: mutual cooperation pays -1 per step, mutual "
        "defection -2, and who cooperates alone gets -3. All rewards shown are the game's own.",
    )
    write_atomically(out / "report.html", page.encode())
    print(f"\n{time.monotonic() - started:.0f} seconds")
    show(out / "report.html")


if __name__ == "__main__":
    main()
