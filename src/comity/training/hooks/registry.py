"""The table of hooks, and hooks by their name on the command line."""

from comity.core.registry import Registry, Row
from comity.training.hooks.base import Hook
from comity.training.named import make_named

_HERE = "comity.training.hooks"

HOOKS = Registry(
    "hook",
    {
        "early-stop": Row(f"{_HERE}.early_stop:EarlyStop", "stops at a target, or when nothing improves"),
        "evaluation": Row(f"{_HERE}.evaluation:Evaluation", "plays the players, and keeps the best"),
        "time-limit": Row(f"{_HERE}.time_limit:TimeLimit", "stops after some minutes, to be resumed"),
        "checkpoints": Row(f"{_HERE}.checkpoints:Checkpoints", "the whole state, from time to time"),
        "finite-check": Row(f"{_HERE}.finite:FiniteCheck", "fails when a number is not finite"),
        "json-lines": Row(f"{_HERE}.trackers:JsonLines", "metrics in metrics.jsonl"),
        "tensorboard": Row(f"{_HERE}.trackers:TensorBoard", "metrics as TensorBoard event files"),
        "wandb": Row(f"{_HERE}.trackers:WeightsAndBiases", "metrics on Weights & Biases"),
    },
    group="comity.hooks",
)


def make_hook(spec: str) -> Hook:
    """The hook that `NAME` or `MODULE:CLASS` stands for, with settings as in `early-stop,target=0.5`."""
    hook: Hook = make_named(spec, HOOKS, Hook)
    return hook
