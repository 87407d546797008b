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
# # Why naive learners fail
#
# A naive learner follows its own reward and takes the others for a part of the world. Among self-interested agents there are two
# ways to train it, and both end badly: with its own reward it learns to defect, and with everybody's reward it learns
# to cooperate with anybody, and is exploited.

# %% tags=["parameters"]
ITERATIONS = 2000  # of training
EPISODES = 200  # of each pairing

# %% [markdown]
# ## Why: defection is dominant
#
# In one round of the prisoner's dilemma, defecting earns more whatever the other does. Game theory finds it without learning.

# %%
import comity
from comity import theory

theory.named_game("prisoners-dilemma")

# %%
dilemma = theory.named_game("prisoners-dilemma")
print("dominated:", theory.dominated_actions(dilemma, player=0))
print("pure equilibria:", theory.pure_equilibria(dilemma))
print("socially best:", theory.social_optimum(dilemma))

# %% [markdown]
# Repeated, cooperation can be an equilibrium: whoever defects is answered with defection. How patient must players be? This is
# the discount at which a grim trigger keeps both cooperating.

# %%
import numpy as np

defect = np.array([0.0, 1.0])
theory.grim_trigger_discount(dilemma, (0, 0), (defect, defect))

# %% [markdown]
# So with the discount of .9 used here cooperation is possible. But a naive learner does not find it: at the start nobody answers
# defection, so to defect earns more.
#
# ## Its own reward

# %%
game = comity.make_game("prisoners-dilemma")
naive = comity.make_agent(
    "a2c",
    network="tabular",
    discount=0.9,
    entropy_coef=0.5,
    **{"optimiser.learning_rate": 0.05, "schedule.final_entropy": 0.1},
)
own = comity.train(game, naive, iterations=ITERATIONS, batch=128)
own

# %% [markdown]
# ## Everybody's reward
#
# `rewards="sum"` adds the other's reward to its own, so there is no dilemma any more.

# %%
shared = comity.train(game, naive, iterations=ITERATIONS, batch=128, rewards="sum")
shared

# %% [markdown]
# ## Who exploits whom

# %%
league = comity.league(
    game,
    {
        "naive": own,
        "naive, shared": shared,
        "adalign": "zoo:prisoners-dilemma/adalign/0",
        "always-defect": "always-defect",
        "tit-for-tat": "tit-for-tat",
    },
    episodes=EPISODES,
)
league

# %% [markdown]
# - **naive** earns about -2 with itself, as bad as it gets for both.
# - **naive, shared** earns -1 with itself, and about -3 against always-defect: it has no defence, since in training nobody ever
#   defected for its own gain.
# - **adalign**, from the zoo, does both: -1 with itself, and against always-defect it loses little but the first step.
#
# What the numbers above say in one picture: an episode of each against always-defect.

# %%
comity.replay(game, {"naive, shared": shared, "always-defect": "always-defect"}, steps=6)

# %%
comity.replay(game, {"adalign": "zoo:prisoners-dilemma/adalign/0", "always-defect": "always-defect"}, steps=6)

# %% [markdown]
# `make demo` shows the same with training from nothing, and `comity reproduce ipd` with ten seeds and the claims of the paper.
# Next: [your own game](your_game.md).
