"""The command line on third-party environments: from a name, and from a user's own file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

OWN = """
import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

class Echo(ParallelEnv):
    metadata = {"name": "echo"}
    def __init__(self, size):
        self.possible_agents = ["first", "second"]
        self.agents = []
        self.size = size
    def observation_space(self, agent):
        return spaces.Box(-1, 1, (self.size,))
    def action_space(self, agent):
        return spaces.Discrete(2)
    def reset(self, seed=None, options=None):
        self.agents, self.time = list(self.possible_agents), 0
        return {a: np.zeros(self.size, np.float32) for a in self.agents}, {a: {} for a in self.agents}
    def step(self, actions):
        self.time += 1
        inside, over = self.agents, self.time == 5
        self.agents = [] if over else inside
        obs = {a: np.zeros(self.size, np.float32) for a in inside}
        paid = {a: float(actions[a]) for a in inside}
        return obs, paid, dict.fromkeys(inside, False), dict.fromkeys(inside, over), {}

def make_env(size=2):
    return Echo(size)
"""
TINY = "--iterations 4 --batch 4 --unroll 5 --chunk 2 --no-tensorboard --agent.network mlp"


def comity(line: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    own = {k: v for k, v in os.environ.items() if k != "COMITY_TRUST"}
    return subprocess.run(
        [sys.executable, "-m", "comity", *line.split()],
        cwd=folder, capture_output=True, text=True, env={**own, **environment},
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(OWN)
    return tmp_path


@pytest.mark.long
def test_an_environment_of_ones_own_from_its_import_path(folder: Path) -> None:
    train = f"train --game mine:make_env mappo {TINY} --game.arguments size=3 --game.workers 1 --out run"
    done = comity(train, folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "run" / "players").exists()
    # A file that names it is not trusted by itself.
    refused = comity("train --resume run --iterations 6", folder)
    assert refused.returncode == 2
    assert "COMITY_TRUST=mine:make_env" in refused.stderr
    resumed = comity("train --resume run --iterations 6", folder, COMITY_TRUST="mine:make_env")
    assert resumed.returncode == 0, resumed.stderr
    settings = "--game.arguments size=3 --game.workers 0 --episodes 4 --horizon 5"
    league = comity(f"league mine:make_env trained=run random {settings}", folder)
    assert league.returncode == 0, league.stderr
    assert "trained" in league.stdout


def test_a_pettingzoo_environment_by_its_module(folder: Path) -> None:
    done = comity(
        f"train pettingzoo:mpe2.simple_spread_v3 mappo {TINY} --game.workers 0 --out spread", folder
    )
    assert done.returncode == 0, done.stderr
    resumed = comity("train --resume spread --iterations 6", folder)  # a package that is known
    assert resumed.returncode == 0, resumed.stderr


@pytest.mark.long
def test_an_environment_of_turns_is_trained_and_resumed(folder: Path) -> None:
    game = "pettingzoo:pettingzoo.classic.tictactoe_v3"
    done = comity(f"train {game} ppo {TINY} --game.workers 0 --out turns", folder)
    assert done.returncode == 0, done.stderr
    resumed = comity("train --resume turns --iterations 6", folder)
    assert resumed.returncode == 0, resumed.stderr
    whole = comity(f"train {game} ppo {TINY.replace('4', '6', 1)} --game.workers 0 --out whole", folder)
    assert whole.returncode == 0, whole.stderr
    numbers = [(folder / run / "metrics.jsonl").read_text() for run in ("turns", "whole")]
    assert numbers[0] == numbers[1]


def test_mistakes_are_told_in_one_line(folder: Path) -> None:
    for name, says in (("nowhere:make", "cannot be imported"), ("mine:other", "has no other")):
        done = comity(f"train {name} ppo {TINY}", folder)
        assert done.returncode == 2
        assert says in done.stderr
        assert "Traceback" not in done.stderr
