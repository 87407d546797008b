"""What `comity train` takes: settings of the experiment, the run, the game and the agents."""

import dataclasses
import shlex
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import tyro

from comity.cli.choices import choose
from comity.cli.matchmakers import DEFAULT, Name, matchmaker_fields, parsed_matchmaker
from comity.cli.parser import parse_arguments
from comity.core.agent import Agent
from comity.core.errors import ComityError, bad_value, require
from comity.core.game import Environment
from comity.core.trust import trust
from comity.play.matchmaking import SelfPlay
from comity.play.specs import game_class, matchmaker_data, named_agent_class
from comity.play.zoo import PREFIX
from comity.training.experiment import SIZES, Experiment, make_experiment
from comity.training.named import name_in
from comity.training.options import Options, hook_specs
from comity.training.overrides import (
    agent_label,
    fitting_matchmaker,
    with_channel,
    with_rewards,
    with_transform,
)
from comity.training.recipes import default_recipe, is_recipe, read_recipe
from comity.training.sharding import make_devices


@dataclass
class ExperimentSettings:
    """What is trained."""

    seed: int = 0  # everything random follows from it
    iterations: int = 1000  # rollouts, each followed by an update
    schedule_iterations: int | None = None  # over how many iterations schedules run; by default all
    batch: int = 256  # games played side by side
    unroll: int | None = None  # steps played in each iteration; by default the game's horizon
    chunk: int | None = None  # iterations in one compiled call; by default a 200th of all, up to 50
    opponents: Name = DEFAULT  # who meets whom; its settings are --opponents.SETTING
    warm_up: int = 0  # steps played at random before training
    share: Literal["auto", "all", "none"] = "auto"  # whether seats share parameters; auto: in symmetric games
    groups: tuple[str, ...] = ()  # groups of seats that share parameters, as in --groups 0,1,2 3


@dataclass
class TransformSettings:
    """What is made of the game."""

    transforms: tuple[str, ...] = ()  # games made of this one, in order: contract gifting,amount=0.5
    channel: str | None = None  # seats talk: symbols or vector, with settings: symbols,vocabulary=4,noise=0.1
    rewards: str | None = None  # own (the default), sum of all, what others' count, or MODULE:FUNCTION


@dataclass
class RunSettings:
    """How it is carried out."""

    seeds: int = 1  # how many seeds to train, counted up from --seed; each gets a folder OUT/seed-N
    out: Path | None = None  # the run folder; by default runs/GAME-AGENT-seed-N
    resume: bool = False  # go on with the run in --out if it exists
    population: str | None = None  # runs that follow from results: NAME or MODULE:CLASS, as in psro
    executor: str = "auto"  # where runs train: auto, in-process, processes, vectorised, ray or MODULE:CLASS
    address: str | None = None  # of a Ray cluster: auto, HOST:PORT, ray://HOST:PORT; by default one here
    json: bool = False  # print one JSON object at the end instead of a summary, and no progress bar
    start_from: Annotated[str | None, tyro.conf.arg(name="from")] = None
    """begin as this player: a run folder, a player file or zoo:GAME/AGENT/SEED"""
    dry_run: bool = False  # say what would be trained and what memory it would take, and write nothing


@dataclass
class EvaluationSettings:
    """How it is evaluated meanwhile, and when it has learned enough."""

    evaluate_every: int | None = None  # iterations between two evaluations; by default there are none
    evaluate_against: tuple[str, ...] = ()  # opponents beside self-play: names, zoo:..., files, run folders
    evaluate_episodes: int = 100  # games played with each opponent in each seat
    evaluate_deterministic: bool = False  # whether everybody does what is most likely instead of drawing
    target: float | None = None  # end the run when a metric is at least this
    target_metric: str = "reward"  # which one: reward, episode_return, evaluation/self-play, ...


HELP = "Trains agents in a game and writes a run folder: config, metrics, checkpoints, trained players."


def parse(names: list[str], arguments: list[str]) -> Any:
    """The settings together with those of this game and these agents; defaults are those of a recipe."""
    make_devices(_devices(arguments))  # before anything is computed
    recipe = _recipe(names)
    game, agents = _defaults(names, recipe)
    defaults: dict[str, Any] = {"game": game}
    sizes = ExperimentSettings() if recipe is None else _sizes(recipe)
    # Fields, not base classes: the comments of a class made here would not be found for the help.
    fields: list[tuple[str, Any, Any]] = [
        ("of_experiment", _flat(ExperimentSettings), field(default_factory=partial(_same, sizes))),
        ("of_transforms", _flat(TransformSettings), field(default_factory=TransformSettings)),
        ("of_run", _flat(RunSettings), field(default_factory=RunSettings)),
        ("of_evaluation", _flat(EvaluationSettings), field(default_factory=EvaluationSettings)),
        ("options", _flat(Options), field(default_factory=Options)),
    ]
    for i, agent in enumerate(agents):
        if dataclasses.fields(agent):
            defaults[agent_label(i)] = agent
    for label, default in defaults.items():
        chosen, choices = choose(default, label, arguments)
        fields += [choice.field(f"{label}_choice_{i}") for i, choice in enumerate(choices)]
        fields.append((label, type(chosen), field(default_factory=partial(_same, chosen))))
    fields += matchmaker_fields(arguments, SelfPlay() if recipe is None else recipe.matchmaker)
    together = dataclasses.make_dataclass("Together", fields)
    together.__doc__ = HELP
    program = f"comity train {' '.join(names)}"
    # An optional choice is parsed as what was chosen, not by a subcommand.
    parsed: Any = parse_arguments(together, arguments, program, config=(tyro.conf.AvoidSubcommands,))
    flat = (parsed.of_experiment, parsed.of_transforms, parsed.of_run, parsed.of_evaluation, parsed)
    return SimpleNamespace(recipe=recipe, **{name: x for part in flat for name, x in vars(part).items()})


def _recipe(names: list[str]) -> Experiment | None:
    """The experiment that is named, or the zoo's for an agent in a game."""
    if is_recipe(names[0]):
        require(len(names) == 1, "agents", " ".join(names[1:]), "those of the recipe, so leave them out")
        return read_recipe(names[0])
    return default_recipe(*names) if len(names) == 2 else None


def _defaults(names: list[str], recipe: Experiment | None) -> tuple[Environment, tuple[Agent, ...]]:
    """The game and the agents before any flag is read."""
    if recipe is not None:
        return recipe.game, recipe.agents
    cls, given = game_class(names[0])
    game: Environment = cls(**given)
    return game, tuple(named_agent_class(agent, game.family)() for agent in names[1:])


def _sizes(recipe: Experiment) -> ExperimentSettings:
    name = matchmaker_data(recipe.matchmaker)["name"]
    return ExperimentSettings(opponents=name, **{size: getattr(recipe, size) for size in SIZES})


def experiment_of(names: list[str], settings: Any) -> Experiment:
    """The experiment that the settings describe; what they do not say is the recipe's."""
    recipe = settings.recipe
    before = _defaults(names, recipe)[1]
    agents = [getattr(settings, agent_label(i), agent) for i, agent in enumerate(before)]
    if not any(agent.learns for agent in agents):
        raise ComityError(
            f"None of these agents learns. To let scripted players meet: comity league {shlex.join(names)}"
        )
    share = {"auto": None, "all": True, "none": False}[settings.share]
    groups = tuple(_seats(group) for group in settings.groups)
    same_seats = recipe is not None and len(settings.game.seats) == len(recipe.game.seats)
    if same_seats and share is None and not groups:
        groups = recipe.seating
    game = settings.game
    for transform in settings.transforms:
        game = with_transform(game, transform)
    game = game if settings.channel is None else with_channel(game, settings.channel)
    game = game if settings.rewards is None else with_rewards(game, settings.rewards)
    return make_experiment(
        game,
        tuple(agents),
        share=share,
        groups=groups,
        matchmaker=fitting_matchmaker(parsed_matchmaker(settings), recipe, settings.batch),
        iterations=settings.iterations,
        schedule_iterations=settings.schedule_iterations,
        batch=settings.batch,
        unroll=settings.unroll,
        chunk=settings.chunk,
        seed=settings.seed,
        warm_up=settings.warm_up,
        tunable=() if recipe is None else recipe.tunable,
    )


def options_of(settings: Any, experiment: Experiment) -> Options:
    """How the settings say that runs of an experiment are carried out; checked."""
    require(settings.seeds >= 1, "seeds", settings.seeds, "at least 1")
    options: Options = settings.options
    evaluate = None
    if settings.evaluate_every is not None:
        evaluate = {
            "every": settings.evaluate_every,
            "against": list(settings.evaluate_against),
            "episodes": settings.evaluate_episodes,
            "deterministic": settings.evaluate_deterministic,
        }
    elif settings.evaluate_against or settings.evaluate_deterministic:
        raise ComityError("Evaluations need --evaluate-every: how many iterations there are between two.")
    for opponent in settings.evaluate_against:
        if ":" in opponent and not opponent.startswith(PREFIX):
            trust(opponent)
    specs = hook_specs(evaluate, settings.target, settings.target_metric)
    options = dataclasses.replace(options, hooks=(*options.hooks, *specs))
    trust_named((*options.hooks, *([settings.population] if settings.population else []), settings.executor))
    options.check(experiment)
    return options


def trust_named(specs: tuple[str, ...]) -> None:
    """Code of the user's own that is named on the command line may run."""
    for spec in specs:
        if ":" in name_in(spec):
            trust(name_in(spec))


def _devices(arguments: list[str]) -> int:
    """How many devices are asked for, before anything is parsed; what is no number is refused later."""
    for place, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name == "--devices":
            value = value if equals else "".join(arguments[place + 1 : place + 2])
            return int(value) if value.isdecimal() and len(value) < 6 else 1
    return 1


def _same(value: Any) -> Any:
    return value


def _flat(settings: type[Any]) -> Any:
    return Annotated[settings, tyro.conf.arg(name="")]


def _seats(group: str) -> tuple[int, ...]:
    try:
        return tuple(int(seat) for seat in group.split(","))
    except ValueError:
        raise bad_value("groups", group, "numbers of seats with commas between them, as in 0,1,2") from None
