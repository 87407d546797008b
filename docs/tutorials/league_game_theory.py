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
# # Game theory from a league
#
# A league says what each player earns against each. Read as a game, whose actions are "which player to send", it has equilibria,
# a ranking, and dynamics: who would take over if players copied the successful?

# %% tags=["parameters"]
EPISODES = 200  # of each pairing
ITERATIONS = 300  # of the learner that seeks a best response

# %% [markdown]
# ## A league

# %%
import comity

game = comity.make_game("prisoners-dilemma")
league = comity.league(
    game,
    {
        "adalign": "zoo:prisoners-dilemma/adalign/0",
        "loqa": "zoo:prisoners-dilemma/loqa/0",
        "tit-for-tat": "tit-for-tat",
        "always-cooperate": "always-cooperate",
        "always-defect": "always-defect",
    },
    episodes=EPISODES,
)
league

# %% [markdown]
# ## As a game
#
# An empirical game keeps the league's uncertainty: the regret of an equilibrium has an interval too.

# %%
from comity import theory
from comity.evaluate.empirical import empirical_game

empirical = empirical_game(league)
for found in theory.vertex_enumeration(empirical.game)[:4]:
    sent = {name: round(float(p), 2) for name, p in zip(league.players, found.strategies[0]) if p > 0.005}
    print(sent, "earns", round(float(found.payoffs[0]), 3), "regret", f"{found.regret:.1e}")

# %% [markdown]
# ## Who would take over?
#
# Alpha-rank: the long-run share of each player in a population that copies the successful and seldom makes a mistake.

# %%
ranks = theory.alpha_rank(league.mean, alpha=10.0)
for name, share in sorted(zip(league.players, ranks.distribution), key=lambda own: -own[1]):
    print(f"{name:18s} {float(share):.3f}")

# %% [markdown]
# The replicator dynamics start from an even population: the share of a player grows by what it earns above the mean.

# %%
import matplotlib.pyplot as plt
import numpy as np

start = np.full((1, len(league.players)), 1 / len(league.players))
path = np.asarray(theory.run_replicator(league.mean, start, steps=2000, keep_every=10))[:, 0]
figure, axes = plt.subplots(figsize=(6, 3))
for i, name in enumerate(league.players):
    axes.plot(np.arange(len(path)) * 10, path[:, i], label=name)
axes.set_xlabel("step")
axes.set_ylabel("share of the population")
axes.legend(fontsize=8)
plt.show()

# %% [markdown]
# Defectors fade because they find fewer and fewer to exploit; once they are gone, those who cooperate earn alike.
#
# ## Can it be exploited by somebody who is not in the league?
#
# A league only knows its members. A fresh learner that is trained against one player for nothing but its own reward is a
# lower bound on what the best opponent gains.

# %%
learner = comity.make_agent("a2c", network="tabular", **{"optimiser.learning_rate": 0.1})
for name in ("tit-for-tat", "always-cooperate"):
    found = comity.exploit(game, name, learner, iterations=ITERATIONS, batch=64)
    gain = found.mean
    print(f"{name:18s} a best response gains {gain.mean:.2f} [{gain.low:.2f}, {gain.high:.2f}] per step")

# %% [markdown]
# ## Beyond the league: PSRO
#
# Policy-space response oracles add a best response to the league again and again, until none gains. In rock-paper-scissors,
# from rock alone, that ends at a third each.

# %%
cycle = comity.make_game("rock-paper-scissors", horizon=1)
learner = comity.make_agent("a2c", network="tabular", entropy_coef=0.0, **{"optimiser.learning_rate": 0.1})
rock = (["always-cooperate"], ["always-cooperate"])  # the first action
result = comity.psro(cycle, learner, initial=rock, iterations=min(ITERATIONS, 100), batch=64)
print(result.gains)
print(result.strategies)

# %% [markdown]
# `comity analyse league.json` does all this for a saved league, `comity solve GAME` for a table of payoffs; the
# [guide](../theory.md) lists every solver with its limits.
