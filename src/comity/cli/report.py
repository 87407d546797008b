"""`comity report RUN_OR_LEAGUE ...`: one self-contained HTML page."""

import shlex
from dataclasses import dataclass
from pathlib import Path

import jax
import tyro

from comity.api import load_players
from comity.cli.parser import parse_arguments
from comity.cli.sweep import sweep_html
from comity.comparing import compare, replay_section
from comity.core.errors import ComityError
from comity.core.files import write_atomically
from comity.evaluate.behaviour import Behaviour, behaviour
from comity.evaluate.comparison import default_metric, final_score
from comity.evaluate.groups import game_name, kind_of
from comity.evaluate.influence import league_influence
from comity.evaluate.league import League, read_league
from comity.evaluate.standing import best_first
from comity.play.player_file import read_player
from comity.report import html, sections, social
from comity.report.analysis import analysis_section
from comity.report.plays import is_play, plays_page
from comity.report.verdicts import league_verdict, number, run_verdict, words
from comity.training.folder import RunFolder
from comity.training.populations.sweep import FILE as SWEEP_FILE
from comity.training.populations.sweep import read_sweep
from comity.training.records import Record, read_records

TREMBLE = 0.05
FINAL_NOTE = "A final figure is the mean over the last tenth of the iterations."


@dataclass
class Settings:
    """Writes an HTML page about a run, several seeds or kinds of runs, a league, or games people played."""

    sources: tyro.conf.Positional[tuple[str, ...]]  # run folders, a league's JSON file, or files of games
    out: Path | None = None  # the page; by default report.html in the folder, or beside the file


def run(name: str, arguments: list[str]) -> int:
    """Writes the page and says where it is."""
    settings = parse_arguments(Settings, arguments, "comity report")
    if not settings.sources:
        raise ComityError("A report is about run folders or a league's JSON file: comity report runs/first.")
    source = Path(settings.sources[0])
    paths = [Path(own) for own in settings.sources]
    if all(is_play(path) for path in paths):
        page, out = plays_page(paths, _command(arguments)), Path("plays.html")
    elif len(settings.sources) > 1 or ("=" in settings.sources[0] and not source.exists()):
        page, out = compare(settings.sources, command=_command(arguments)).page, Path("comparison.html")
    elif not source.exists():
        raise ComityError(f"{source} does not exist: a report is about a run folder or a league's JSON file.")
    elif (source / SWEEP_FILE).is_file():
        page, out = sweep_html(read_sweep(source)), source / "sweep.html"
    elif source.is_dir():
        records = read_records([str(source)])
        one_kind = len({kind_of(record.config) for record in records}) == 1
        page = run_page(source, records) if one_kind else compare([source], command=_command(arguments)).page
        out = source / "report.html"
    else:
        league = best_first(read_league(source))
        page, out = league_page(league, source), source.with_suffix(".html")
    out = settings.out or out
    write_atomically(out, page.encode())
    print(out)
    return 0


def _command(arguments: list[str]) -> str:
    return "comity report " + shlex.join(arguments)


def run_page(path: Path, records: list[Record]) -> str:
    """The page about a run or several seeds of it."""
    folders, data = [record.folder for record in records], records[0].config
    agents = ", ".join(dict.fromkeys(str(agent["name"]) for agent in data["agents"]))
    game = game_name(data)
    runs = [record.rows for record in records]
    metric = default_metric(runs)
    finals = [score for rows in runs if (score := final_score(rows, metric)) is not None]
    verdict = run_verdict(agents, game, runs, finals, metric, data.get("iterations", 0))
    curves = {agents: runs}
    parts = [
        html.side_by_side(
            html.cards(_figures(records, metric)) + html.note(FINAL_NOTE),
            sections.curve_tabs(curves, metric, name="first"),
        ),
        social.training_section(runs, metric),
        *_behaviour(folders),
        *_replays(folders[0], agents),
        sections.curves_section(curves),
    ]
    about = folders[0].metadata()
    commands = [str(about.get("command") or "comity.train(...)"), f"comity report {path.name}"]
    parts.append(sections.settings_section({folders[0].path.name: data}))
    parts.append(sections.repeat_section(commands, about.get("versions", {})))
    seeds = "1 seed" if len(folders) == 1 else f"{len(folders)} seeds"
    lead = f"{seeds}, {data.get('iterations')} iterations of {data.get('batch')} games."
    return html.page(f"{agents} in {game}", verdict, parts, lead)


def _replays(folder: RunFolder, agents: str) -> list[str]:
    """An episode of the first run's players among themselves, where their game can be had."""
    try:
        game = folder.experiment().game
        return replay_section(game, {agents: load_players(folder.path, game)})
    except ComityError:
        return []


def _figures(records: list[Record], metric: str) -> dict[str, str]:
    """Large figures: what each run reached, and what it took."""
    shown = {}
    for record in records:
        if not record.rows:
            continue
        last = record.rows[-1]
        names = [metric, *(name for name in last if name.startswith("reward/") and name != metric)]
        for name in names:
            score = final_score(record.rows, name)
            if score is not None:
                shown[f"final {words(name)}, seed {record.seed}"] = number(score)
    longest = max(
        (record.rows[-1] for record in records if record.rows), key=lambda row: row["iteration"], default={}
    )
    if "steps" in longest:
        shown["environment steps"] = f"{longest['steps']:,}"
    if "seconds" in longest:
        shown["seconds of training"] = f"{longest['seconds']:.0f}"
    return shown


def league_page(league: League, source: Path) -> str:
    """The page about a league."""
    lead = (
        f"{len(league.players)} players, every one against every one, "
        f"{league.episodes} episodes of {league.horizon} steps."
    )
    command = (
        f"comity league {league.game['name']} PLAYER ... --episodes {league.episodes} "
        f"--horizon {league.horizon} --seed {league.seed} --json {source.name}"
    )
    parts: list[str] = [
        sections.league_section(league),
        social.outcomes_section(league),
        social.influence_section(league_influence(league)),
        *([analysis_section(league)] if len(league.players) > 1 else []),
        sections.settings_section({"game": league.game}),
        sections.repeat_section([command, f"comity report {source.name}"], {}),
    ]
    return html.page(f"League: {league.game['name']}", league_verdict(league), parts, lead)


def _behaviour(folders: list[RunFolder]) -> list[str]:
    """What the trained players do in each state, in self-play where hands tremble at times.

    Where their game cannot be had (it is not installed, or not trusted), the page says so instead.
    """
    found: dict[str, Behaviour] = {}
    for folder in folders:
        for file in folder.player_files():
            try:
                saved = read_player(file)
                game = saved.game()
            except ComityError as error:
                return [html.section("Behaviour in each state", html.paragraph(f"Not measured: {error}"))]
            seen = behaviour(
                game, saved.player, saved.player, jax.random.key(0), seat=saved.seat, tremble=TREMBLE
            )
            if seen is not None:
                label = file.stem if len(folders) == 1 else f"{folder.path.name} {file.stem}"
                found[label] = seen
    if not found:
        return []
    how = f"Measured against copies of itself, with {TREMBLE:.0%} of all actions replaced by random ones."
    return [sections.behaviour_section(found, how)]
