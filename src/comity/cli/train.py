"""`comity train GAME AGENT ...`: trains and leaves a run folder that explains itself."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

from comity.cli.game_help import help_for_game
from comity.cli.progress import Progress, shown
from comity.cli.resume import resume
from comity.cli.train_settings import experiment_of, options_of, parse
from comity.core.errors import ComityError, require
from comity.play.zoo import PREFIX
from comity.training.executors.registry import make_executor, with_address
from comity.training.experiment import Experiment
from comity.training.folder import RunFolder
from comity.training.jobs import Job
from comity.training.memory_estimate import estimate_memory
from comity.training.options import Options
from comity.training.populations.base import Population, train_population
from comity.training.populations.registry import make_population
from comity.training.populations.seeds import Seeds
from comity.training.recipes import is_recipe
from comity.training.run import Run
from comity.training.runner import create, open_or_create
from comity.training.stopping import Stopped
from comity.training.warm_start import start_policies

USAGE = """usage: comity train GAME AGENT [AGENT ...] [options]
       comity train zoo:GAME/AGENT | EXPERIMENT.json | EXPERIMENT.toml [options]
       comity train --resume RUN_FOLDER [--iterations N]   (or a folder of seeds)

GAME is a name that `comity games` lists, a game of your own as MODULE:CLASS, or a third-party environment:
pettingzoo:MODULE, gymnasium:NAME, or MODULE:FUNCTION for one of your own.
One AGENT fills all seats of the game, several fill them one by one; scripted players are agents too, and
MODULE:CLASS is one of your own. Where the zoo has a recipe for an agent in a game, its settings are the
defaults.
A recipe of the zoo, or a file that describes an experiment, is trained as it stands, or with other settings
where options give them.
  comity train GAME AGENT --help    every setting of this game and this agent
  comity train GAME AGENT --agent.network mlp --help    the same with another network
  comity games, comity agents      what there is"""


def run(name: str, arguments: list[str]) -> int:
    """Trains."""
    names = []
    if arguments[:1] == ["--game"] and len(arguments) > 1:
        names, arguments = [arguments[1]], arguments[2:]
    while arguments and not arguments[0].startswith("-"):
        names.append(arguments.pop(0))
    if not names and arguments[:1] == ["--resume"]:
        found, settings = resume(arguments[1:])
        jobs = [Job(folder.experiment(), folder, own) for folder, own in found]
        if len(jobs) == 1:
            return train_one(jobs[0], with_address(settings.executor, settings.address), settings.json)
        return train_again(jobs, settings)
    if len(names) == 1 and not is_recipe(names[0]) and {"-h", "--help"} & set(arguments):
        return help_for_game(names[0])
    if len(names) < 2 and not (names and is_recipe(names[0])):
        if not names and (not arguments or arguments[0] in ("-h", "--help")):
            print(USAGE)
            return 0 if arguments else 2
        raise ComityError(
            "Training needs a game and at least one agent, as in comity train coin ppo: comity train --help "
            "says more."
        )
    settings = parse(names, arguments)
    experiment = experiment_of(names, settings)
    options = options_of(settings, experiment)
    settings.executor = with_address(settings.executor, settings.address)
    executor = make_executor(settings.executor)  # one that does not exist is refused before there is a folder
    if settings.dry_run:
        return dry_run(experiment, settings)
    command = "comity train " + shlex.join([*names, *arguments])
    out = settings.out or free_folder(Path("runs"), folder_name(names), settings)
    if settings.population is not None:
        require(
            settings.seeds == 1, "seeds", settings.seeds, "1 with --population, which says what is trained"
        )
        population = make_population(settings.population)
        return train_together(population, experiment, settings, out, options, command)
    if settings.seeds > 1:
        seeds = Seeds(tuple(range(settings.seed, settings.seed + settings.seeds)))
        return train_together(seeds, experiment, settings, out, options, command)
    begin = open_or_create if settings.resume else create
    executor.check()
    folder = begin(experiment, out, command, settings.start_from)
    return train_one(Job(experiment, folder, options), settings.executor, settings.json)


def train_one(job: Job, executor: str, as_json: bool) -> int:
    """Trains one run and prints what came out."""
    assert job.folder is not None
    seed, path = job.experiment.seed, job.folder.path
    with Progress({seed: path.name}, job.experiment.iterations, quiet=as_json) as progress:
        try:
            (done,) = make_executor(executor).run([job], lambda _, i, m: progress.update(seed, i, m))
        except Stopped:
            again = shlex.join(["comity", "train", "--resume", str(path)])
            print(f"stopped and saved; go on with: {again}", file=sys.stderr)
            return 130
    result = _result(done)
    _say_if_stopped(done, as_json)
    look = f"look: comity report {shlex.quote(str(path))}"
    print(json.dumps(result) if as_json else f"{path}: {_summary(result)}\n{look}")
    return 0


def train_together(
    population: Population, experiment: Experiment, settings: Any, out: Path, options: Options, command: str
) -> int:
    """Trains a population and prints what came out of each run."""
    if not settings.resume and out.exists() and not _all_free(out):
        raise ComityError(f"{out} exists already: choose another --out, or go on with it by --resume.")
    seeds = getattr(population, "seeds", ())
    names: dict[int | str, str] = {f"seed-{seed}": f"seed {seed}" for seed in seeds}
    executor = make_executor(settings.executor, max(len(names), 2))
    with Progress(names, experiment.iterations, quiet=settings.json) as progress:

        def report(job: Job, iteration: int, metrics: dict[str, float]) -> None:
            progress.update(job.name, iteration, metrics, job.experiment.iterations)

        try:
            runs = train_population(
                population, experiment, executor, out, options, command, report, settings.start_from
            )
        except KeyboardInterrupt:
            again = command if settings.resume else f"{command} --resume"
            print(f"stopped and saved; go on with: {again}", file=sys.stderr)
            return 130
    return _print_results(list(population.outcome(runs).values()), out, settings.json)


def train_again(jobs: list[Job], settings: Any) -> int:
    """Goes on with all runs of a folder and prints what came out of each."""
    names: dict[int | str, str] = {job.name: job.name for job in jobs}
    with Progress(names, max(job.experiment.iterations for job in jobs), quiet=settings.json) as progress:

        def report(job: Job, iteration: int, metrics: dict[str, float]) -> None:
            progress.update(job.name, iteration, metrics, job.experiment.iterations)

        try:
            executor = make_executor(with_address(settings.executor, settings.address), len(jobs))
            runs = executor.run(jobs, report)
        except KeyboardInterrupt:
            again = shlex.join(["comity", "train", "--resume", str(settings.folder)])
            print(f"stopped and saved; go on with: {again}", file=sys.stderr)
            return 130
    return _print_results(runs, settings.folder, settings.json)


def dry_run(experiment: Experiment, settings: Any) -> int:
    """Says what would be trained and what memory it would take; refuses what would be refused."""
    memory = estimate_memory(experiment)
    if settings.start_from is not None:
        start_policies(experiment, settings.start_from)
    if settings.json:
        print(json.dumps({"experiment": experiment.to_data(), "memory": memory.to_data()}))
    else:
        agents = ", ".join(dict.fromkeys(type(agent).__name__ for agent in experiment.agents))
        steps = f"{experiment.iterations} iterations of {experiment.batch * experiment.unroll:,} steps"
        print(f"{agents} in {type(experiment.game).__name__}: {steps}")
        print(f"{memory}, and what the networks compute in between")
    memory.check(experiment)
    return 0


def _print_results(runs: list[Run], out: Path, as_json: bool) -> int:
    results = [_result(done) for done in runs]
    if as_json:
        print(json.dumps(results))
        return 0
    for done, result in zip(runs, results, strict=True):
        print(f"{result['folder']}: {_summary(result)}")
        _say_if_stopped(done, as_json)
    print(f"look: comity report {shlex.quote(str(out))}")
    return 0


def _say_if_stopped(done: Run, as_json: bool) -> None:
    """How to go on with a run that was stopped before its end, as by --minutes."""
    known = RunFolder(done.folder).metadata()
    if known.get("status") == "stopped" and not as_json:
        again = shlex.join(["comity", "train", "--resume", str(done.folder)])
        print(f"stopped ({known.get('reason')}) and saved; go on with: {again}", file=sys.stderr)


def folder_name(names: list[str]) -> str:
    """What the folder of a run is called by default."""
    if names[0].startswith(PREFIX):
        return names[0].removeprefix(PREFIX).replace("/", "-")
    return Path(names[0]).stem if is_recipe(names[0]) else "-".join(names)


def free_folder(base: Path, name: str, settings: Any) -> Path:
    """A folder that does not exist yet; the run's own one if it is to be resumed."""
    stem = name if settings.seeds > 1 or settings.population else f"{name}-seed-{settings.seed}"
    path = base / stem
    number = 2
    while path.exists() and not settings.resume:
        path = base / f"{stem}-{number}"
        number += 1
    return path


def _all_free(out: Path) -> bool:
    """Whether a folder of runs has only runs that ended before their first chunk."""
    return out.is_dir() and all(RunFolder.is_free(path) for path in out.iterdir())


def _result(done: Run) -> dict[str, Any]:
    rows = done.metrics
    return {"folder": str(done.folder), **(rows[-1] if rows else {})}


def _summary(result: dict[str, Any]) -> str:
    """How far a run came, how fast, and what it earns; all of it is in --json and in the folder."""
    if "iteration" not in result:
        return "nothing was trained"
    parts = [f"{result['iteration']} iterations"]
    if "steps" in result:
        parts.append(f"{result['steps']:,} steps")
    if result.get("seconds"):
        speed = result.get("steps", 0) / result["seconds"]
        parts.append(f"{result['seconds']:.1f} s ({speed:,.0f} steps/s with compilation)")
    return ", ".join([*parts, shown(result)])
