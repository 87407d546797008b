"""What `comity train` takes: settings of the experiment, the run, the game and the agents."""

import dataclasses
import math
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
from comity.core.matchmaker import Matchmaker
from comity.core.trust import trust
from comity.games.transforms import ShapedReward, SharedReward
from comity.play.matchmaking import SelfPlay
from comity.play.specs import game_class, matchmaker_data, named_agent_class
from comity.training.experiment import SIZES, Experiment, make_experiment
from comity.training.named import name_in
from comity.training.options import Options
from comity.training.recipes import default_recipe, is_recipe, read_recipe


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
    rewards: str = "own"  # own, sum of all, a number (what others' count), or a function MODULE:FUNCTION
    warm_up: int = 0  # steps played at random before training
    share: Literal["auto", "all", "none"] = "auto"  # whether seats share parameters; auto: in symmetric games
    groups: tuple[str, ...] = ()  # groups of seats that share parameters, as in --groups 0,1,2 3


@dataclass
class RunSettings:
    """How it is carried out."""

    seeds: int = 1  # how many seeds to train, counted up from --seed; each gets a folder OUT/seed-N
    out: Path | None = None  # the run folder; by default runs/GAME-AGENT-seed-N
    resume: bool = False  # go on with the run in --out if it exists
    population: str | None = None  # runs that follow from results: NAME or MODULE:CLASS, as in psro
    executor: str = "auto"  # where runs train: auto, in-process, processes, vectorised or MODULE:CLASS
    json: bool = False  # print one JSON object at the end instead of a summary, and no progress bar


HELP = "Trains agents in a game and writes a run folder: config, metrics, checkpoints, trained players."


def parse(names: list[str], arguments: list[str]) -> Any:
    """The settings together with those of this game and these agents; defaults are those of a recipe."""
    recipe = _recipe(names)
    game, agents = _defaults(names, recipe)
    defaults: dict[str, Any] = {"game": game}
    sizes = ExperimentSettings() if recipe is None else _sizes(recipe)
    # Fields, not base classes: the comments of a class made here would not be found for the help.
    fields: list[tuple[str, Any, Any]] = [
        ("of_experiment", _flat(ExperimentSettings), field(default_factory=partial(_same, sizes))),
        ("of_run", _flat(RunSettings), field(default_factory=RunSettings)),
        ("options", _flat(Options), field(default_factory=Options)),
    ]
    for i, agent in enumerate(agents):
        if dataclasses.fields(agent):
            defaults[_label(i)] = agent
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
    return SimpleNamespace(recipe=recipe, **vars(parsed.of_experiment), **vars(parsed.of_run), **vars(parsed))


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
    agents = [getattr(settings, _label(i), agent) for i, agent in enumerate(before)]
    if not any(agent.learns for agent in agents):
        raise ComityError(
            f"None of these agents learns. To let scripted players meet: comity league {shlex.join(names)}"
        )
    share = {"auto": None, "all": True, "none": False}[settings.share]
    groups = tuple(_seats(group) for group in settings.groups)
    same_seats = recipe is not None and len(settings.game.seats) == len(recipe.game.seats)
    if same_seats and share is None and not groups:
        groups = recipe.seating
    return make_experiment(
        _with_rewards(settings.game, settings.rewards),
        tuple(agents),
        share=share,
        groups=groups,
        matchmaker=_fitting(parsed_matchmaker(settings), recipe, settings.batch),
        iterations=settings.iterations,
        schedule_iterations=settings.schedule_iterations,
        batch=settings.batch,
        unroll=settings.unroll,
        chunk=settings.chunk,
        seed=settings.seed,
        warm_up=settings.warm_up,
        tunable=() if recipe is None else recipe.tunable,
    )


def _fitting(matchmaker: Matchmaker, recipe: Experiment | None, batch: int) -> Matchmaker:
    """The recipe's matchmaker with as many groups as a smaller batch can be cut into."""
    groups = getattr(matchmaker, "groups", None)
    if recipe is None or matchmaker != recipe.matchmaker or groups is None or batch % groups == 0:
        return matchmaker
    fitting: Matchmaker = dataclasses.replace(matchmaker, groups=math.gcd(groups, batch))  # type: ignore[call-arg]
    return fitting


def options_of(settings: Any) -> Options:
    """How the settings say that runs are carried out; checked."""
    require(settings.seeds >= 1, "seeds", settings.seeds, "at least 1")
    options: Options = settings.options
    trust_named((*options.hooks, *([settings.population] if settings.population else []), settings.executor))
    options.check()
    return options


def trust_named(specs: tuple[str, ...]) -> None:
    """Code of the user's own that is named on the command line may run."""
    for spec in specs:
        if ":" in name_in(spec):
            trust(name_in(spec))


def _same(value: Any) -> Any:
    return value


def _flat(settings: type[Any]) -> Any:
    return Annotated[settings, tyro.conf.arg(name="")]


def _label(number: int) -> str:
    return "agent" if number == 0 else f"agent{number + 1}"


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
