"""`comity sweep GAME AGENT --vary SETTING VALUE ...`: every combination of some settings, with seeds."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from comity.cli.progress import Progress
from comity.cli.train import folder_name, free_folder
from comity.cli.train_settings import experiment_of, options_of, parse
from comity.core.errors import ComityError
from comity.core.files import write_atomically
from comity.evaluate.comparison import ranked
from comity.evaluate.groups import game_name
from comity.report.verdicts import interval, number, words
from comity.training.executors.registry import with_address
from comity.training.jobs import Job
from comity.training.populations.sweep import SweepResult, read_values, train_sweep
from comity.training.recipes import is_recipe

USAGE = """usage: comity sweep GAME AGENT --vary SETTING VALUE [VALUE ...] [--vary ...] [--seeds N] [options]
       comity sweep zoo:GAME/AGENT | EXPERIMENT.json | EXPERIMENT.toml --vary SETTING VALUE ... [options]

Trains every combination of the values with every seed, each in a run folder OUT/SETTING=VALUE/seed-N, and
writes OUT/sweep.json, OUT/sweep.html and OUT/sweep.svg. SETTING is any of `comity train GAME AGENT --help`:
agent.term.weight, agent.network, game.horizon, rewards, batch. The same command with --resume goes on
where it stopped.
  --vary SETTING VALUE ...   a setting and its values; several of them make a grid
  --metric NAME              what is compared; by default an evaluation or the reward per step
  --minimise                 less of the metric is better
  all options of comity train: --seeds, --out, --executor, --iterations, --json, ..."""


def run(name: str, arguments: list[str]) -> int:
    """Sweeps."""
    typed = list(arguments)
    names = []
    while arguments and not arguments[0].startswith("-"):
        names.append(arguments.pop(0))
    if "-h" in arguments or "--help" in arguments or not (names or arguments):
        print(USAGE)
        return 0 if arguments else 2
    if len(names) < 2 and not (names and is_recipe(names[0])):
        raise ComityError(f"A sweep needs a game and at least one agent, or a recipe.\n{USAGE}")
    vary, metric, minimise, rest = _take(arguments)
    settings = parse(names, rest)
    if settings.population is not None:
        raise ComityError("A sweep is a population itself: leave --population out.")
    experiment = experiment_of(names, settings)
    options = options_of(settings, experiment)
    command = "comity sweep " + shlex.join(typed)
    out = settings.out or free_folder(Path("runs"), f"{folder_name(names)}-sweep", settings)
    with Progress({}, experiment.iterations, quiet=settings.json) as progress:

        def report(job: Job, iteration: int, metrics: dict[str, float]) -> None:
            progress.update(job.name, iteration, metrics, job.experiment.iterations)

        try:
            found = train_sweep(
                experiment,
                vary,
                out,
                seeds=settings.seeds,
                executor=with_address(settings.executor, settings.address),
                options=options,
                metric=metric,
                minimise=minimise,
                resume=settings.resume,
                command=command,
                report=report,
            )
        except KeyboardInterrupt:
            again = command if settings.resume else f"{command} --resume"
            place = "" if settings.out else f" --out {shlex.quote(str(out))}"
            print(f"stopped and saved; go on with: {again}{place}", file=sys.stderr)
            return 130
    write_page(found)
    if settings.json:
        print(json.dumps({**found.to_data(), "page": str(out / "sweep.html")}))
    else:
        print_sweep(found)
        print(out / "sweep.html")
    return 0


def write_page(found: SweepResult) -> None:
    """Writes the page and the picture into the folder of the sweep."""
    from comity.report.svg import as_file
    from comity.report.sweep import sweep_picture

    picture = sweep_picture(found.vary, found.points, found.scores, found.metric, found.best)
    write_atomically(found.folder / "sweep.svg", as_file(picture))
    write_atomically(found.folder / "sweep.html", sweep_html(found).encode())


def sweep_html(found: SweepResult) -> str:
    """The page about a sweep."""
    from comity.report.sweep import sweep_page

    agents = " + ".join(dict.fromkeys(agent["name"] for agent in found.config["agents"]))
    return sweep_page(
        f"{agents} in {game_name(found.config)} by {', '.join(found.vary)}",
        found.vary,
        found.points,
        found.scores,
        found.rows,
        found.metric,
        found.minimise,
        found.failed,
        found.config,
        found.command or "comity.sweep(...)",
    )


def print_sweep(found: SweepResult) -> None:
    """The table, the best first, and the verdict."""
    from comity.report.sweep import sweep_verdict

    table = Table(title=f"final {words(found.metric)} [95% interval over seeds]")
    for heading in found.vary:
        table.add_column(heading)
    table.add_column("mean", justify="right")
    table.add_column("seeds", justify="right")
    for score in ranked(found.scores, found.minimise):
        point = found.points[found.scores.index(score)]
        runs = " ".join(number(x) for x in score.runs)
        table.add_row(*(str(point[name]) for name in found.vary), interval(score.mean), runs)
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    print(sweep_verdict(found.points, found.scores, found.metric, found.minimise))
    for name, why in found.failed.items():
        print(f"{name} failed: {why}", file=sys.stderr)


def _take(arguments: list[str]) -> tuple[dict[str, list[Any]], str | None, bool, list[str]]:
    """What varies, the metric, whether less is better, and the arguments that training takes."""
    vary: dict[str, list[Any]] = {}
    metric, minimise, rest = None, False, []
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word in ("--vary", "--metric"):
            given: list[str] = []
            while words and not words[0].startswith("--") and (word == "--vary" or not given):
                given.append(words.pop(0))
            if word == "--metric":
                if not given:
                    raise ComityError("--metric needs a name, as in --metric reward.")
                metric = given[0]
            elif len(given) < 2:
                raise ComityError(
                    "--vary needs a setting and its values, as in --vary agent.discount 0.9 0.99."
                )
            elif given[0].replace("-", "_") in vary:
                raise ComityError(f"--vary {given[0]} is given twice: name all its values once.")
            else:
                vary[given[0].replace("-", "_")] = read_values(given[1:])
        elif word == "--minimise":
            minimise = True
        else:
            rest.append(word)
    if not vary:
        raise ComityError("A sweep needs --vary SETTING VALUE ..., as in --vary agent.discount 0.9 0.99.")
    return vary, metric, minimise, rest
