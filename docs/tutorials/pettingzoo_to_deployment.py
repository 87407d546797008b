# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Your own PettingZoo environment, to a deployed policy
#
# An environment that others wrote, or that you have in Python already, needs no rewriting: it is stepped by worker processes
# while the learner runs in JAX. In the end the policy is one file that acts with NumPy alone.

# %% tags=["parameters"]
ITERATIONS = 100  # of training
BATCH = 16  # environments side by side

# %% [markdown]
# ## The environment
#
# Two robots stand at the ends of a corridor and must meet. An ordinary file, as you may have one:

# %%
from pathlib import Path

Path("corridor.py").write_text('''
import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv


class Corridor(ParallelEnv):
    """Both are paid 1 when they stand on one cell; a step costs .05."""

    metadata = {"name": "corridor_v0"}

    def __init__(self, length=7):
        self.length = length
        self.possible_agents = ["left", "right"]

    def observation_space(self, agent):
        return spaces.Box(0.0, 1.0, (2,), np.float32)  # where it is, where the other is

    def action_space(self, agent):
        return spaces.Discrete(3)  # left, stay, right

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        draw = np.random.default_rng(seed)
        self.place = {"left": int(draw.integers(0, 2)), "right": self.length - 1 - int(draw.integers(0, 2))}
        self.time = 0
        return self._seen(), {agent: {} for agent in self.agents}

    def _seen(self):
        a, b = (self.place[agent] / (self.length - 1) for agent in self.possible_agents)
        return {"left": np.float32([a, b]), "right": np.float32([b, a])}

    def step(self, actions):
        for agent, action in actions.items():
            self.place[agent] = int(np.clip(self.place[agent] + action - 1, 0, self.length - 1))
        self.time += 1
        met = self.place["left"] == self.place["right"]
        late = self.time >= 20
        everyone = list(self.agents)
        reward = dict.fromkeys(everyone, 1.0 if met else -0.05)
        if met or late:
            self.agents = []
        return (
            self._seen(), reward, dict.fromkeys(everyone, met),
            dict.fromkeys(everyone, late and not met), {agent: {} for agent in everyone},
        )


def make_env(length=7):
    return Corridor(length)
''')

# %% [markdown]
# ## As a game
#
# `MODULE:FUNCTION` names a function that makes the environment; `pettingzoo:MODULE` and `gymnasium:NAME` name installed ones.
# `workers=0` steps it in this process, which is enough for a small one; by default there is a worker for each core.

# %%
import sys

sys.path.insert(0, "")  # so that the file beside the notebook is found
import comity

game = comity.make_game("corridor:make_env", arguments=("length=7",), workers=0)
game

# %% [markdown]
# ## Training
#
# The two have one goal, so [MAPPO](../algorithms/mappo.md): the critic sees what both see, the players only their own view.

# %%
agent = comity.make_agent("mappo", network="mlp", **{"network.width": 32, "optimiser.learning_rate": 3e-3})
run = comity.train(game, agent, iterations=ITERATIONS, batch=BATCH, unroll=32, share="none", out="runs/corridor")
run

# %%
run.metrics["episode_return"][-1], run.metrics["episode_length"][-1]

# %% [markdown]
# They start four to six cells apart, so two or three steps are the least.
#
# ## One file that acts with NumPy alone

# %%
player = run.players[0]
comity.export_player(player, "left.pyz")
print(Path("left.pyz").stat().st_size, "bytes")

# %% [markdown]
# It played beside the original before it was written, and would have been refused had they differed. Here it acts in a process that
# cannot import JAX or Comity:

# %%
import subprocess

program = """
import sys

sys.modules["jax"] = sys.modules["comity"] = None  # neither can be imported
sys.path.insert(0, "left.pyz")
import comity_player

player = comity_player.load("left.pyz")
print(player.probabilities([0.0, 1.0]).round(3), player.act([0.0, 1.0], deterministic=True))
"""
done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
print(done.stdout or done.stderr)

# %% [markdown]
# ## The same in your own loop

# %%
from corridor import Corridor

left, right = (own.copy() for own in run.players)
env = Corridor()
obs, _ = env.reset(seed=5)
while env.agents:
    actions = {
        "left": int(left.act(obs["left"], deterministic=True)),
        "right": int(right.act(obs["right"], deterministic=True)),
    }
    obs, reward, *_ = env.step(actions)
    print(env.place, reward["left"])

# %% [markdown]
# [Using trained players](../using.md) has a service around such a file (`examples/serve.py`) and all that an exported player can
# do; [teams and third-party environments](../teams.md#third-party-environments) says which spaces work and what is seeded.
