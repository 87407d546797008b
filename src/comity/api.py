"""The library in a few functions: train, load a player, play a league, grow populations, exploit."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from comity.core.agent import Agent, Player
from comity.core.compilation import use_compilation_cache
from comity.core.errors import ComityError, require
from comity.core.game import Environment, PerSeat
from comity.core.matchmaker import Matchmaker
from comity.evaluate.exploitability import Exploitability, exploitability
from comity.evaluate.league import League, average_seeds, play_league
from comity.play.loading import scripted_player as scripted_player
from comity.play.specs import make_agent, make_game
from comity.training.best_response import learned_response
from comity.training.experiment import Experiment
from comity.training.load import load_player as load_player
from comity.training.options import Options, hook_specs
from comity.training.overrides import changed_experiment
from comity.training.recipes import default_recipe, is_recipe, read_recipe
from comity.training.run import Run
from comity.training.runner import create, run

if TYPE_CHECKING:
    from comity.report.replays import ShownReplay
    from comity.theory.empirical.psro import MetaSolver, Psro
    from comity.training.populations.sweep import SweepResult


SEEDS = ("mean", "each")  # what a folder of seeds is in a league


def train(
    game: Environment | Experiment | str | Path,
    agents: Agent | str | tuple[Agent, ...] | None = None,
    *,
    matchmaker: Matchmaker | None = None,
    out: str | Path | None = None,
    start_from: str | Path | Player | None = None,
    evaluate: Mapping[str, Any] | None = None,
    target: float | None = None,
    target_metric: str = "reward",
    minutes: float | None = None,
    **settings: Any,
) -> Run:
    """Trains agents in a game and returns the run: its players, metrics and folder.

    One agent fills all seats; several fill them one by one. Games and agents may be named, and then what is
    left out is as in the zoo's recipe if there is one: `train("coin", "adalign")`. An experiment, a recipe of
    the zoo (`"zoo:coin/adalign"`) or a file of one needs no agents. `settings` are other settings of the
    experiment, by their names on the command line: `iterations`, `batch`, `seed`, `share`, and with dots in
    their names those of the game and the agent, `**{"agent.term.weight": 3}`.

    Learners begin as the player `start_from`. `evaluate` has the settings of evaluations while training, as
    in `{"every": 50, "against": ["tit-for-tat"]}`. The run ends early when `target_metric` reaches `target`,
    and stops, to be resumed, after `minutes`. Without `out`, the run folder is a temporary one.
    """
    changes = settings if matchmaker is None else {**settings, "matchmaker": matchmaker}
    experiment = _experiment(game, agents, changes)
    options = Options(hooks=hook_specs(evaluate, target, target_metric), minutes=minutes)
    options.check(experiment)
    folder = Path(tempfile.mkdtemp(prefix="comity-")) / "run" if out is None else Path(out)
    return run(create(experiment, folder, "comity.train", start_from), options)


def _experiment(
    game: Environment | Experiment | str | Path,
    agents: Agent | str | tuple[Agent, ...] | None,
    changes: Mapping[str, Any],
) -> Experiment:
    recipe = game if isinstance(game, Experiment) else None
    if agents is None:
        if isinstance(game, Environment) or (isinstance(game, str) and not is_recipe(game)):
            raise ComityError("Training needs a game and at least one agent, or a recipe.")
        recipe = read_recipe(game) if isinstance(game, str | Path) else recipe
    elif isinstance(game, Experiment):
        raise ComityError("An experiment has its agents already: leave them out.")
    elif isinstance(game, str) and isinstance(agents, str):
        recipe = default_recipe(game, agents)
    if recipe is not None:
        return changed_experiment(recipe.game, recipe.agents, recipe, changes)
    assert not isinstance(game, Experiment)
    assert agents is not None
    played = make_game(str(game)) if isinstance(game, str | Path) else game
    learning = make_agent(agents, played) if isinstance(agents, str) else agents
    several = learning if isinstance(learning, tuple) else (learning,)
    return changed_experiment(played, several, None, changes)


def sweep(
    game: Environment | Experiment | str | Path,
    agents: Agent | str | tuple[Agent, ...] | None = None,
    *,
    vary: Mapping[str, Sequence[Any]],
    seeds: int = 1,
    out: str | Path | None = None,
    executor: str = "auto",
    metric: str | None = None,
    minimise: bool = False,
    **settings: Any,
) -> "SweepResult":
    """Trains every combination of the values of some settings, each with several seeds, and compares them.

    `vary` names settings as on the command line: `{"agent.term.weight": [0.5, 1, 2]}`. All else is as in
    `train`. Each run has a folder `OUT/weight=0.5/seed-0`; those that are finished are not repeated.
    """
    from comity.training.populations.sweep import train_sweep

    experiment = _experiment(game, agents, settings)
    folder = Path(tempfile.mkdtemp(prefix="comity-")) / "sweep" if out is None else Path(out)
    return train_sweep(
        experiment,
        vary,
        folder,
        seeds=seeds,
        executor=executor,
        metric=metric,
        minimise=minimise,
        resume=True,
        command="comity.sweep(...)",
    )


def league(
    game: Environment,
    players: Mapping[str, str | Path | Player | PerSeat[Player] | Run] | Sequence[str | Path],
    *,
    episodes: int = 100,
    horizon: int | None = None,
    seed: int = 0,
    deterministic: bool = False,
    seeds: str = "mean",
) -> League:
    """Plays every player against every player and returns what each earns per step.

    Players are given by name: scripted players, run folders, player files, runs or players, or one player
    for each seat. `deterministic` lets everybody do what is most likely. A folder of several seeds is one
    player with intervals over seeds (`seeds="mean"`), or each seed is one (`seeds="each"`).
    """
    require(seeds in SEEDS, "seeds", seeds, " or ".join(SEEDS))
    if not isinstance(players, Mapping):
        players = {Path(source).name: source for source in players}
    everyone: dict[str, PerSeat[Player]] = {}
    kinds: dict[str, list[int]] = {}
    for name, source in players.items():
        folders = seed_folders(source) if isinstance(source, str | Path) else []
        members: dict[str, Any] = {f"{name} {path.name}": path for path in folders} or {name: source}
        kinds[name] = list(range(len(everyone), len(everyone) + len(members)))
        everyone |= {label: _as_players(own, game) for label, own in members.items()}
    found = play_league(game, everyone, episodes, horizon, seed, deterministic)
    several = len(everyone) > len(kinds) and seeds == "mean"
    return average_seeds(found, kinds, seed) if several else found


def seed_folders(source: str | Path) -> list[Path]:
    """The run folders in a folder of several seeds, by their numbers; none if it is not such a folder."""
    path = Path(source)
    if not path.is_dir() or (path / "config.json").is_file():
        return []
    found = [config.parent for config in path.glob("seed-*/config.json")]
    return sorted(found, key=lambda folder: (len(folder.name), folder.name))


def load_players(source: str | Path, game: Environment) -> PerSeat[Player]:
    """Who a source is in each seat of a game: a run with a player per seat gives each seat its own."""
    return tuple(load_player(source, game, seat) for seat in range(len(game.seats)))


def _as_players(source: str | Path | Player | PerSeat[Player] | Run, game: Environment) -> PerSeat[Player]:
    if isinstance(source, Player):
        return (source,) * len(game.seats)
    if isinstance(source, Run):
        return source.players
    return load_players(source, game) if isinstance(source, str | Path) else source


def replay(
    game: Environment | str,
    players: Mapping[str, str | Path | Player | Run] | Sequence[str | Path | Player | Run],
    *,
    steps: int | None = None,
    seed: int = 0,
    episode: int = 0,
    deterministic: bool = False,
) -> "ShownReplay":
    """Plays one episode, which shows itself in a notebook and can be saved: `.save("coin.gif")`.

    Players are as in `league`, in the order of the seats; one alone fills all of them. `steps` ends the
    episode earlier; another number of `episode` is another one.
    """
    from comity.evaluate.replay import replay as played
    from comity.report.replays import ShownReplay

    title = game if isinstance(game, str) else game.family
    game = make_game(game) if isinstance(game, str) else game
    named = (
        players if isinstance(players, Mapping) else {_label(own, i): own for i, own in enumerate(players)}
    )
    count = len(game.seats)
    if len(named) not in (1, count):
        raise ComityError(f"{len(named)} players cannot fill {count} seats: give one, or one for each seat.")
    names = list(named) * (count if len(named) == 1 else 1)
    seated = tuple(_as_players(named[name], game)[seat] for seat, name in enumerate(names))
    shown = [own.partition("#")[0] for own in names]
    found = played(
        game, seated, seed, steps, names=shown, title=title, episode=episode, deterministic=deterministic
    )
    return ShownReplay(found.title, found.seats, found.players, found.horizon, found.moments)


def _label(player: str | Path | Player | Run, number: int) -> str:
    """What a player without a name is called; the number keeps two of one kind apart and is not shown."""
    name = str(player).removeprefix("zoo:") if isinstance(player, str | Path) else ""
    return f"{name}#{number}"


def psro(
    game: Environment,
    agent: Agent,
    *,
    initial: PerSeat[Sequence[str | Path | Player]] | None = None,
    rounds: int = 6,
    tolerance: float = 0.02,
    meta_solver: "MetaSolver | None" = None,
    iterations: int = 300,
    batch: int = 128,
    episodes: int = 256,
    seed: int = 0,
) -> "Psro[Player]":
    """Policy-space response oracles: in each round `agent` learns to answer the others' meta-strategy.

    `initial[s]` are the first players of seat s (players, run folders, player files or names of scripted
    players); by default one untrained learner in each seat. The loop ends when no answer gains more than
    `tolerance` per step. The meta-strategy is a Nash equilibrium, or what `meta_solver` finds.
    """
    from comity.theory.empirical.psro import nash_meta  # game theory is slow to import, so only here
    from comity.training.populations import psro as response_oracles

    use_compilation_cache()
    first = None
    if initial is not None:
        first = tuple([_seated(player, game, s) for player in players] for s, players in enumerate(initial))
    return response_oracles.psro(
        game,
        agent,
        initial=first,
        rounds=rounds,
        tolerance=tolerance,
        meta_solver=nash_meta if meta_solver is None else meta_solver,
        iterations=iterations,
        batch=batch,
        episodes=episodes,
        seed=seed,
    )


def exploit(
    game: Environment,
    player: str | Path | Player | PerSeat[Player],
    agent: Agent,
    *,
    iterations: int = 300,
    batch: int = 128,
    episodes: int = 256,
    seed: int = 0,
) -> Exploitability:
    """What a freshly trained `agent` gains, in each seat, when `player` sits in all the others.

    Where seats differ, `player` may be a tuple: who sits in each.
    """
    use_compilation_cache()
    players = _as_players(player, game)
    respond = learned_response(agent, iterations=iterations, batch=batch)
    return exploitability(game, players, respond, episodes=episodes, seed=seed)


def _seated(source: str | Path | Player, game: Environment, seat: int) -> Player:
    return source if isinstance(source, Player) else load_player(source, game, seat)
