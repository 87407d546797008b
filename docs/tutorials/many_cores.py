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
# # From one core to many
#
# What takes long is many runs: seeds and settings. They can share one process, take a core each, or train in one program on an
# accelerator, and give the same numbers.

# %% tags=["parameters"]
ITERATIONS = 100  # of each run
SEEDS = 2  # of each combination

# %% [markdown]
# ## One run, and what it takes
#
# Before anything is allocated, the arrays of a run are counted; one that does not fit is refused with the number.

# %%
import comity
from comity.training.memory_estimate import estimate_memory

experiment = comity.make_experiment(
    comity.make_game("coin"), comity.make_agent("ppo"), iterations=ITERATIONS, batch=512
)
estimate_memory(experiment)

# %% [markdown]
# ## A sweep over seeds and settings
#
# Each combination has a folder, and what is finished is not repeated, so a sweep that was stopped goes on.

# %%
import time

settings = dict(
    vary={"agent.optimiser.learning_rate": [0.002, 0.05]},
    seeds=SEEDS,
    iterations=ITERATIONS,
    batch=64,
    **{"agent.network": "tabular"},
)


def timed(executor):
    begun = time.monotonic()
    found = comity.sweep("prisoners-dilemma", "a2c", executor=executor, out=f"runs/{executor}", **settings)
    print(f"{executor}: {time.monotonic() - begun:.1f} s")
    return found


one = timed("in-process")
for row in one.table():
    print(row["folder"], round(row["mean"], 3))

# %% [markdown]
# ## One process per core
#
# `processes` is the default for several runs on a CPU. A run in a process of its own gives the same numbers, bit for bit.

# %%
many = timed("processes")
[
    one_run.read_bytes() == (many.folder / one_run.relative_to(one.folder)).read_bytes()
    for one_run in sorted(one.folder.glob("*/*/metrics.jsonl"))
]

# %% [markdown]
# ## One program
#
# `vectorised` trains runs that differ only in seeds and [tunable numbers](../architecture.md#protocols) in one compiled program: the
# default on accelerators, where a thousand small runs cost little more than one. It agrees within floating-point tolerance.

# %%
together = timed("vectorised")
for row in together.table():
    print(row["folder"], round(row["mean"], 3))

# %% [markdown]
# On a CPU with few cores processes win; measure on your machine. These times include compilation.
#
# ## Stopped, and gone on with
#
# A run that is stopped, by Ctrl-C, by `--minutes` or by a power cut, goes on from its last checkpoint and ends bit-identical to one
# that was not.

# %%
run = comity.train("prisoners-dilemma", "a2c", iterations=ITERATIONS, batch=64, out="runs/long", **{"agent.network": "tabular"})
sorted(path.name for path in run.folder.iterdir())

# %% [markdown]
# ```
# comity train --resume runs/long --iterations 500    # 500 in all
# comity train coin adalign --seeds 10 --out runs/ten # one process per core
# ```
#
# On a GPU: `pip install 'comity[cuda]'`, and nothing else changes. Where runs train is an
# [executor](../extending.md#a-population): a class with one method, `run(jobs, report)`, so that a cluster's queue is a file of
# your own. [Training](../training.md) has folders, resuming, evaluation and hooks.
