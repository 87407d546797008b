"""Times JaxMARL's own training scripts; run by `benchmarks/peers/compare.py` with JaxMARL's interpreter.

    python of_jaxmarl.py CHECKOUT '{"recurrent": false, "environments": 16, ...}'

Prints one JSON line: seconds of compilation, CPU seconds and joint steps of the run.
"""

import importlib
import json
import sys
import time
from pathlib import Path

import jax
import wandb


def main(checkout: Path, settings: dict) -> None:
    """Compiles one training run and takes the CPU time of the compiled call."""
    recurrent, updates = settings["recurrent"], settings["updates"]
    folder, script = ("MAPPO", "mappo_rnn_mpe") if recurrent else ("IPPO", "ippo_ff_mpe")
    sys.path.insert(0, str(checkout / "baselines" / folder))
    config = {
        "ENV_NAME": "MPE_simple_spread_v3", "ENV_KWARGS": {}, "NUM_ENVS": settings["environments"],
        "NUM_STEPS": settings["steps"], "UPDATE_EPOCHS": settings["epochs"],
        "NUM_MINIBATCHES": settings["minibatches"], "LR": 1e-3, "GAMMA": 0.99, "GAE_LAMBDA": 0.95,
        "CLIP_EPS": 0.2, "SCALE_CLIP_EPS": False, "ENT_COEF": 0.01, "VF_COEF": 0.5, "MAX_GRAD_NORM": 0.5,
        "ACTIVATION": "relu", "ANNEAL_LR": False, "FC_DIM_SIZE": settings["width"],
        "GRU_HIDDEN_DIM": settings["width"],
        "TOTAL_TIMESTEPS": settings["environments"] * settings["steps"] * updates,
    }  # fmt: skip
    wandb.init(mode="disabled")
    train = importlib.import_module(script).make_train(config)
    begun = time.process_time()
    compiled = jax.jit(train).lower(jax.random.PRNGKey(0)).compile()
    compile_seconds = time.process_time() - begun
    begun = time.process_time()
    jax.block_until_ready(compiled(jax.random.PRNGKey(0)))
    seconds = time.process_time() - begun
    steps = config["TOTAL_TIMESTEPS"]
    print(json.dumps({"compile_seconds": compile_seconds, "seconds": seconds, "steps": steps}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
