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
# # Train your first cooperator
#
# Two players meet sixteen times in a row and choose each time to cooperate (C) or to defect (D). Whoever defects earns one
# more, whatever the other does; if both defect, both earn one less than if both had cooperated. We train an agent that
# cooperates with its own kind and is not exploited by those who do not.

# %% tags=["parameters"]
ITERATIONS = 8000  # of training
EPISODES = 200  # of each pairing

# %% [markdown]
# ## The game

# %%
import comity

game = comity.make_game("prisoners-dilemma")
game

# %% [markdown]
# Scripted players make the dilemma visible. Each row is what a player earns per step against the column's: always-defect takes
# most from always-cooperate, and tit-for-tat neither takes nor is taken from.

# %%
scripted = ["always-cooperate", "always-defect", "tit-for-tat"]
comity.league(game, scripted, episodes=EPISODES)

# %% [markdown]
# ## Training
#
# `adalign` is [Advantage Alignment](../algorithms/adalign.md): it raises the probability of what is good for the other when
# the interaction was good for itself so far. Where the zoo has a recipe for an agent in a game, its settings are the defaults.

# %%
run = comity.train("prisoners-dilemma", "adalign", iterations=ITERATIONS, seed=0)
run

# %% [markdown]
# The line is the reward per step: mutual defection pays -2, mutual cooperation -1.
#
# ## Does it cooperate, and can it be exploited?

# %%
player = run.players[0]
league = comity.league(
    game, {"adalign": player, **{name: name for name in scripted}}, episodes=EPISODES
)
league

# %% [markdown]
# `self-play` less `exploitation` is what a player secures: what it earns with its own kind, less the most that an opponent earns
# more than it when they meet. The best come first.

# %%
from comity.evaluate.standing import standings

for row in standings(league):
    print(f"{row.player:18s} self-play {row.self_play:6.3f}   exploitation {row.exploitation:5.3f}   secures {row.secured:6.3f}")

# %% [markdown]
# ## What it does
#
# How often it cooperates after each pair of last actions, its own first: after CC it goes on, and after the other defected alone
# (CD) it answers. A twentieth of all actions is replaced by random ones, so that all four states are met.

# %%
import jax

from comity.evaluate.behaviour import behaviour

seen = behaviour(game, player, player, jax.random.key(0), tremble=0.05)
{state: round(float(share), 2) for state, share in zip(seen.states, seen.probability[:, 0])}

# %% [markdown]
# ## See it
#
# An episode against always-defect: it cooperates once, is defected against, and stops.

# %%
comity.replay(game, {"adalign": player, "always-defect": "always-defect"}, steps=8)

# %% [markdown]
# Next: [why naive learners fail](naive_learners.md), and the same in the Coin Game with `comity train coin adalign`, which
# takes about 400 CPU-seconds.
