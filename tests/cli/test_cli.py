"""The command line as a user meets it: what it prints, and what it says to input that cannot work."""

import dataclasses
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from comity.agents.on_policy.kl import KLRule
from comity.agents.registry import AGENTS
from comity.cli import COMMANDS
from comity.cli import league as league_command
from comity.cli import run as comity
from comity.cli.train_settings import ExperimentSettings, RunSettings
from comity.core.files import load_arrays
from comity.games.registry import GAMES
from comity.learn.critics import Critic
from comity.learn.optimisers import Adam
from comity.learn.schedules import Decay
from comity.learn.statistics import ReturnNorm
from comity.nets import Flat, Inputs
from comity.play.matchmaking import PastSelves

TINY = (
    "--agent.network tabular --agent.critic.network tabular --iterations 4 --batch 4 --chunk 2 "
    "--no-tensorboard --game.horizon 4"
)
Said = tuple[int, str, str]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli") / "mine"
    assert comity(["train", "prisoners-dilemma", "a2c", *TINY.split(), "--out", str(folder)]) == 0
    return folder


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trained: Path):
    """Runs a command line in an empty folder; RUN stands for a trained run."""
    monkeypatch.chdir(tmp_path)

    def run(line: str) -> Said:
        words = [word.replace("RUN", str(trained)) for word in shlex.split(line)]
        try:
            code = comity(words)
        except SystemExit as stop:  # how the parser leaves
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


BAD_INPUT = [
    ("trian prisoners-dilemma a2c", "There is no command named 'trian'. Did you mean train?"),
    ("nonsense", "There is no command named 'nonsense'. There are: "),
    ("train prisoners-dilemma", "Training needs a game and at least one agent, as in"),
    (
        "train prisoner-dilemma a2c",
        "There is no game named 'prisoner-dilemma'. Did you mean prisoners-dilemma?",
    ),
    ("train prisoners-dilemma a2cc", "There is no agent named 'a2cc'. Did you mean a2c?"),
    ("train prisoners-dilemma tit-for-tatt", "Did you mean tit-for-tat"),
    ("train prisoners-dilemma a2c --iteratons 5", "--iterations"),
    ("train prisoners-dilemma a2c --agent.optimiser.learning-rat 5", "--agent.optimiser.learning-rate"),
    ("train prisoners-dilemma a2c --iterations few", "--iterations"),
    ("train prisoners-dilemma a2c --iterations 0", "iterations = 0 is not possible: it must be at least 1."),
    ("train prisoners-dilemma a2c --batch -3", "batch = -3 is not possible: it must be at least 1."),
    (
        "train prisoners-dilemma a2c --seed -1",
        "seed = -1 is not possible: it must be between 0 and 2147483647.",
    ),
    ("train prisoners-dilemma a2c --seeds 0", "seeds = 0 is not possible: it must be at least 1."),
    ("train prisoners-dilemma a2c --keep 0", "keep = 0 is not possible: it must be at least 1."),
    ("train prisoners-dilemma a2c --checkpoint-seconds nan", "checkpoint_seconds = nan is not possible"),
    ("train prisoners-dilemma a2c --game.horizon 0", "horizon = 0 is not possible: it must be at least 1."),
    (
        "train prisoners-dilemma a2c --game.reward nan",
        "reward = nan is not possible: it must be a finite number.",
    ),
    (
        "train prisoners-dilemma a2c --game.reward 1e39",
        "reward = 1e+39 is not possible: it must be a finite number in float32, so up to 3.4e38.",
    ),
    (
        "train prisoners-dilemma a2c --agent.network gruu",
        "no network for --agent.network named 'gruu'. Did you mean gru?",
    ),
    ("train prisoners-dilemma a2c --agent.network=tree", "There are: gru, gtrxl, lstm, mlp, tabular."),
    ("train prisoners-dilemma a2c --agent.network", "--agent.network"),
    ("train prisoners-dilemma a2c --agent.network tabular --agent.network.width 3", "--agent.network.width"),
    ("train prisoners-dilemma a2c --agent.network.encoder flatt", "Did you mean flat?"),
    (
        "train prisoners-dilemma a2c --agent.discount 2",
        "discount = 2.0 is not possible: it must be between 0 and 1.",
    ),
    (
        "train prisoners-dilemma a2c --rewards all",
        "rewards = 'all' is not possible: it must be own, sum, a finite number or MODULE:FUNCTION.",
    ),
    (
        "train prisoners-dilemma a2c --opponents past --opponents.groups 7",
        "it must be a divisor of the batch of 256.",
    ),
    ("train prisoners-dilemma a2c a2c a2c", "2 seats: give 1 agent for all or 2, not 3."),
    ("train prisoners-dilemma random", "None of these agents learns."),
    ("train negotiation a2c --agent.network tabular", "A tabular network needs a discrete observation"),
    ("train probe-target tit-for-tat", "'tit-for-tat' does not play games of the probe family"),
    ("train negotiation grim-trigger", "'grim-trigger' does not play games of the negotiation family"),
    ("train --resume nowhere", "nowhere is not a folder."),
    ("train --resume RUN --keep 0", "keep = 0 is not possible: it must be at least 1."),
    ("train --resume .", "is not a run folder: it has no config.json."),
    (
        "train prisoners-dilemma a2c --out RUN",
        "exists already: choose another --out, or go on with it by --resume.",
    ),
    ("train prisoners-dilemma a2c --out RUN/config.json/x", "cannot be written: Not a directory."),
    (f"train prisoners-dilemma a2c --out RUN --resume {TINY} --batch 8", "its batch is 4, not 8."),
    ("league prisoners-dilemma", "A league needs at least one player, as in"),
    ("league prisoner-dilemma random", "Did you mean prisoners-dilemma?"),
    ("league prisoners-dilemma tit-for-tatt", "Did you mean tit-for-tat"),
    (
        "league prisoners-dilemma some/where",
        "is neither a run folder, nor a player file,",
    ),
    ("league prisoners-dilemma .", "is not a run folder: it has no config.json."),
    ("league prisoners-dilemma RUN/config.json", "config.json is not a Comity file."),
    (
        "league prisoners-dilemma RUN/checkpoints/000000004.safetensors",
        "is a comity-checkpoint file, and a comity-player",
    ),
    ("league prisoners-dilemma RUN RUN", "Two players are called 'mine': give them names, as in first="),
    ("league prisoners-dilemma a=", "'a=' is not a player"),
    ("league coin RUN", "mine cannot play in this game: A tabular network needs a discrete observation"),
    ("league public-goods RUN", "mine was trained in a game of another shape"),
    ("league prisoners-dilemma random --episodes 0", "episodes = 0 is not possible: it must be at least 1."),
    ("league prisoners-dilemma random --horizon 0", "horizon = 0 is not possible: it must be at least 1."),
    ("league prisoners-dilemma random --epsodes 5", "--episodes"),
    ("report nowhere", "nowhere does not exist: a report is about a run folder or a league's JSON file."),
    ("report .", "is neither a run folder nor a folder of runs"),
    ("report RUN/config.json", "config.json is not a league"),
    ("report RUN/players/player.safetensors", "cannot be read as a league"),
    ("games --jsn", "--json"),
    ("completion tcsh", "one of bash, fish, zsh"),
]


@pytest.mark.parametrize(("line", "message"), BAD_INPUT, ids=[line for line, _ in BAD_INPUT])
def test_bad_input(line: str, message: str, say, tmp_path: Path) -> None:
    """Exit code 2, one sentence that helps, nothing on standard output, and no folder left behind."""
    code, out, err = say(line)
    assert code == 2
    assert message in " ".join(err.replace("|", " ").replace("│", " ").split())
    assert "Traceback" not in err
    assert out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_player_file(say, trained: Path, tmp_path: Path) -> None:
    whole = (trained / "players" / "player.safetensors").read_bytes()
    path = tmp_path / "player.safetensors"
    for content, message in [
        (whole[:-1], "cut short"),
        (whole[:200], "cut short"),
        (whole[:-1] + bytes([whole[-1] ^ 1]), "does not match its checksum"),
        (whole.replace(b'"version":"2"', b'"version":"7"'), "written by a newer Comity (format 7"),
        (b"hello", "is not a Comity file"),
    ]:
        path.write_bytes(content)
        code, _, err = say("league prisoners-dilemma player.safetensors")
        assert code == 2
        assert message in err
        assert err.count("\n") == 1


def test_no_traceback_from_the_real_program(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "comity", "train", "prisoner-dilemma", "ppo"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: There is no game named")
    assert "Traceback" not in done.stderr


def test_a_run_that_is_no_longer_finite(say, tmp_path: Path) -> None:
    code, _, err = say(f"train prisoners-dilemma a2c {TINY} --game.punishment -1e38 --out wild")
    assert code == 2
    assert "not finite in iteration" in err
    assert "Traceback" not in err
    assert json.loads((tmp_path / "wild" / "run.json").read_text())["status"] == "failed"


def test_usage(say) -> None:
    assert say("")[0] == 2
    code, out, _ = say("--help")
    assert code == 0
    assert all(name in out for name in COMMANDS)
    assert say("--version")[1].startswith("comity 0.")
    for command in ("train", "league"):
        assert say(f"{command} --help")[0] == 0
        assert say(command)[0] == 2


def test_lists(say) -> None:
    for command, registry in {"games": GAMES, "agents": AGENTS}.items():
        code, out, _ = say(f"{command} --json")
        assert code == 0
        rows = json.loads(out)
        assert set(registry.rows()) <= {row["name"] for row in rows}
        assert all(row["summary"] for row in rows)
        plain = say(command)[1]
        assert all(row["name"] in plain and row["summary"] in plain for row in rows)
    assert "tit-for-tat" in say("agents")[1]


def described(text: str) -> str:
    """A help text as words, without the frame."""
    return " ".join(text.replace("│", " ").replace("|", " ").split())


def test_help_has_a_line_for_every_field(say) -> None:
    help_text = described(say("train prisoners-dilemma ppo --opponents past --help")[1])
    parts: list[tuple[str, Any]] = [
        ("", ExperimentSettings),
        ("", RunSettings),
        ("game.", GAMES.load("prisoners-dilemma")),
        ("agent.", AGENTS.load("ppo")),
        ("agent.network.", type(AGENTS.load("ppo")().network)),
        ("agent.network.encoder.", Flat),
        ("agent.network.inputs.", Inputs),
        ("agent.critic.", Critic),
        ("agent.critic.norm.", ReturnNorm),
        ("agent.optimiser.", Adam),
        ("agent.schedule.", Decay),
        ("agent.kl.", KLRule),
        ("opponents.", PastSelves),
    ]
    for prefix, cls in parts:
        for field in dataclasses.fields(cls):
            option = f"--{prefix}{field.name}".replace("_", "-").replace("--start-from", "--from")
            if any(
                other.startswith(f"{prefix}{field.name}.") for other, _ in parts if field.name != "network"
            ):
                continue  # settings of its own, whose fields are looked for themselves
            assert option in help_text
            found = re.search(option + r"(?:, --\S+)? (?:\{\S+ |[A-Z]+ )?(.*?) ?\(default", help_text)
            assert found is not None
            assert len(found[1].split()) >= 2, f"{option} has no help"
    for sentence in ("games played side by side", "weight of the entropy bonus", "steps in an episode"):
        assert sentence in help_text
    help_text = described(say("league prisoners-dilemma --help")[1])
    for field in dataclasses.fields(league_command.Settings):
        assert f"--{field.name}" in help_text
    assert "write one line per pairing to this file" in help_text


def test_help_is_that_of_the_chosen_network(say) -> None:
    by_default = described(say("train prisoners-dilemma ppo --help")[1])
    assert "--agent.network {tabular,mlp,gru,lstm,gtrxl}" in by_default
    assert "gtrxl (a gated transformer that looks back over some steps) (default: gru)" in by_default
    assert "--agent.network.after" in by_default
    mlp = described(say("train prisoners-dilemma ppo --agent.network mlp --help")[1])
    assert "(default: mlp)" in mlp
    assert "--agent.network.width" in mlp
    assert "--agent.network.after" not in mlp
    line = "train coin mappo --agent.critic.network=lstm --agent.critic.network.encoder convolutional --help"
    nested = described(say(line)[1])
    assert "(default: lstm)" in nested
    assert "--agent.critic.network.encoder.filters" in nested
    assert "--agent.network.encoder.stack" in nested


def test_a_chosen_network_is_trained(say, tmp_path: Path) -> None:
    line = TINY.replace(
        "network tabular", "network lstm --agent.network.width 4 --agent.network.encoder.stack 2", 1
    )
    assert say(f"train prisoners-dilemma ppo {line} --out it")[0] == 0
    network = json.loads((tmp_path / "it" / "config.json").read_text())["agents"][0]["network"]
    assert (network["name"], network["width"], network["encoder"]["stack"]) == ("lstm", 4, 2)
    assert network["encoder"]["name"] == "flat"


def test_train_says_what_came_out(say, trained: Path, tmp_path: Path) -> None:
    code, out, _ = say(f"train prisoners-dilemma a2c {TINY} --out mine --json")
    assert code == 0
    result = json.loads(out)
    assert result["folder"] == "mine"
    assert result["iteration"] == 4
    assert -3 <= result["reward"] <= 0
    player = Path("players/player.safetensors")
    assert (tmp_path / "mine" / player).read_bytes() == (trained / player).read_bytes()
    notes = json.loads((tmp_path / "mine" / "run.json").read_text())
    assert notes["command"].startswith("comity train prisoners-dilemma a2c --agent.network tabular")


def test_runs_without_out_get_folders_of_their_own(say, tmp_path: Path) -> None:
    for expected in ("prisoners-dilemma-a2c-seed-0", "prisoners-dilemma-a2c-seed-0-2"):
        code, out, _ = say(f"train prisoners-dilemma a2c {TINY}")
        assert code == 0
        assert f"look: comity report runs/{expected}\n" in out
        assert (tmp_path / "runs" / expected / "config.json").is_file()


def test_settings_reach_the_experiment(say, tmp_path: Path) -> None:
    code, _, _ = say(
        f"train prisoners-dilemma tit-for-tat a2c {TINY.replace('--agent.', '--agent2.')} "
        "--game.temptation 0.5 --agent2.optimiser.learning-rate 1e-2 --rewards 0.5 --seed 9 --unroll 6 "
        "--out it"
    )
    assert code == 0
    config = json.loads((tmp_path / "it" / "config.json").read_text())
    assert (config["game"]["name"], config["game"]["others"]) == ("shared-reward", 0.5)
    assert config["game"]["game"]["temptation"] == 0.5
    assert config["game"]["game"]["horizon"] == 4
    assert [agent["name"] for agent in config["agents"]] == ["tit-for-tat", "a2c"]
    assert config["agents"][1]["optimiser"]["learning_rate"] == 0.01
    assert (config["seed"], config["unroll"], config["seating"]) == (9, 6, [[0], [1]])
    about = load_arrays(tmp_path / "it" / "players" / "player-2.safetensors", "comity-player").about
    assert about["seats"] == [1]


def test_league(say, tmp_path: Path) -> None:
    code, out, _ = say(
        "league prisoners-dilemma tit=tit-for-tat always-defect RUN --episodes 6 --horizon 5 "
        "--json l.json --csv l.csv --picture l.svg"
    )
    assert code == 0
    for words in ("tit", "always-defect", "mine", "-2.200 ±0.000", "6 episodes x 5 steps"):
        assert words in " ".join(out.split())
    data = json.loads((tmp_path / "l.json").read_text())
    assert data["game"] == "prisoners-dilemma"
    assert (data["horizon"], data["episodes"]) == (5, 6)
    assert data["players"] == ["tit", "always-defect", "mine"]
    assert data["mean"][0][1] == pytest.approx(-2.2)  # cooperates once: (-3 - 4 * 2) / 5
    assert data["mean"][1][0] == pytest.approx(-1.6)
    for i in range(3):
        for j in range(3):
            assert data["low"][i][j] <= data["mean"][i][j] + 1e-9
            assert data["mean"][i][j] <= data["high"][i][j] + 1e-9
    assert len((tmp_path / "l.csv").read_text().splitlines()) == 10
    picture = (tmp_path / "l.svg").read_text()
    assert picture.startswith("<svg")
    assert "-2.20" in picture
    code, out, _ = say(
        "league prisoners-dilemma tit=tit-for-tat always-defect RUN --episodes 6 --horizon 5 --json -"
    )
    assert json.loads(out) == data  # the same seed, the same league


def test_a_player_file_plays_as_its_run_does(say, trained: Path) -> None:
    file = trained / "players" / "player.safetensors"
    one = json.loads(say("league prisoners-dilemma RUN --episodes 8 --horizon 5 --json -")[1])
    two = json.loads(say(f"league prisoners-dilemma mine={file} --episodes 8 --horizon 5 --json -")[1])
    assert one.pop("sources") != two.pop("sources")
    assert one == two
