"""What the tests of shaping agents share: plain settings, something that was played, and slow references."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from comity.agents.on_policy.a2c import A2C
from comity.agents.on_policy.base import ActorCriticAgent, LearnerState
from comity.agents.shaping.adalign import AdvantageAlignment, Alignment
from comity.agents.shaping.base import ShapingAgent
from comity.agents.shaping.opponent_values import OpponentValues, Other, OwnView
from comity.agents.shaping.past import Before
from comity.core.agent import Agent, Context, add_group_axis
from comity.core.batch import Trajectory, team_batch
from comity.core.game import Environment
from comity.core.matchmaker import Occupant
from comity.learn.advantages import over_team
from comity.learn.critics import Critic
from comity.learn.optimisers import Adam
from comity.nets import Tabular
from comity.nets.normaliser import Normaliser
from comity.play.rollout import reset, rollout

Learner = TypeVar("Learner", bound=ActorCriticAgent)

TABLE = Tabular()
NOW = Context(jnp.float32(0.0))
OWN_VIEW = OwnView()


def quick_jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiled without optimisation: these programs run once."""
    options = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
    return jax.jit(function, compiler_options=options)


# ---- Nothing but the equations -------------------------------------------------------------------------


def plain_critic(**changes: Any) -> Critic:
    """A table that learns by Huber's loss, with a slow copy."""
    settings: dict[str, Any] = {
        "network": TABLE, "learning_rate": 1e-2, "value_coef": 1.0, "td_lambda": 0.9, "target_tau": 0.05,
        "loss": "huber",
    }  # fmt: skip
    return Critic(**{**settings, **changes})


def plain_learner(kind: type[Learner], **changes: Any) -> Learner:
    """A learner without entropy, bounds of the gradient and normalised advantages."""
    settings: dict[str, Any] = {
        "network": TABLE, "critic": plain_critic(), "optimiser": Adam(max_grad_norm=1e9, epsilon=1e-6),
        "discount": 0.9, "gae_lambda": 0.8, "entropy_coef": 0.0, "normalise_advantages": "none",
    }  # fmt: skip
    return kind(**{**settings, **changes})


def plain(
    learner: A2C | None = None, opponent_values: OpponentValues = OWN_VIEW, **term: Any
) -> AdvantageAlignment:
    """Advantage Alignment as in its equations."""
    own = plain_learner(A2C) if learner is None else learner
    return AdvantageAlignment(own, Alignment(past_lambda=0.0, opponent_lambda=0.5, **term), opponent_values)


# ---- Something that was played -------------------------------------------------------------------------


class Played(NamedTuple):
    """A rollout with ends in the middle, and a learner whose policy and critic are not trivial."""

    joint: Trajectory
    state: LearnerState


def played(
    game: Environment, agent: Agent, steps: int = 7, batch: int = 3, seats: tuple[int, ...] = (0,)
) -> Played:
    """A rollout in which one agent sits everywhere."""

    def run() -> Played:
        state = agent.init(jax.random.key(0), game.spec, seats)
        state = state._replace(policy=shaken(state.policy, 1), critic=shaken_critic(state.critic, 2))
        params = add_group_axis(agent.behaviour(state, jnp.float32(0.0)))
        occupants = (Occupant(tuple(range(len(game.seats))), agent, params),)
        envs = reset(game, occupants, batch, jax.random.key(3))
        return Played(rollout(game, occupants, envs, jax.random.key(4), steps)[0], state)

    result: Played = quick_jit(run)()
    return result


def shaken(tree: PyTree, seed: int, size: float = 1.0) -> PyTree:
    """Parameters with noise added; what was counted (running statistics) stays as it is."""
    leaves, structure = jax.tree.flatten(tree, is_leaf=lambda x: isinstance(x, Normaliser))
    keys = jax.random.split(jax.random.key(seed), len(leaves))
    noise = [
        x if isinstance(x, Normaliser) else x + size * jax.random.normal(k, x.shape, x.dtype)
        for x, k in zip(leaves, keys, strict=True)
    ]
    return jax.tree.unflatten(structure, noise)


def shaken_critic(critic: PyTree, seed: int, size: float = 1.0) -> PyTree:
    """A critic with noise added to all but its statistics of returns."""
    return eqx.tree_at(lambda net: net.statistics, shaken(critic, seed, size), critic.statistics)


# ---- What agents make of it ----------------------------------------------------------------------------


class Pieces(NamedTuple):
    """Aligned advantages and what they are made of, [time, seat, game]."""

    own: Array
    past: Array
    term: Array
    total: Array


def pieces(agent: ShapingAgent, seats: tuple[int, ...], state: LearnerState, joint: Trajectory) -> Pieces:
    """Own advantages, own past, the term and the sum of all, with the agent's own functions."""
    batch, learner = team_batch(joint, seats), agent.learner
    read = agent.opponent_values.read(learner, state, batch)
    values = learner.values(state.critic, state.policy, read)

    def total(weight: float) -> Array:
        weighted = eqx.tree_at(lambda agent: agent.term.weight, agent, weight)
        return weighted.shaped_advantages(state, batch, read, values).advantage

    own = total(0.0)
    places = jnp.asarray(agent.opponent_values.places(batch))
    past = learner.critic.advantages(values, read, 0, learner.discount, agent.term.past_lambda)[:, places]
    others = agent.opponent_values.others(learner, state, values, read, batch, agent.term.opponent_lambda)
    nothing = jnp.zeros_like(past[:1])

    def along(own: Array, ended: Array, other: Other, before: Array) -> tuple[Array, Array]:
        return agent.term(own, ended, other, Before(before[0], before[0]), learner.discount)

    so_far, _ = over_team(along)(past, batch.ended, others[0], nothing)
    return Pieces(own, so_far, total(1.0) - own, total(agent.term.weight))


def find(agent: ShapingAgent, found: Played, seats: tuple[int, ...]) -> Pieces:
    """The pieces along what was played."""
    result: Pieces = quick_jit(partial(pieces, agent, seats))(found.state, found.joint)
    return result


def critic_loss_of(agent: ShapingAgent, seats: tuple[int, ...]) -> Callable[..., Array]:
    """How far the agent's critic is from its targets."""

    def loss(state: LearnerState, joint: Trajectory) -> Array:
        learner = agent.learner
        read = agent.opponent_values.read(learner, state, team_batch(joint, seats))
        now = learner.values(state.critic, state.policy, read)
        targets = learner.critic.targets(now, learner.slow_values(state, now, read), read, learner.discount)
        return learner.critic.error(state.critic, now, targets, read)

    return loss


def largest(tree: PyTree) -> float:
    """The largest number in a tree, by size."""
    return max(float(jnp.abs(x).max()) for x in jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array)))


# ---- Slow references -----------------------------------------------------------------------------------


def slow_advantages(
    discount: float, state: LearnerState, joint: Trajectory, gae_lambda: float, action_values: bool = False
) -> np.ndarray:
    """[time, seat, game], from the tables of the critic and the policy."""
    table = np.asarray(state.critic.head.weight)
    if action_values:
        policy = np.asarray(jax.nn.softmax(state.policy.head.linear.weight))
        table = (table * policy).sum(axis=1, keepdims=True)
    ended = np.asarray(joint.step.terminated | joint.step.truncated)
    time, games = ended.shape
    found = np.zeros((time, len(joint.obs), games))
    for seat in range(len(joint.obs)):
        now, following = np.asarray(joint.obs[seat]), np.asarray(joint.step.obs[seat])
        reward = np.asarray(joint.step.reward[seat])
        for game in range(games):
            for t in range(time):
                weight = 1.0
                for k in range(t, time):
                    difference = reward[k, game] + discount * table[following[k, game], 0]
                    found[t, seat, game] += weight * (difference - table[now[k, game], 0])
                    weight *= discount * gae_lambda
                    if ended[k, game]:
                        break
    return found


def slow_terms(discount: float, joint: Trajectory, past: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Equation 66 in the form of equation 10: for each seat the sum over the others, [time, seat, game]."""
    ended = np.asarray(joint.step.terminated | joint.step.truncated)
    found = np.zeros(past.shape)
    time, seats, games = past.shape
    for seat in range(seats):
        for game in range(games):
            for t in range(time):
                total = 0.0
                for k in range(t - 1, -1, -1):
                    if ended[k, game]:
                        break
                    total += discount ** (t - k) * past[k, seat, game]
                for other in range(seats):
                    if other != seat:
                        found[t, seat, game] += discount * total * others[t, other, game]
    return found
