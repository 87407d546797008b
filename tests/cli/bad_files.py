"""Files that commands must refuse, and code of a user's own that fails: made once for all tests."""

import json
import shutil
from pathlib import Path
from typing import Any

RUNS = ("cut-config", "latin-config", "cut-metrics", "cut-player", "no-players", "cut-checkpoint")
PLUG_INS = '''
"""Games and environments that do not work."""

import gymnasium
import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv, ParallelEnv


class NoGame:
    pass


not_a_class = 3


def make_nothing():
    return 3


def make_and_fail():
    raise FileNotFoundError("no such level: cave.txt")


class WrongShape(gymnasium.Env):
    observation_space = spaces.Box(0.0, 1.0, (4,))
    action_space = spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        return np.zeros(3, np.float32), {}

    def step(self, action):
        return np.zeros(3, np.float32), 0.0, False, False, {}


class FailsLater(WrongShape):
    def reset(self, seed=None, options=None):
        return np.zeros(4, np.float32), {}

    def step(self, action):
        raise ZeroDivisionError("division by zero\\nin two lines")


class OddSpace(WrongShape):
    action_space = spaces.Text(3)


class Turns(AECEnv):
    metadata = {"name": "turns", "is_parallelizable": False}
    possible_agents = ["a", "b"]
    render_mode = None

    def observation_space(self, agent):
        return spaces.Discrete(2)

    def action_space(self, agent):
        return spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        self.agent_selection = "a"
        self.rewards = {a: 0.0 for a in self.agents}
        self._cumulative_rewards = dict(self.rewards)
        self.terminations = {a: False for a in self.agents}
        self.truncations = {a: False for a in self.agents}
        self.infos = {a: {} for a in self.agents}

    def observe(self, agent):
        return 0

    def step(self, action):
        raise NotImplementedError("a move of " + self.agent_selection)


class NoSelection(Turns):
    def reset(self, seed=None, options=None):
        super().reset()
        del self.agent_selection


class Nobody(ParallelEnv):
    metadata = {"name": "nobody"}
    possible_agents = []

    def observation_space(self, agent):
        return spaces.Discrete(2)

    def action_space(self, agent):
        return spaces.Discrete(2)
'''


def make_bad_files(folder: Path, run: Path, league: Path) -> None:
    """Fills a folder with them; `run` is a trained run, `league` a league's file."""
    (folder / "plug_ins.py").write_text(PLUG_INS)
    (folder / "broken_module.py").write_text("import surely_not_installed\n")
    (folder / "wrong_syntax.py").write_text("def f(:\n")
    (folder / "empty").mkdir()
    for name in ("folder.csv", "folder.json", "folder.nfg", "folder.safetensors", "folder.toml"):
        (folder / name).mkdir()
    latin = "caf\u00e9".encode("latin-1")
    for suffix in ("csv", "json", "nfg", "toml", "safetensors"):
        (folder / f"latin.{suffix}").write_bytes(latin)
        (folder / f"nothing.{suffix}").write_bytes(b"")
    _experiments(folder, run)
    _players(folder, run)
    text = league.read_text()
    (folder / "league.json").write_text(text)
    (folder / "league-cut.json").write_text(text[:-20])
    data = json.loads(text)
    (folder / "league-1.json").write_text(json.dumps({**data, "version": 1}))
    (folder / "league-odd.json").write_text(json.dumps({**data, "mean": [[1.0]]}))
    (folder / "league-nan.json").write_text(json.dumps({**data, "mean": [[None] * 2] * 2}))
    (folder / "game.csv").write_text(",a,b\na,3 3,0 5\nb,5 0,1 1\n")
    (folder / "wide.csv").write_text(",a,b,c\na,3 3,0 5,1 1\nb,5 0,1 1,1 1\n")
    (folder / "ragged.csv").write_text("1 2,3 4\n5 6\n")
    (folder / "words.csv").write_text("1 2,3 4\n5 6,7 eight\n")
    (folder / "nan.csv").write_text("1 2,nan 4\n5 6,7 8\n")
    (folder / "cut.json").write_text('{"row": [[1, 2], [3')
    (folder / "cut.nfg").write_text('NFG 1 R "x" { "a" "b" } { 2 2 }\n1 2 3')
    (folder / "version-2.nfg").write_text('NFG 2 R "x" { "a" "b" } { 2 2 }\n1 2 3 4 5 6 7 8')
    (folder / "votes.json").write_text('{"weights": [], "quota": 1}')
    (folder / "three.json").write_text(json.dumps({"payoffs": [[[[1, 2], [3, 4]]] * 2] * 3}))


def _experiments(folder: Path, run: Path) -> None:
    good: dict[str, Any] = {"game": "prisoners-dilemma", "agent": "a2c", "iterations": 2}
    changes: dict[str, dict[str, Any]] = {
        "unknown-setting": {"iteratons": 3},
        "unknown-game": {"game": "prisoner-dilemma"},
        "unknown-agent": {"agent": "a2cc"},
        "two-agents": {"agents": ["a2c"]},
        "no-agents": {"agent": None, "agents": []},
        "wrong-type": {"iterations": "many"},
        "code": {"game": "plug_ins:NoGame"},
        "agent-setting": {"agent": {"name": "a2c", "discont": 0.9}},
        "agent-range": {"agent": {"name": "a2c", "discount": 1.5}},
    }
    for name, change in changes.items():
        data = {key: value for key, value in {**good, **change}.items() if value is not None}
        (folder / f"{name}.json").write_text(json.dumps(data))
    (folder / "list.json").write_text("[1, 2]")
    (folder / "cut.toml").write_text('game = "prisoners-dil')


def _players(folder: Path, run: Path) -> None:
    """Players, checkpoints and run folders that are damaged or older."""
    for kind, path in {
        "player": run / "players" / "player.safetensors",
        "checkpoint": sorted((run / "checkpoints").glob("*.safetensors"))[-1],
    }.items():
        whole = path.read_bytes()
        (folder / f"{kind}.safetensors").write_bytes(whole)
        (folder / f"{kind}-cut.safetensors").write_bytes(whole[:-1])
        (folder / f"{kind}-head.safetensors").write_bytes(whole[:200])
        (folder / f"{kind}-flip.safetensors").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        (folder / f"{kind}-1.safetensors").write_bytes(whole.replace(b'"version":"2"', b'"version":"1"'))
        (folder / f"{kind}-7.safetensors").write_bytes(whole.replace(b'"version":"2"', b'"version":"7"'))
    for name in RUNS:
        shutil.copytree(run, folder / name)
    config = (run / "config.json").read_text()
    (folder / "cut-config" / "config.json").write_text(config[:50])
    (folder / "latin-config" / "config.json").write_bytes("caf\u00e9".encode("latin-1"))
    (folder / "cut-metrics" / "metrics.jsonl").write_text('{"iteration": 1, "rew\n')
    for path in (folder / "cut-player" / "players").glob("*.safetensors"):
        path.write_bytes(path.read_bytes()[:-1])
    shutil.rmtree(folder / "no-players" / "players")
    for path in (folder / "cut-checkpoint" / "checkpoints").glob("*.safetensors"):
        path.write_bytes(path.read_bytes()[:-1])
