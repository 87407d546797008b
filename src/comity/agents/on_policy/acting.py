"""How an actor-critic acts, and what it keeps of each act."""

from typing import NamedTuple

import jax
from jaxtyping import Array, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.agent import Act, Agent
from comity.learn.critic_net import CriticNet
from comity.learn.policies import Policy
from comity.nets.distributions import Categorical, Distribution


class Acting(NamedTuple):
    """What acts: the policy, and the critic where its memory follows the play or others get its values."""

    policy: Policy
    critic: CriticNet | None


class Extras(NamedTuple):
    """What is kept of each act.

    The sample before any squashing and its log-probability; `probabilities` of discrete actions; and where
    the critic sits with the policy its `value` and `action_values`, in units of reward.
    """

    raw: PyTree
    log_prob: Float[Array, "..."]
    probabilities: PyTree
    value: PyTree
    action_values: PyTree


def initial_carry(params: Acting) -> tuple[PyTree, PyTree]:
    """The memories of policy and critic at the start of an episode."""
    own = params.critic.torso if params.critic is not None else None
    return params.policy.torso.initial_carry(), own.initial_carry() if own is not None else ()


def act(params: Acting, carry: PyTree, obs: PyTree, key: Key | None) -> Act:
    """One action; without a key, the one that is most likely."""
    memory, features = params.policy.torso.step(carry[0], obs)
    distribution: Distribution = params.policy.of(features, obs)
    raw = distribution.mode() if key is None else distribution.sample(key)
    probabilities: PyTree = ()
    if isinstance(distribution, Categorical):
        probabilities = jax.nn.softmax(distribution.logits)
    critic_memory: PyTree = carry[1]
    value: PyTree = ()
    action_values: PyTree = ()
    if params.critic is not None:
        if params.critic.torso is not None:
            critic_memory, features = params.critic.torso.step(carry[1], obs)
        own = params.critic.read(features)[..., 0, :]
        value = (own * probabilities).sum() if params.critic.actions else own[0]
        action_values = own if params.critic.actions else ()
    extras = Extras(raw, distribution.log_prob(raw), probabilities, value, action_values)
    action = params.policy.head.shape_action(distribution.action(raw))
    return Act(action, (memory, critic_memory), extras)


def probabilities(params: Acting, carry: PyTree, obs: PyTree) -> Float[Array, " choices"]:
    """How likely each choice is."""
    _, distribution = params.policy.step(carry[0], obs)
    assert isinstance(distribution, Categorical)
    return jax.nn.softmax(distribution.logits)


class ActingAgent(Agent):
    """An agent that acts by a policy, and perhaps a critic whose memory follows; subclasses learn."""

    def policy(self, state: PyTree) -> Acting:
        return Acting(state.policy, None)

    def initial_carry(self, params: Acting) -> PyTree:
        return initial_carry(params)

    def act(self, params: Acting, carry: PyTree, obs: PyTree, key: Key) -> Act:
        return act(params, carry, obs, key)

    def most_likely(self, params: Acting, carry: PyTree, obs: PyTree, key: Key) -> Act:
        return act(params, carry, obs, None)

    def action_probabilities(
        self, params: Acting, carry: PyTree, obs: PyTree, choices: int
    ) -> Float[Array, " choices"]:
        return probabilities(params, carry, obs)
