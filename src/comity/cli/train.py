"""`comity train GAME AGENT ...`: trains and leaves a run folder that explains itself."""

import dataclasses
import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import tyro

from comity.agents.registry import agent_class
from comity.core.errors import ComityError, bad_value, require
from comity.core.trust import trust
from comity.core.types import Environment
from comity.games.transforms import ShapedReward, SharedReward
from comity.play.matchmaking import AgentReplayBuffer, SelfPlay
from comity.play.specs import game_class
from comity.train import runner
from comity.train.experiment import Experiment, make_experiment
from comity.train.folder import RunFolder
from comity.train.runner import Options, Run, Stopped
from comity.train.tracking import check_wandb

USAGE = """usage: comity train GAME AGENT [AGENT ...] [options]
       comity train --game GAME AGENT [AGENT ...] [options]
       comity train --resume RUN_FOLDER [--iterations N]

GAME is a name that `comity games` lists, or an environment of others: pettingzoo:MODULE, gymnasium:NAME, or
MODULE:FUNCTION for one of your own.
One AGENT fills all seats of the game, several fill them one by one; scripted players are agents too.
  comity train GAME AGENT --help    every setting of this game and this agent
  comity games, comity agents      what there is"""


@dataclass
class Settings:
    """Trains agents in a game and writes a run folder: config, metrics, checkpoints, trained players."""

    seed: int = 0  # everything random follows from it
    seeds: int = 1  # how many seeds to train, counted up from --seed; each gets a folder OUT/seed-N
    iterations: int = 1000  # rollouts, each followed by an update
    batch: int = 256  # games played side by side
    unroll: int | None = None  # steps played in each iteration; by default the game's horizon
    chunk: int | None = None  # iterations in one compiled call; by default a 200th of all, up to 50
    out: Path | None = None  # the run folder; by default runs/GAME-AGENT-seed-N
    resume: bool = False  # go on with the run in --out if it exists
    opponents: Literal["self-play", "replay"] = "self-play"  # present selves, or past ones from a buffer
    rewards: str = "own"  # own, sum of all, a number (what others' count), or a function MODULE:FUNCTION
    warm_up: int = 0  # steps played at random before training
    share: Literal["auto", "all", "none"] = "auto"  # whether seats share parameters; auto: in symmetric games
    groups: tuple[str, ...] = ()  # groups of seats that share parameters, as in --groups 0,1,2 3
    parallel: Literal["auto", "processes", "vmap"] = "auto"  # how several seeds train at once
    checkpoint_seconds: float = 20.0  # time between two checkpoints
    keep: int = 3  # how many checkpoints are kept
    tensorboard: bool = True  # whether to write TensorBoard event files
    wandb: str | None = None  # project on Weights & Biases (needs comity[wandb])
    json: bool = False  # print one JSON object at the end instead of a summary, and no progress bar


def run(name: str, arguments: list[str]) -> int:
    """Trains."""
    names = []
    if arguments[:1] == ["--game"] and len(arguments) > 1:
        names, arguments = [arguments[1]], arguments[2:]
    while arguments and not arguments[0].startswith("-"):
        names.append(arguments.pop(0))
    if not names and arguments[:1] == ["--resume"]:
        return _resume(arguments[1:])
    if len(names) < 2:
        if not names and (not arguments or arguments[0] in ("-h", "--help")):
            print(USAGE)
            return 0 if arguments else 2
        raise ComityError(f"Training needs a game and at least one agent.\n{USAGE}")
    settings = _parse(names, arguments)
    experiment = _experiment(names, settings)
    command = "comity train " + shlex.join([*names, *arguments])
    options = Options(settings.checkpoint_seconds, settings.keep, settings.tensorboard, settings.wandb)
    _check(options)
    out = settings.out or _free_folder(Path("runs"), f"{names[0]}-{'-'.join(names[1:])}", settings)
    if settings.seeds > 1:
        return _train_seeds(experiment, settings, out, options, command)
    folder = _open(out, experiment, settings.resume, command)
    return _train(folder, experiment, options, settings.json)


def _check(options: Options) -> None:
    """Refuses options that cannot be carried out, before a run folder exists or is touched."""
    require(options.keep >= 1, "keep", options.keep, "at least 1")
    seconds = options.checkpoint_seconds
    require(seconds >= 0, "checkpoint_seconds", seconds, "at least 0")
    check_wandb(options.wandb)


def _parse(names: list[str], arguments: list[str]) -> Any:
    """The settings together with those of this game and these agents."""
    game, given = game_class(names[0])
    make = partial(game, **given)
    family = make().family
    fields: list[tuple[str, Any, Any]] = [("game", game, field(default_factory=make))]
    for i, agent in enumerate(names[1:]):
        cls = agent_class(agent, family)
        if dataclasses.fields(cls):
            label = "agent" if i == 0 else f"agent{i + 1}"
            fields.append((label, cls, field(default_factory=cls)))
    fields.append(("replay", AgentReplayBuffer, field(default_factory=AgentReplayBuffer)))
    # A field, not a base class: the comments of a class made here would not be found for the help.
    fields.insert(0, ("own", Annotated[Settings, tyro.conf.arg(name="")], field(default_factory=Settings)))
    together = dataclasses.make_dataclass("Together", fields)
    together.__doc__ = Settings.__doc__
    parsed: Any = tyro.cli(together, args=arguments, prog=f"comity train {' '.join(names)}")
    return SimpleNamespace(**vars(parsed.own), **vars(parsed))


def _experiment(names: list[str], settings: Any) -> Experiment:
    agents = []
    for i, agent in enumerate(names[1:]):
        label = "agent" if i == 0 else f"agent{i + 1}"
        agents.append(getattr(settings, label, None) or agent_class(agent, settings.game.family)())
    require(settings.seeds >= 1, "seeds", settings.seeds, "at least 1")
    if not any(agent.learns for agent in agents):
        raise ComityError(
            f"None of these agents learns. To let scripted players meet: comity league {' '.join(names)}"
        )
    return make_experiment(
        _with_rewards(settings.game, settings.rewards),
        tuple(agents),
        share={"auto": None, "all": True, "none": False}[settings.share],
        groups=tuple(_seats(group) for group in settings.groups),
        matchmaker=settings.replay if settings.opponents == "replay" else SelfPlay(),
        iterations=settings.iterations,
        batch=settings.batch,
        unroll=settings.unroll,
        chunk=settings.chunk,
        seed=settings.seed,
        warm_up=settings.warm_up,
    )


def _seats(group: str) -> tuple[int, ...]:
    try:
        return tuple(int(seat) for seat in group.split(","))
    except ValueError:
        raise bad_value("groups", group, "numbers of seats with commas between them, as in 0,1,2") from None


def _with_rewards(game: Environment, rewards: str) -> Environment:
    if rewards == "own":
        return game
    if rewards == "sum":
        return SharedReward(game=game, others=1.0)
    if ":" in rewards:
        trust(rewards)
        return ShapedReward(game=game, function=rewards)
    try:
        return SharedReward(game=game, others=float(rewards))
    except ValueError:
        raise bad_value("rewards", rewards, "own, sum, a number or MODULE:FUNCTION") from None


def _free_folder(base: Path, name: str, settings: Any) -> Path:
    """A folder that does not exist yet; the run's own one if it is to be resumed."""
    stem = name if settings.seeds > 1 else f"{name}-seed-{settings.seed}"
    path = base / stem
    number = 2
    while path.exists() and not settings.resume:
        path = base / f"{stem}-{number}"
        number += 1
    return path


def _open(out: Path, experiment: Experiment, resume: bool, command: str) -> RunFolder:
    if not (resume and out.exists()):
        return runner.create(experiment, out, command)
    folder = RunFolder.open(out)
    folder.require_same(experiment)
    return folder


def _resume(arguments: list[str]) -> int:
    @dataclass
    class Resume:
        """Goes on with a run."""

        folder: tyro.conf.Positional[Path]  # the run folder
        iterations: int | None = None  # train up to this many iterations instead
        checkpoint_seconds: float | None = None  # time between two checkpoints; by default as before
        keep: int | None = None  # how many checkpoints are kept; by default as before
        tensorboard: bool | None = None  # whether to write TensorBoard event files; by default as before
        wandb: str | None = None  # project on Weights & Biases; by default as before
        json: bool = False  # print one JSON object at the end, and no progress bar

    options = tyro.cli(Resume, args=arguments, prog="comity train --resume")
    folder = RunFolder.open(options.folder)
    changed = {field.name: getattr(options, field.name) for field in dataclasses.fields(Options)}
    changed = {name: value for name, value in changed.items() if value is not None}
    carried_out = dataclasses.replace(Options.of(folder), **changed)
    _check(carried_out)
    experiment = folder.experiment()
    if options.iterations is not None:
        from comity.core.files import write_json

        done = max((int(path.stem) for path in folder.checkpoints()), default=0)
        require(
            options.iterations >= done, "iterations", options.iterations, f"at least the {done} already done"
        )
        experiment = dataclasses.replace(experiment, iterations=options.iterations)
        write_json(folder.path / "config.json", experiment.to_data())
    return _train(folder, experiment, carried_out, options.json)


def _train(folder: RunFolder, experiment: Experiment, options: Options, as_json: bool) -> int:
    from comity.cli.progress import Progress

    with Progress({experiment.seed: folder.path.name}, experiment.iterations, quiet=as_json) as progress:
        try:
            result = runner.run(folder, options, lambda i, m: progress.update(experiment.seed, i, m))
        except Stopped:
            print(f"stopped and saved; go on with: comity train --resume {folder.path}", file=sys.stderr)
            return 130
    _print_result(result, as_json)
    return 0


def _train_seeds(experiment: Experiment, settings: Any, out: Path, options: Options, command: str) -> int:
    from comity.cli.progress import Progress
    from comity.train.seeds import train_seeds

    if out.exists() and not settings.resume:
        raise ComityError(f"{out} exists already: choose another --out, or go on with it by --resume.")
    seeds = tuple(range(settings.seed, settings.seed + settings.seeds))
    names = {seed: f"seed {seed}" for seed in seeds}
    with Progress(names, experiment.iterations, quiet=settings.json) as progress:
        report: Callable[[int, int, dict[str, float]], None] = progress.update
        try:
            folders = train_seeds(experiment, seeds, out, options, settings.parallel, command, report)
        except (Stopped, KeyboardInterrupt):
            again = command if settings.resume else f"{command} --resume"
            print(f"stopped and saved; go on with: {again}", file=sys.stderr)
            return 130
    results = [{"folder": str(path), **_last(RunFolder(path).metrics())} for path in folders]
    if settings.json:
        print(json.dumps(results))
    else:
        for result in results:
            print(f"{result['folder']}: " + _format(result))
        print(f"look: comity report {out}")
    return 0


def _print_result(result: Run, as_json: bool) -> None:
    last = _last(result.metrics)
    if as_json:
        print(json.dumps({"folder": str(result.folder), **last}))
    else:
        print(f"{result.folder}: " + _format(last))
        print(f"look: comity report {result.folder}")


def _last(metrics: list[dict[str, Any]]) -> dict[str, Any]:
    return metrics[-1] if metrics else {}


def _format(row: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in row.items()
        if name != "folder"
    )
