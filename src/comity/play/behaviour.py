"""What a policy does along observations that were recorded: behaviour, whatever its parameters look like."""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.agent import Agent
from comity.core.errors import ComityError
from comity.core.spaces import Box, Discrete, Space, describe


def check_behaviour(action: Space) -> None:
    """Raises unless behaviours with these actions can be compared."""
    if not isinstance(action, Discrete | Box):
        raise ComityError(f"Behaviour is compared by one choice or numbers, and not by {describe(action)}.")


def behaviour_along(
    agent: Agent,
    params: PyTree,
    obs: PyTree,
    resets: Bool[Array, "time game"],
    action: Space,
    key: Key,
) -> Float[Array, "time game numbers"]:
    """What the agent would do at each of some observations [time, game, ...], its memory following them.

    Probabilities of choices; of numbers, those that are most likely. A memory that holds the agent's own
    actions follows what it would have done, and not what was done.
    """

    def step(
        carry: PyTree, inputs: tuple[PyTree, Bool[Array, " game"], Key]
    ) -> tuple[PyTree, Float[Array, "game numbers"]]:
        seen, reset, step_key = inputs
        carry = jax.tree.map(
            lambda new, old: jnp.where(reset.reshape(reset.shape + (1,) * (old.ndim - 1)), new, old),
            first,
            carry,
        )
        keys = jax.random.split(step_key, reset.shape[0])
        if isinstance(action, Discrete):
            each = partial(agent.action_probabilities, params, choices=action.n)
            done = jax.vmap(each)(carry, seen)
        else:
            done = jax.vmap(agent.most_likely, (None, 0, 0, 0))(params, carry, seen, keys).action
        after = jax.vmap(agent.act, (None, 0, 0, 0))(params, carry, seen, keys).carry
        return after, done.reshape((reset.shape[0], -1)).astype(jnp.float32)

    games = resets.shape[1]
    first = jax.tree.map(lambda x: jnp.broadcast_to(x, (games, *jnp.shape(x))), agent.initial_carry(params))
    keys = jax.random.split(key, resets.shape[0])
    return jax.lax.scan(step, first, (obs, resets, keys))[1]


def distances(behaviours: Float[Array, "policy *numbers"], action: Space) -> Float[Array, "policy policy"]:
    """How differently policies behave, on average over observations.

    Of choices the total variation, half the sum of absolute differences, between 0 and 1; of numbers the
    Euclidean distance.
    """
    rows = behaviours.reshape((behaviours.shape[0], -1, behaviours.shape[-1]))

    def between(first: Array, second: Array) -> Array:
        difference = first - second
        if isinstance(action, Discrete):
            return 0.5 * jnp.abs(difference).sum(axis=-1).mean()
        return jnp.sqrt((difference**2).sum(axis=-1)).mean()

    return jax.vmap(lambda first: jax.vmap(lambda second: between(first, second))(rows))(rows)
