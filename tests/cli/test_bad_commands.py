"""A list of bad commands: each gives one sentence and exit code 2, and leaves nothing behind.

In a command `RUN` is a trained run, and `F/` a folder of files and of code that do not work (`bad_files.py`).
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from comity.cli import run as comity
from tests.cli.bad_files import make_bad_files

TINY = (
    "--agent.network tabular --agent.critic.network tabular --iterations 4 --batch 4 --chunk 2 "
    "--no-tensorboard --game.horizon 4"
)

# What is typed, and words of the sentence that is the answer.
BAD_COMMANDS = [
    (
        "train coin ppo --game.width 100000000 --game.height 100000000",
        "width = 100000000 is not possible: it must be at least 1 and at",
    ),
    ("train coin ppo --game.width 0", "width = 0 is not possible: it must be at least 1 and at most"),
    (
        "train coin ppo --game.width 99999999999999999999",
        "width = 99999999999999999999 is not possible: it must be at",
    ),
    ("train coin ppo --game.players 9", "width x height = '3 x 3' is not possible: it must be large"),
    (
        "train coin ppo --game.players 1000000000",
        "width x height = '3 x 3' is not possible: it must be large",
    ),
    ("train commons-harvest ppo --game.map x", "The map has 'x': use W, A, P, Q and spaces."),
    (
        "train negotiation a2c --agent.network tabular",
        "A tabular network needs a discrete observation, and this game",
    ),
    ("train negotiation grim-trigger", "The scripted player 'grim-trigger' does not play games of the"),
    ("train negotiation loqa", "A critic of actions needs discrete actions, which this game"),
    ("train probe-target tit-for-tat", "The scripted player 'tit-for-tat' does not play games of the"),
    (
        "train simple-speaker-listener mappo --groups 0,1",
        "The seats 'speaker_0' and 'listener_0' see or do different",
    ),
    ("train simple-tag ppo --groups 0,1,2,3", "The seats 'adversary_0' and 'agent_0' see or do different"),
    ("train coin lola", "Learners with exact values play by a table, so they need"),
    ("train negotiation pola", "Look-ahead by DiCE is made for discrete actions, which this game does not"),
    ("train coin naive", "Learners with exact values play by a table, so they need"),
    ("train probe-odd-seats loqa", "A critic of actions needs discrete actions, which this game"),
    ("train zoo:coin/adaligne", "There is no recipe in the zoo named 'coin/adaligne'. Did you"),
    ("train zoo:coin", "There is no recipe in the zoo named 'coin/'. Did you mean"),
    ("train zoo:../coin/adalign", "There is no recipe in the zoo named '../coin/adalign'. Did you"),
    ("train zoo:coin/adalign ppo", "agents = 'ppo' is not possible: it must be those of the recipe,"),
    ("train nowhere.json", "nowhere.json: nowhere.json does not exist; it should be an"),
    ("train nowhere.toml", "nowhere.toml: It cannot be read as TOML: [Errno 2] No such file"),
    ("train F/empty.json", "does not exist; it should be an experiment."),
    ("train F/list.json", "An experiment must be an object with a game, an agent and so on."),
    ("train F/folder.json", "cannot be read as an experiment: [Errno 21] Is a directory:"),
    ("train F/folder.toml", "It cannot be read as TOML: [Errno 21] Is a directory:"),
    ("train F/latin.json", "cannot be read as an experiment: 'utf-8' codec can't decode"),
    ("train F/latin.toml", "It cannot be read as TOML: 'utf-8' codec can't decode byte 0xe9"),
    ("train F/nothing.json", "cannot be read as an experiment: Expecting value: line 1 column"),
    ("train F/nothing.toml", "An experiment needs a game, and either an agent or a list of"),
    ("train F/cut.json", "cannot be read as an experiment: Expecting ',' delimiter: line"),
    ("train F/cut.toml", "It cannot be read as TOML: Unterminated string (at end of"),
    ("train F/unknown-setting.json", "There is no setting of an experiment named 'iteratons'. Did you"),
    ("train F/unknown-game.json", "There is no game named 'prisoner-dilemma'. Did you mean"),
    ("train F/unknown-agent.json", "There is no agent named 'a2cc'. Did you mean a2c?"),
    ("train F/two-agents.json", "An experiment needs a game, and either an agent or a list of"),
    ("train F/no-agents.json", "agents = [] is not possible: it must be a list of agents."),
    ("train F/wrong-type.json", "iterations = 'many' is not possible: it must be a whole number."),
    ("train F/code.json", "The game plug_ins:NoGame runs code of its own. If you trust it,"),
    ("train F/agent-setting.json", "There is no setting of agents[0] named 'discont'. Did you mean"),
    ("train F/agent-range.json", "discount = 1.5 is not possible: it must be between 0 and 1."),
    ("train --resume", "PATH is missing: comity train --resume --help lists all options."),
    ("train --resume nowhere", "nowhere is not a folder."),
    ("train --resume F/empty", "is not a run folder: it has no config.json."),
    ("train --resume F/player.safetensors", "is not a folder."),
    ("train --resume RUN --keep 0", "keep = 0 is not possible: it must be at least 1."),
    (
        "train prisoners-dilemma a2c --out RUN",
        "RUN exists already: choose another --out, or go on with it by",
    ),
    ("train prisoners-dilemma a2c --out RUN/config.json/x", "cannot be written: Not a directory."),
    (
        "train prisoners-dilemma a2c --out RUN --resume",
        "RUN cannot be resumed with other settings: its game.horizon is",
    ),
    (
        "train prisoners-dilemma a2c --out F/game.csv",
        "exists already: choose another --out, or go on with it by",
    ),
    (
        "train prisoners-dilemma a2c --out /proc/nothing/here",
        "/proc/nothing/here cannot be written: No such file or directory.",
    ),
    (
        "train prisoners-dilemma a2c --wandb x",
        "Weights & Biases is not installed: pip install 'comity[wandb]'.",
    ),
    ("compare", "A comparison needs run folders: comity compare runs/first"),
    ("compare nowhere", "nowhere does not exist: a run folder or a folder of runs would"),
    ("compare F/empty", "is neither a run folder nor a folder of runs: it has no"),
    ("compare F/league.json", "is neither a run folder nor a folder of runs: it has no"),
    ("compare F/cut-config", "cannot be read as an experiment: Expecting property name"),
    ("compare RUN --nothing 3", "There is no option --nothing. Did you mean --smoothing?"),
    ("compare RUN --seed x", "--seed = 'x' is not possible: it must be a whole number."),
    ("compare RUN RUN", "RUN is given twice: name each run once."),
    (
        "league prisoners-dilemma random --seed -1",
        "seed = -1 is not possible: it must be between 0 and 2147483647.",
    ),
    ("analyse F/league.json --seed -1", "seed = -1 is not possible: it must be between 0 and 2147483647."),
    (
        "reproduce ipd --from-committed --out F/game.csv",
        "--out F/game.csv is a file: a folder of runs, figures and the",
    ),
    ("reproduce coin --nothing", "There is no option --nothing: comity reproduce coin"),
    ("solve chicken --draw flows", "--draw = 'flows' is not possible: it must be one of flow,"),
    ("solve chicken --seconds 0", "seconds = 0.0 is not possible: it must be above 0."),
    ("solve chicken --seconds nan", "seconds = nan is not possible: it must be above 0."),
    (
        "solve chicken --coalition --draw flow",
        "Pictures are of games of two players: leave out --picture and",
    ),
    ("completion tcsh", "shell = 'tcsh' is not possible: it must be one of bash, fish,"),
    (
        "train prisoners-dilemma a2c --agent.xyz 3",
        "There is no option --agent.xyz",
    ),
    (
        "train prisoners-dilemma a2c --game.horizon 99999999999",
        "horizon = 99999999999 is not possible: it must be a number of",
    ),
    (
        "train public-goods ppo --game.players 1000000000",
        "players = 1000000000 is not possible: it must be at least 2 and",
    ),
    (
        "train foraging ppo --game.width 1000000000",
        "width = 1000000000 is not possible: it must be between 3 and",
    ),
    (
        "train simple-spread ppo --game.players 5000",
        "players = 5000 is not possible: it must be at least 1 and at",
    ),
    ("league prisoners-dilemma", "A league needs at least one player, as in comity league"),
    ("league prisoner-dilemma random", "There is no game named 'prisoner-dilemma'. Did you mean"),
    ("league prisoners-dilemma tit-for-tatt", "There is no agent named 'tit-for-tatt'. Did you mean"),
    ("league prisoners-dilemma some/where", "'some/where' is neither a run folder, nor a player file, nor"),
    ("league prisoners-dilemma F/empty", "is not a run folder: it has no config.json."),
    ("league prisoners-dilemma .", ". is not a run folder: it has no config.json."),
    ("league prisoners-dilemma RUN/config.json", "is not a Comity file."),
    (
        "league prisoners-dilemma F/checkpoint.safetensors",
        "is a comity-checkpoint file, and a comity-player file is needed.",
    ),
    (
        "league prisoners-dilemma F/player-cut.safetensors",
        "is damaged or cut short: Error while deserializing: incomplete",
    ),
    ("league prisoners-dilemma F/player-head.safetensors", "is cut short."),
    (
        "league prisoners-dilemma F/player-flip.safetensors",
        "is damaged: its content does not match its checksum.",
    ),
    (
        "league prisoners-dilemma F/player-1.safetensors",
        "was written by an older Comity (format 1, this one reads 2):",
    ),
    (
        "league prisoners-dilemma F/player-7.safetensors",
        "was written by a newer Comity (format 7, this one reads 2):",
    ),
    ("league prisoners-dilemma F/latin.safetensors", "is not a Comity file."),
    ("league prisoners-dilemma F/nothing.safetensors", "is not a Comity file."),
    ("league prisoners-dilemma F/folder.safetensors", "is not a run folder: it has no config.json."),
    (
        "league prisoners-dilemma F/cut-player",
        "is damaged or cut short: Error while deserializing: incomplete",
    ),
    (
        "league prisoners-dilemma F/no-players",
        "has no players yet: let the run finish, or stop it with Ctrl-C.",
    ),
    ("league prisoners-dilemma RUN RUN", "Two players are called 'mine': give them names, as in first=RUN."),
    ("league prisoners-dilemma a=", "'a=' is not a player: it must be PLAYER or NAME=PLAYER."),
    ("league prisoners-dilemma =a", "'=a' is not a player: it must be PLAYER or NAME=PLAYER."),
    ("league prisoners-dilemma a2c", "'a2c' is neither a run folder, nor a player file, nor the name"),
    (
        "league prisoners-dilemma zoo:coin/adalign/99",
        "There is no player in the zoo named 'zoo:coin/adalign/99'. Did",
    ),
    ("league prisoners-dilemma zoo:coin/adalign/1", "zoo:coin/adalign/1 cannot play in this game:"),
    (
        "league prisoners-dilemma zoo:../../core/errors",
        "There is no player in the zoo named 'zoo:../../core/errors'.",
    ),
    (
        "league prisoners-dilemma plug_ins:NoGame",
        "The agent plug_ins:NoGame is a NoGame: it must inherit from",
    ),
    (
        "league prisoners-dilemma wrong_syntax:Player",
        "The agent wrong_syntax:Player cannot be imported: SyntaxError:",
    ),
    ("league coin RUN", "mine cannot play in this game: A tabular network needs a"),
    ("league public-goods RUN", "mine was trained in a game of another shape and cannot play in"),
    ("league simple-tag RUN", "mine cannot play in this game: A tabular network needs a"),
    ("league prisoners-dilemma random --episodes 0", "episodes = 0 is not possible: it must be at least 1."),
    ("league prisoners-dilemma random --horizon 0", "horizon = 0 is not possible: it must be at least 1."),
    (
        "league prisoners-dilemma random --horizon x",
        "--horizon = 'x' is not possible: it must be a whole number.",
    ),
    ("league prisoners-dilemma random --epsodes 5", "There is no option --epsodes. Did you mean --episodes"),
    ("league prisoners-dilemma random --json F/empty", "cannot be written: Is a directory."),
    ("league prisoners-dilemma random --csv F/empty", "cannot be written: Is a directory."),
    ("league prisoners-dilemma random --picture F/empty", "cannot be written: Is a directory."),
    (
        "league prisoners-dilemma random --game.reward inf",
        "The rewards are not finite numbers in float32: use smaller",
    ),
    ("league plug_ins:make_and_fail random", "plug_ins:make_and_fail failed: FileNotFoundError: no such"),
    ("league plug_ins:WrongShape random", "plug_ins:WrongShape: what agent sees has the shape (3,), but"),
    ("report", "A report is about run folders or a league's JSON file: comity"),
    ("report nowhere", "nowhere does not exist: a report is about a run folder or a"),
    ("report .", ". is neither a run folder nor a folder of runs: it has no"),
    ("report F/empty", "is neither a run folder nor a folder of runs: it has no"),
    ("report RUN/config.json", "is not a league: `comity league ... --json FILE` writes one."),
    ("report RUN/players/player.safetensors", "cannot be read as a league: 'utf-8' codec can't decode byte"),
    ("report F/league-cut.json", "cannot be read as a league:"),
    ("report F/league-odd.json", "is damaged: its tables do not fit its 2 players."),
    ("report F/league-nan.json", "is damaged: finite tables, low up to high, and at least one"),
    ("report F/latin.json", "cannot be read as a league: 'utf-8' codec can't decode byte"),
    ("report F/nothing.json", "cannot be read as a league: Expecting value: line 1 column 1"),
    ("report F/folder.json", "is neither a run folder nor a folder of runs: it has no"),
    ("report F/cut-config", "cannot be read as an experiment: Expecting property name"),
    ("report RUN --out F/empty", "cannot be written: Is a directory."),
    ("report RUN --out F/game.csv/x.html", "cannot be written: File exists."),
    ("report RUN F/league.json x y", "is neither a run folder nor a folder of runs: it has no"),
    ("solve prisoner-dilema", "There is no game named 'prisoner-dilema'. Did you mean"),
    ("solve nowhere.csv", "There is no file nowhere.csv; give the path of an existing file."),
    ("solve coin", "coin is not a table of payoffs: let players meet in it with"),
    ("solve F/empty", "cannot be read ([Errno 21] Is a directory: 'F/empty'); a UTF-8"),
    ("solve F/folder.csv", "cannot be read ([Errno 21] Is a directory: 'F/folder.csv'); a"),
    ("solve F/folder.json", "cannot be read ([Errno 21] Is a directory: 'F/folder.json'); a"),
    ("solve F/folder.nfg", "cannot be read ([Errno 21] Is a directory: 'F/folder.nfg'); a"),
    ("solve F/latin.csv", "cannot be read ('utf-8' codec can't decode byte 0xe9 in"),
    ("solve F/latin.json", "cannot be read ('utf-8' codec can't decode byte 0xe9 in"),
    ("solve F/latin.nfg", "cannot be read ('utf-8' codec can't decode byte 0xe9 in"),
    ("solve F/nothing.csv", "The file is empty; a table of payoffs would work."),
    ("solve F/nothing.json", "Line 1 is not JSON (Expecting value); check commas there."),
    ("solve F/nothing.nfg", "Line 1 has the file's end where 'NFG' (the file begins with:"),
    ("solve F/ragged.csv", "Line 2 has 1 cells where the first has 2; every line needs the"),
    ("solve F/words.csv", "Line 2, cell 2 is 'eight', not a number; for example 3, -0.5 or"),
    ("solve F/nan.csv", "Line 1, cell 2 is 'nan'; payoffs must be finite, so use a large"),
    ("solve F/cut.json", "Line 1 is not JSON (Expecting ',' delimiter); check commas"),
    ("solve F/cut.nfg", "Line 2 has the file's end where payoff 4 of 8 should be."),
    ("solve F/version-2.nfg", "Line 1 has '2'; a .nfg file begins with: NFG 1 R."),
    ("solve F/player.safetensors", "cannot be read ('utf-8' codec can't decode"),
    ("solve F/votes.json --coalition", "weights has shape (0,); a list with one number per player would"),
    ("solve F/game.csv --coalition", "Line 2, the worth is '0 5', not a number; for example 3, -0.5"),
    ("solve votes --coalition", "There is no file votes: --coalition takes a .json file such as"),
    (
        "solve chicken --coalition --picture a.png",
        "Pictures are of games of two players: leave out --picture and",
    ),
    ("solve chicken --picture a.doc", "a.doc has no known picture format: a name that ends in .png,"),
    (
        "solve chicken --picture F/folder.csv",
        "has no known picture format: a name that ends in .png, .svg or",
    ),
    (
        "solve rock-paper-scissors --picture a.png --draw responses",
        "The game has 3 x 3 actions; best-response curves are for 2 x 2",
    ),
    ("solve public-goods --picture a.png", "--picture draws games of 2 players, and this one has 4: leave"),
    (
        "solve public-goods --game.players 30",
        "game.players = 30 is too many for a table: up to 8 would work.",
    ),
    (
        "solve public-goods --game.players x",
        "--game.players = 'x' is not possible: it must be a whole number.",
    ),
    ("solve chicken --game.dare nan", "payoffs holds nan at index [0, 1, 0]; every entry must be a"),
    ("solve chicken --game.dar 3", "There is no option --game.dar. Did you mean --game.dare or"),
    (
        "solve F/wide.csv --draw flow --picture a.png",
        "The game has 2 x 3 actions; flows are drawn of 2 x 2 and 3 x 3",
    ),
    (
        "solve F/three.json --draw region --picture a.png",
        "--picture draws games of 2 players, and this one has 3: leave",
    ),
    ("analyse nowhere.json", "nowhere.json does not exist; it should be a league."),
    ("analyse F/league-cut.json", "cannot be read as a league:"),
    ("analyse F/league-odd.json", "is damaged: its tables do not fit its 2 players."),
    ("analyse F/league-nan.json", "is damaged: finite tables, low up to high, and at least one"),
    ("analyse F/game.csv", "cannot be read as a league: Expecting value: line 1 column 1"),
    ("analyse F/empty", "cannot be read as a league: [Errno 21] Is a directory:"),
    ("analyse F/latin.json", "cannot be read as a league: 'utf-8' codec can't decode byte"),
    ("analyse F/league.json --resamples -1", "resamples = -1 is not possible: it must be at least 0."),
    ("analyse F/league.json --iterations 0", "iterations = 0 is not possible: it must be at least 1."),
    (
        "analyse F/league.json --picture a.gif",
        "The replicator picture needs 3 players, and this league has 2:",
    ),
    (
        "analyse F/league.json --picture a.png",
        "The replicator picture needs 3 players, and this league has 2:",
    ),
    (
        "analyse F/league.json --picture a.png --members tit-for-tat well lazy",
        "The replicator picture needs 3 players, and this league has 2:",
    ),
    ("analyse F/league.json --fresh well", "'well' is not in the league: its players are tit-for-tat,"),
    (
        "analyse F/league.json --fresh tit-for-tat --learner tit-for-tat",
        "TitForTat does not learn: a best response needs a learner, such",
    ),
    (
        "analyse F/league.json --fresh tit-for-tat --learner nobody",
        "There is no agent named 'nobody'. There are: a2c, adalign,",
    ),
    ("reproduce nothing", "There is no study named 'nothing'. There are: coin,"),
    ("reproduce coinn", "There is no study named 'coinn'. Did you mean coin?"),
    ("reproduce no_module:Study", "The study no_module:Study cannot be imported: No module named"),
    ("reproduce plug_ins:NoGame", "plug_ins:NoGame is not a study: a subclass of"),
    ("reproduce ../coin", "There is no study named '../coin'. Did you mean coin?"),
    ("games --jsn", "There is no option --jsn. Did you mean --json or --no-json?"),
    ("games coin", "'coin' is one argument too many: comity games --help lists all"),
    ("agents --json yes", "'yes' is one argument too many: comity agents --help lists all"),
    ("completion", "{bash,zsh,fish} is missing: comity completion --help lists all"),
    ("train coin ppo --iterations 99999999999999999999", "iterations = 99999999999999999999 is not possible"),
    ("train coin ppo --batch 1000000000000", "batch = 1000000000000 is not possible"),
    (
        "train coin ppo --agent.network.width 1000000000",
        "network.width = 1000000000 is not possible: it must be between 1 and 65,536.",
    ),
    ("train coin ppo --agent.network.width 60000", "a smaller network (agent.network.width is 60,000) would"),
    (
        "train coin adalign --agent.learner.network.width 50000 --agent.learner.critic.network.width 60000",
        "GB are free: fewer past selves (--opponents.capacity) would help.",
    ),
    ("train coin ppo --agent.network.depth 1000000000", "network.depth = 1000000000 is not possible"),
    ("train coin ppo --agent.network.after 1000000000", "network.after = 1000000000 is not possible"),
    (
        "train coin ppo --agent.network gtrxl --agent.network.blocks 1000000000",
        "network.blocks = 1000000000 is not possible: it must be between 1 and 1,000.",
    ),
    (
        "train coin ppo --opponents past --opponents.capacity 100000000000",
        "capacity = 100000000000 is not possible: it must be between 1 and 1,000,000.",
    ),
    ("train coin ppo --executor nowhere", "There is no executor named 'nowhere'."),
    ("train coin ppo --from nowhere", "nowhere"),
    ("train coin ppo --minutes -1", "minutes = -1.0 is not possible"),
    ("train coin ppo --rewards inf", "rewards = 'inf' is not possible"),
    (
        "train coin evolution --batch 8",
        "batch = 8 is not possible: it must be a multiple of 32:",
    ),
    ("episodes coin", "comity episodes needs at least one player, as in comity episodes coin random"),
    ("episodes coin nobody", "nobody"),
    ("episodes coin random random random", "There are 2 seats for players, and 3 were given"),
    ("episodes coin random --episodes 1", "episodes = 1 is not possible: it must be between 2 and 4,096."),
    ("episodes coin random --steps 0", "steps = 0 is not possible: it must be at least 1."),
    ("episodes coin random --baseline nobody --episodes 2 --steps 2", "nobody"),
    ("train coin ppo --evaluate-every 0", "is not possible"),
    ("train coin ppo --evaluate-every 1 --evaluate-against nobody", "nobody"),
    ("sweep coin ppo --vary agent.nothing 1 2", "agent.nothing"),
    ("sweep coin ppo --vary agent.discount 2", "discount = 2.0 is not possible"),
    ("sweep coin ppo", "vary"),
    ("compare nowhere", "nowhere"),
    ("compare F/empty", "F/empty"),
    ("replay coin", "player"),
    ("replay coin nobody", "nobody"),
    ("replay coin always-defect --out x.mp4", "x.mp4"),
    ("watch coin nobody", "nobody"),
    ("watch nothing always-defect", "There is no game named 'nothing'"),
    ("play coin nobody", "nobody"),
    ("export nowhere", "nowhere"),
    ("export always-defect", "always-defect"),
    ("zoo nothing/at-all", "nothing/at-all"),
    ("doctor --jsn", "There is no option --jsn."),
]

# In a process of its own: environment variables, then as above.
BAD_PROCESSES = [
    ({}, "train prisoner-dilemma ppo", "There is no game named 'prisoner-dilemma'."),
    ({}, "train F/folder.json", "cannot be read as an experiment"),
    ({"JAX_PLATFORMS": "cuda"}, "league prisoners-dilemma random", "JAX_PLATFORMS = 'cuda' is not possible"),
    ({"JAX_PLATFORMS": "abacus"}, "train coin ppo --seeds 2", "JAX_PLATFORMS=cpu would work"),
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A trained run, and a folder of what does not work."""
    base = tmp_path_factory.mktemp("bad")
    run, league, files = base / "mine", base / "league.json", base / "files"
    files.mkdir()
    assert comity(["train", "prisoners-dilemma", "a2c", *TINY.split(), "--out", str(run)]) == 0
    players = ["tit-for-tat", "always-defect"]
    assert comity(["league", "prisoners-dilemma", *players, "--episodes", "2", "--json", str(league)]) == 0
    make_bad_files(files, run, league)
    return run, files


def words_of(line: str, folders: tuple[Path, Path]) -> list[str]:
    run, files = folders
    words = [word.replace("RUN", str(run)) for word in shlex.split(line)]
    return [f"{files}{word[1:]}" if word.startswith("F/") else word for word in words]


def listing(folders: tuple[Path, Path]) -> list[Path]:
    return sorted(path for folder in folders for path in folder.rglob("*") if "__pycache__" not in path.parts)


def plain(text: str, folders: tuple[Path, Path]) -> str:
    run, files = folders
    return text.replace(str(run), "RUN").replace(str(files), "F")


@pytest.mark.parametrize(("line", "message"), BAD_COMMANDS, ids=[line for line, _ in BAD_COMMANDS])
def test_bad_command(
    line: str,
    message: str,
    folders: tuple[Path, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(folders[1]))
    monkeypatch.setenv("COMITY_TRUST", "")
    before = listing(folders)
    code = comity(words_of(line, folders))
    shown = capsys.readouterr()
    assert code == 2
    assert shown.err.startswith("error: ")
    assert shown.err.count("\n") == 1
    assert "Traceback" not in shown.err
    assert message in plain(shown.err, folders)
    assert shown.out == ""
    assert list(tmp_path.iterdir()) == []
    assert listing(folders) == before


def test_there_are_many() -> None:
    assert len({line for line, _ in BAD_COMMANDS}) >= 80


@pytest.mark.parametrize(
    ("variables", "line", "message"), BAD_PROCESSES, ids=[row[1] for row in BAD_PROCESSES]
)
def test_bad_command_in_a_process(
    variables: dict[str, str], line: str, message: str, folders: tuple[Path, Path], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "comity", *words_of(line, folders)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, **variables},
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do everything")
@pytest.mark.parametrize("line", ["train prisoners-dilemma a2c", "league coin random --json locked/l.json"])
def test_a_folder_that_may_not_be_written(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    monkeypatch.chdir(tmp_path / "locked" if line.startswith("train") else tmp_path)
    assert comity(line.split()) == 2
    err = capsys.readouterr().err
    assert "Permission denied" in err
    assert err.count("\n") == 1
