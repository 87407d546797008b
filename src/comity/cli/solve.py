"""`comity solve FILE_OR_NAME`: what game theory says about a game."""

import dataclasses
import io
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from comity.cli.parser import parse_arguments
from comity.core.errors import ComityError, require, unknown_name
from comity.core.files import write_atomically
from comity.games.registry import GAMES
from comity.theory import analysis, pictures
from comity.theory.normal_form import NormalFormGame
from comity.theory.normal_form.named_games import NAMED_GAMES, public_goods
from comity.theory.readers import read_coalitions, read_game

SUFFIXES = (".csv", ".json", ".nfg")
PICTURES = (".png", ".svg", ".pdf")
MANY_PROFILES = 1_000  # games this large say what they are being asked for
MOST_ROWS = 24  # of a printed table; --json has them all


@dataclass
class Settings:
    """Prints equilibria with their regret, dominance, the Pareto front and correlated equilibria of a game.

    A file holds a table of payoffs: .csv with both payoffs in each cell ("3 5"; one number if zero-sum) or
    one line per profile, .json with "payoffs" or "row" and "column", or Gambit's .nfg. A name is that of a
    matrix game (comity games) or of a textbook game.
    """

    # a .csv, .json or .nfg file, or the name of a game
    source: tyro.conf.Positional[Annotated[str, tyro.conf.arg(metavar="FILE|NAME")]]
    coalition: bool = False  # the file holds a cooperative game: what each coalition is worth
    json: bool = False  # print JSON for a program instead of tables
    picture: Path | None = None  # draw the game to this file: .png, .svg or .pdf; by default GAME-DRAW.png
    # best-response curves (2 x 2), the payoff region (2 players), or the replicator flow (2 x 2, 3 x 3)
    draw: Literal["responses", "region", "flow"] | None = None
    seconds: float = 60.0  # what takes longer than this in all is left out, with a note


def run(name: str, arguments: list[str]) -> int:
    """Solves a game."""
    if not arguments:
        arguments = ["--help"]
    settings = _parse(arguments)
    if settings.coalition:
        return _solve_coalitions(settings)
    require(settings.seconds > 0, "seconds", settings.seconds, "above 0")
    game = _game(settings)
    picture = settings.picture
    if picture is None and settings.draw is not None:
        picture = Path(f"{Path(settings.source).stem}-{settings.draw}.png")
    if picture is not None:
        save_picture(_figure(game, settings.draw), picture)
    report = analysis.analyse_game(game, settings.seconds, _progress(game))
    if settings.json:
        print(json.dumps(report | {"payoffs": game.payoffs.tolist()}, allow_nan=False))
    else:
        print_game(game, report)
        if picture is not None:
            print(picture)
    return 0


def _progress(game: NormalFormGame) -> analysis.Progress:
    """Says on standard error what a large game is being asked for; small ones take no time."""
    started = time.monotonic()

    def say(stage: str) -> None:
        if game.num_profiles >= MANY_PROFILES:
            print(f"{time.monotonic() - started:5.1f} s: {stage}", file=sys.stderr, flush=True)

    return say


def _parse(arguments: list[str]) -> Any:
    """The settings; a game with settings of its own adds them as --game.* options."""
    named = [word for word in arguments if word in GAMES and not Path(word).is_file()]
    if not named or not _is_matrix_game(named[0]):
        return parse_arguments(Settings, arguments, "comity solve")
    game = GAMES.load(named[0])
    # A field, not a base class: the comments of a class made here would not be found for the help.
    fields: list[tuple[str, Any, Any]] = [
        ("own", Annotated[Settings, tyro.conf.arg(name="")], field()),
        ("game", game, field(default_factory=game)),
    ]
    both = dataclasses.make_dataclass("Together", fields)
    both.__doc__ = Settings.__doc__
    parsed: Any = parse_arguments(both, arguments, "comity solve")
    return SimpleNamespace(**vars(parsed.own), game=parsed.game)


def _is_matrix_game(name: str) -> bool:
    from comity.games.matrix import IteratedMatrixGame
    from comity.games.public_goods import PublicGoods

    return issubclass(GAMES.load(name), IteratedMatrixGame | PublicGoods)


def _game(settings: Any) -> NormalFormGame:
    source = settings.source
    if Path(source).exists() or Path(source).suffix.lower() in SUFFIXES or "/" in source:
        return read_game(source)
    if source in GAMES:
        if not _is_matrix_game(source):
            raise ComityError(
                f"{source} is not a table of payoffs: let players meet in it with `comity league {source} "
                f"PLAYER ... --json FILE`, then `comity analyse FILE`."
            )
        return stage_game(source, settings.game)
    if source in NAMED_GAMES:
        return NAMED_GAMES[source]()
    known = [name for name in GAMES.rows() if _is_matrix_game(name)]
    problem = unknown_name("game", source, {*known, *NAMED_GAMES})
    raise ComityError(f"{problem} A .csv, .json or .nfg file would work too.")


def stage_game(name: str, game: Any) -> NormalFormGame:
    """One round of a registered matrix game."""
    from comity.games.public_goods import PublicGoods

    title = name.replace("-", " ")
    labels = tuple(seat.action.labels for seat in game.seats)
    players = tuple(seat.name for seat in game.seats)
    if isinstance(game, PublicGoods):
        if game.players > 8:
            raise ComityError(f"game.players = {game.players} is too many for a table: up to 8 would work.")
        payoffs = public_goods(game.players, game.multiplier).payoffs - 1.0  # without the first endowment
    else:
        # The game computes in single precision; its settings were written with fewer digits than that.
        payoffs = np.array([float(f"{x:.7g}") for x in game.payoffs.ravel()]).reshape(game.payoffs.shape)
    return NormalFormGame(payoffs, players, labels, title)


def _solve_coalitions(settings: Any) -> int:
    if settings.picture is not None or settings.draw is not None:
        raise ComityError("Pictures are of games of two players: leave out --picture and --draw.")
    if not Path(settings.source).exists() and not Path(settings.source).suffix:
        raise ComityError(
            f"There is no file {settings.source}: --coalition takes a .json file such as "
            f'{{"weights": [3, 2, 1], "quota": 4}}, or a .csv file with lines such as a,b,3.'
        )
    report = analysis.analyse_coalitions(read_coalitions(settings.source))
    if settings.json:
        print(json.dumps(report, allow_nan=False))
    else:
        print_coalitions(report)
    return 0


def _figure(game: NormalFormGame, draw: str | None) -> Any:
    if game.num_players != 2:
        raise ComityError(
            f"--picture draws games of 2 players, and this one has {game.num_players}: leave it out."
        )
    if draw == "responses" or (draw is None and game.num_actions == (2, 2)):
        return pictures.draw_best_responses(game)
    if draw == "flow":
        return pictures.draw_flow(game)
    return pictures.draw_payoff_region(game, analysis.find_equilibria(game, []))


def save_picture(figure: Any, path: Path) -> None:
    """Writes a figure in the format that the file's name asks for."""
    if path.suffix.lower() not in PICTURES:
        raise ComityError(
            f"{path} has no known picture format: a name that ends in .png, .svg or .pdf works."
        )
    content = io.BytesIO()
    figure.savefig(content, format=path.suffix[1:].lower())
    write_atomically(path, content.getvalue())


def console() -> Console:
    """Where tables are printed: names are shown as they are, and pipes get wide lines."""
    return Console(width=None if sys.stdout.isatty() else 120, markup=False, highlight=False)


def show(
    out: Console, title: str, headings: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1
) -> None:
    """A titled table whose first `left` columns are text; rows beyond the limit are counted, not shown."""
    table = Table()
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="left" if i < left else "right", overflow="fold")
    listed = list(rows)
    for row in listed[:MOST_ROWS]:
        table.add_row(*row)
    out.print(title)
    out.print(table)
    if len(listed) > MOST_ROWS:
        out.print(f"... and {len(listed) - MOST_ROWS} more: --json has all of them")


def short(number: float) -> str:
    """A number with four digits, without a sign of zero."""
    return f"{number + 0.0:.4g}" if abs(number) >= 1e-12 else "0"


def together(numbers: Iterable[float]) -> str:
    """Several numbers in one cell."""
    return ", ".join(short(x) for x in numbers)


def print_game(game: NormalFormGame, report: analysis.Report) -> None:
    """The report about a game as tables."""
    out = console()
    kinds = [name.replace("_", "-") for name, holds in report["structure"].items() if holds]
    out.print(
        f"{game.title or 'Game'}: {counted(game.num_players, 'player', 'players')}, "
        f"{_times(game.num_actions)} actions"
    )
    out.print(f"structure: {', '.join(kinds) or 'general'}\n")
    if game.num_players == 2 and max(game.num_actions) <= 8:
        _show_payoffs(out, game)
    players = list(game.players)
    rows = [
        [str(k), *(_mixture(found["strategies"][p]) for p in players), together(found["payoffs"]),
         f"{found['regret']:.1e}"]
        for k, found in enumerate(report["equilibria"], 1)
    ]  # fmt: skip
    headings = ["", *players, "payoffs", "regret"]
    show(
        out, counted(len(rows), "Nash equilibrium", "Nash equilibria"), headings, rows, left=1 + len(players)
    )
    _show_dominance(out, game, report["dominance"])
    rows = [[", ".join(p["profile"]), together(p["payoffs"])] for p in report["pareto"]]
    show(out, "Pareto-optimal pure profiles", ["profile", "payoffs"], rows)
    if "correlated" in report:
        _show_correlated(out, game, report["correlated"])
    rows = [[s["player"], short(s["value"]), short(s["pure_maximin"])] for s in report["security"]]
    show(out, "What each can secure", ["player", "mixed", "pure"], rows)
    best = "; ".join(", ".join(profile) for profile in report["optimum"]["profiles"][:4])
    out.print(f"largest sum of payoffs: {short(report['optimum']['welfare'])} at {best}")
    if "coarse_correlated" in report:
        out.print(f"best coarse correlated payoffs: {together(report['coarse_correlated']['payoffs'])}")
    for name in ("anarchy", "stability"):
        if report.get("price", {}).get(name) is not None:
            out.print(f"price of {name}: {short(report['price'][name])}")
    for found in report.get("commitment", ()):
        names = game.actions[players.index(found["leader"])]
        plan = _mixture({n: p for n, p in zip(names, found["strategy"], strict=True) if p > 1e-12})
        out.print(f"{found['leader']} as leader: {plan}, earns {short(found['leader_payoff'])}")
    for note in report["notes"]:
        out.print(f"note: {note}")


def print_coalitions(report: analysis.Report) -> None:
    """The report about a cooperative game as tables."""
    out = console()
    kinds = [name for name, holds in report["structure"].items() if holds]
    out.print(f"{len(report['players'])} players together: {short(report['worth'])}")
    out.print(f"structure: {', '.join(kinds) or 'general'}\n")
    columns = {
        "Shapley": report["shapley"],
        "Banzhaf": report["banzhaf"],
        "nucleolus": report.get("nucleolus"),
        "core point": report.get("core", {}).get("point"),
    }
    known = {name: values for name, values in columns.items() if values is not None}
    rows = [[p, *(short(values[i]) for values in known.values())] for i, p in enumerate(report["players"])]
    show(out, "Values", ["player", *known], rows)
    if report.get("core", {}).get("empty"):
        proof = report["core"]["proof"]
        weights = ", ".join(f"{{{names}}} x {short(w)}" for names, w in proof["weights"].items())
        out.print(
            f"the core is empty: the balanced coalitions {weights} are worth {short(proof['worth'])} together"
        )
    if "least_core" in report:
        out.print(
            f"least core: every coalition's excess can be held to {short(report['least_core']['excess'])}"
        )
    for note in report["notes"]:
        out.print(f"note: {note}")


def counted(number: int, one: str, many: str) -> str:
    """A number and what it counts."""
    return f"{number} {one if number == 1 else many}"


def _show_payoffs(out: Console, game: NormalFormGame) -> None:
    rows = [
        [
            name,
            *(f"{short(a)}, {short(b)}" for a, b in zip(game.payoffs[0][i], game.payoffs[1][i], strict=True)),
        ]
        for i, name in enumerate(game.actions[0])
    ]
    title = f"Payoffs: {game.players[0]} (rows), {game.players[1]} (columns)"
    show(out, title, ["", *game.actions[1]], rows)


def _show_dominance(out: Console, game: NormalFormGame, dominance: analysis.Report) -> None:
    rows = []
    for i, player in enumerate(game.players):
        cells = [player]
        for kind in ("strict", "weak"):
            left = dominance[kind]["left"][i]
            cells.append("all" if len(left) == game.num_actions[i] else ", ".join(left))
        rows.append(cells)
    headings = ["player", "strict dominance leaves", "weak dominance leaves"]
    show(out, "Iterated elimination of dominated actions", headings, rows, left=3)


def _show_correlated(out: Console, game: NormalFormGame, found: analysis.Report) -> None:
    joint = np.asarray(found["distribution"]).reshape(game.num_actions)
    rows = [
        [", ".join(analysis.action_names(game, profile)), short(float(joint[profile]))]
        for profile in np.ndindex(*game.num_actions)
        if joint[profile] > 1e-9
    ]
    title = f"Best correlated equilibrium: payoffs {together(found['payoffs'])}, regret {found['regret']:.1e}"
    show(out, title, ["profile", "probability"], rows)


def _mixture(strategy: dict[str, float]) -> str:
    return ", ".join(name if p > 1 - 1e-9 else f"{name} {short(p)}" for name, p in strategy.items())


def _times(numbers: Sequence[int]) -> str:
    return " x ".join(str(n) for n in numbers)
