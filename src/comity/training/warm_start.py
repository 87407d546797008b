"""Training on from players that were trained before: their policies, with all else of a learner new."""

from pathlib import Path

import jax
from jaxtyping import PyTree

from comity.core.agent import Agent, Player
from comity.core.errors import ComityError
from comity.core.files import fill, named_arrays
from comity.core.game import GameSpec
from comity.play.specs import agent_data
from comity.training.experiment import Experiment
from comity.training.load import load_player

Policies = tuple[PyTree | None, ...]  # one per team; None for a team that begins anew


def start_policies(experiment: Experiment, source: str | Path | Player) -> Policies:
    """What each team that learns begins with; raises if a network is not that of the player."""
    spec = experiment.game.spec
    policies: list[PyTree | None] = []
    for agent, seats in zip(experiment.agents, experiment.seating, strict=True):
        if not agent.learns:
            policies.append(None)
            continue
        player = source if isinstance(source, Player) else load_player(source, experiment.game, seats[0])
        if not player.agent.learns:
            raise ComityError(f"{player.name} follows a rule and has nothing to train on from.")
        policies.append(fitting_policy(agent, spec, seats, player))
    return tuple(policies)


def start_name(source: str | Path | Player) -> str:
    """How a run notes what it began from."""
    return source.name if isinstance(source, Player) else str(source)


def fitting_policy(agent: Agent, spec: GameSpec, seats: tuple[int, ...], player: Player) -> PyTree:
    """The player's parameters as the agent's policy; the two may be of different algorithms."""
    state = jax.eval_shape(lambda: agent.init(jax.random.key(0), spec, seats))
    template = jax.eval_shape(agent.policy, state)
    try:
        policy: PyTree = fill(template, named_arrays(player.params), player.name)
    except ComityError:
        data = agent_data(player.agent)
        network = data.get("network") or data.get("learner", {}).get("network")
        known = f" It was trained with the network {network}." if network else ""
        raise ComityError(
            f"This run cannot start from {player.name}, whose policy network is another one: choose its "
            f"network settings, in a game in which it sees and does the same.{known}"
        ) from None
    if not _is_part(agent, state):
        raise ComityError(
            f"{type(agent).__name__} cannot start from a player: its policy is computed from what it learns."
        )
    return policy


def _is_part(agent: Agent, state: PyTree) -> bool:
    """Whether a policy's arrays are those of the state, or constants, and not computed from them."""
    try:
        found = _leaves(agent.policy(state))
    except TypeError:  # shapes cannot be computed with
        return False
    own = {id(leaf) for leaf in _leaves(state)}
    return all(id(leaf) in own or isinstance(leaf, jax.Array) for leaf in found)


def _leaves(tree: PyTree) -> list[object]:
    return jax.tree.leaves(tree)
