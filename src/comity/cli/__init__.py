"""The command line: parses, calls, prints. Each command is a module; `main` picks one."""

import importlib
import os
import sys

from comity.core.errors import ComityError, unknown_name

COMMANDS = {
    "games": ("comity.cli.listing", "what games there are"),
    "agents": ("comity.cli.listing", "what agents there are"),
    "zoo": ("comity.cli.zoo", "trained players and their recipes, with scores and cost"),
    "train": ("comity.cli.train", "train agents in a game"),
    "league": ("comity.cli.league", "let players meet and measure what each earns"),
    "replay": ("comity.cli.replay", "one episode as an animation, a sheet of frames or a page"),
    "watch": ("comity.cli.watch", "one episode in the terminal"),
    "episodes": ("comity.cli.episodes", "of what kinds episodes are, and who helps or harms whom"),
    "schelling": ("comity.cli.schelling", "what cooperating and defecting pay by how many cooperate"),
    "play": ("comity.cli.play", "play yourself, in the terminal, among players"),
    "ui": ("comity.cli.ui", "runs, leagues, replays and games with people, in a browser"),
    "reproduce": ("comity.cli.reproduce", "published results beside Comity's own"),
    "sweep": ("comity.cli.sweep", "train every combination of some settings"),
    "lineage": ("comity.cli.lineage", "who descends from whom in a population that was trained"),
    "compare": ("comity.cli.compare", "several kinds of runs on one HTML page"),
    "report": ("comity.cli.report", "one HTML page about a run or a league"),
    "solve": ("comity.cli.solve", "what game theory says about a table of payoffs"),
    "analyse": ("comity.cli.analyse", "a league as a game: equilibria, ranks, exploitability"),
    "coordinate": (
        "comity.cli.coordinate",
        "what auctions, markets and hierarchies make of needs and offers",
    ),
    "export": ("comity.cli.export", "a player as one file that runs with NumPy alone"),
    "doctor": ("comity.cli.doctor", "versions, devices, caches and a short test of this installation"),
    "completion": ("comity.cli.completion", "shell completion for bash, zsh or fish"),
}

WITHOUT_DEVICES = ("games", "agents", "zoo", "doctor", "completion")  # what computes nothing

USAGE = "usage: comity COMMAND ...   (comity COMMAND --help explains one)"


def main(arguments: list[str] | None = None) -> None:
    """The entry point of the `comity` command."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """Runs a command and returns its exit code: 0, 2 for input that does not work, 130 when stopped."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(USAGE + "\n")
        for name, (_, summary) in COMMANDS.items():
            print(f"  {name:<12}{summary}")
        return 0 if arguments else 2
    if arguments[0] in ("--version", "version"):
        from comity import __version__

        print(f"comity {__version__}")
        return 0
    name = arguments[0]
    try:
        if name not in COMMANDS:
            raise unknown_name("command", name, COMMANDS)
        if name not in WITHOUT_DEVICES and os.environ.get("JAX_PLATFORMS", "") not in ("", "cpu"):
            from comity.core.compilation import check_platform

            check_platform()
        command = importlib.import_module(COMMANDS[name][0])
        return int(command.run(name, arguments[1:]))
    except ComityError as error:
        print(f"error: {' '.join(str(error).splitlines())}", file=sys.stderr)
        return 2
    except MemoryError:
        print("error: There is not enough memory for this: smaller settings would work.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of a pipe, such as `head`, has seen enough
        sys.stderr.close()
        return 0
