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
# # Your own game
#
# A game is a class with a few methods in JAX, for one episode and without batch axes; training, leagues, replays and reports then
# work unchanged. We write a common pool: each of three players takes 0, 1 or 2 units in a step, and what is left grows by half.

# %% tags=["parameters"]
ITERATIONS = 300  # of training
EPISODES = 100  # of each pairing

# %%
import jax
import jax.numpy as jnp

import comity
from comity.core.game import Environment, Seat, TimeStep
from comity.core.palette import SERIES
from comity.core.scene import Bar, Bars
from comity.core.spaces import Discrete


class CommonPool(Environment):
    """Who takes much earns much now; a pool that is nearly empty hardly grows."""

    players: int = 3  # how many share the pool
    capacity: float = 12.0  # of the pool
    growth: float = 0.5  # of what is left, per step
    horizon: int | None = 20  # steps in an episode

    @property
    def family(self):
        return "common-pool"

    @property
    def symmetric(self):
        return True  # one policy can serve in every seat

    @property
    def seats(self):
        level = Discrete(int(self.capacity) + 1)  # whole units left
        return tuple(Seat(f"player-{i + 1}", level, Discrete(3)) for i in range(self.players))

    def _seen(self, pool):
        return (jnp.floor(pool).astype(jnp.int32),) * self.players

    def reset(self, key):
        pool = jnp.float32(self.capacity)
        return (jnp.int32(0), pool), self._seen(pool)

    def step(self, key, state, actions):
        time, pool = state
        wanted = jnp.stack([action.astype(jnp.float32) for action in actions])
        share = jnp.minimum(1.0, pool / jnp.maximum(wanted.sum(), 1.0))  # less for all if there is too little
        reward = wanted * share
        left = pool - reward.sum()
        pool = jnp.minimum(left * (1.0 + self.growth), self.capacity)
        time = time + 1
        return (time, pool), TimeStep(
            obs=self._seen(pool),
            reward=tuple(reward[i] for i in range(self.players)),
            terminated=jnp.bool_(False),
            truncated=time >= self.horizon,
            alive=(jnp.bool_(True),) * self.players,
        )

    def draw(self, state):
        return Bars((Bar("pool", ((float(state[1]), SERIES[2]),), f"{float(state[1]):.1f}"),), most=self.capacity)


game = CommonPool()
game

# %% [markdown]
# ## Is it a game?
#
# `check_game` steps it and holds it to the contract: shapes, types, endings, drawings. It raises with one sentence if something
# is wrong.

# %%
from comity.games.registry import GAMES
from comity.testing import check_game

GAMES.register("common-pool", CommonPool, "three players share a pool that grows back")
check_game(game)

# %% [markdown]
# Runs are written to files, and files name games, so a class of a notebook gets a name. One in a file `pool.py` needs none: it is
# `pool:CommonPool` on the command line.
#
# ## Train in it

# %%
ppo = comity.make_agent("ppo", network="tabular", **{"optimiser.learning_rate": 0.02})
own = comity.train(game, ppo, iterations=ITERATIONS, batch=64)
own

# %%
shared = comity.train(game, ppo, iterations=ITERATIONS, batch=64, rewards="sum")
shared

# %% [markdown]
# ## Restraint pays, and is exploited
#
# In a game of three seats the row's player sits in one and the column's in the two others.

# %%
comity.league(game, {"own reward": own, "summed reward": shared, "random": "random"}, episodes=EPISODES)

# %%
comity.replay(game, {"summed reward": shared}, steps=8)

# %% [markdown]
# ## Shape the others
#
# Advantage Alignment needs nothing from the game but its rewards. Whether it keeps the pool is a question of its weight: this one
# is a first guess, and [the guide](../adalign.md) says what to change.

# %%
adalign = comity.make_agent("adalign", game, **{"learner.network": "tabular", "learner.critic.network": "tabular"})
aligned = comity.train(game, adalign, iterations=ITERATIONS, batch=64)
comity.league(game, {"own reward": own, "summed reward": shared, "adalign": aligned}, episodes=EPISODES)

# %% [markdown]
# More: [extending Comity](../extending.md) has games of turns, agents, critics, hooks and studies of your own, each a file.
# Next: [your own PettingZoo environment, to a deployed policy](pettingzoo_to_deployment.md).
