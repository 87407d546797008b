"""`comity report RUN_OR_LEAGUE`: one self-contained HTML page."""

from dataclasses import dataclass
from pathlib import Path

import jax
import tyro

from comity.cli.parser import parse_arguments
from comity.core.errors import ComityError
from comity.core.files import write_atomically
from comity.evaluate.behaviour import Behaviour, behaviour
from comity.evaluate.league import League, read_league
from comity.play.player_file import read_player
from comity.report import html, sections
from comity.report.analysis import analysis_section
from comity.training.folder import RunFolder

TREMBLE = 0.05


@dataclass
class Settings:
    """Writes an HTML page about a run, several seeds of a run, or a league."""

    source: tyro.conf.Positional[Path]  # a run folder, a folder of seeds, or a league's JSON file
    out: Path | None = None  # the page; by default report.html in the folder, or beside the file


def run(name: str, arguments: list[str]) -> int:
    """Writes the page and says where it is."""
    settings = parse_arguments(Settings, arguments, "comity report")
    source: Path = settings.source
    if not source.exists():
        raise ComityError(f"{source} does not exist: a report is about a run folder or a league's JSON file.")
    if source.is_dir():
        page, out = run_page(source), source / "report.html"
    else:
        league = read_league(source)
        page, out = league_page(league, source), source.with_suffix(".html")
    out = settings.out or out
    write_atomically(out, page.encode())
    print(out)
    return 0


def run_folders(path: Path) -> list[RunFolder]:
    """The run in a folder, or the runs of several seeds in it."""
    if (path / "config.json").is_file():
        return [RunFolder.open(path)]
    found = sorted(path.glob("seed-*/config.json"))
    if not found:
        raise ComityError(f"{path} is neither a run folder nor a folder of seeds: it has no config.json.")
    return [RunFolder.open(config.parent) for config in found]


def run_page(path: Path) -> str:
    """The page about a run or several seeds of it."""
    folders = run_folders(path)
    data = folders[0].config()
    agents = ", ".join(agent["name"] for agent in data["agents"])
    title = f"{agents} in {data['game'].get('game', data['game'])['name']}"
    metrics = [folder.metrics() for folder in folders]
    rewards = {
        f"final {name}, seed {run.config().get('seed')}": f"{rows[-1][name]:.3f}"
        for run, rows in zip(folders, metrics, strict=True)
        if rows
        for name in rows[-1]
        if name.startswith("reward")
    }
    seeds = "1 seed" if len(folders) == 1 else f"{len(folders)} seeds"
    lead = f"{seeds}, {data.get('iterations')} iterations of {data.get('batch')} games."
    parts = [html.cards(rewards), sections.curves_section({agents: metrics})]
    parts += _behaviour(folders)
    about = folders[0].metadata()
    commands = [str(about.get("command") or "comity.train(...)"), f"comity report {path.name}"]
    parts.append(sections.settings_section({folders[0].path.name: data}))
    parts.append(sections.repeat_section(commands, about.get("versions", {})))
    return html.page(title, lead, parts)


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
    parts = [
        sections.league_section(league),
        *([analysis_section(league)] if len(league.players) > 1 else []),
        sections.settings_section({"game": league.game}),
        sections.repeat_section([command, f"comity report {source.name}"], {}),
    ]
    return html.page(f"League: {league.game['name']}", lead, parts)


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
