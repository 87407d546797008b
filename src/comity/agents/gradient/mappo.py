r"""Multi-agent PPO (Yu et al., 2022, arXiv:2103.01955), and its independent form.

Policies act on their own observations. In MAPPO the value that their advantages are measured against reads
the observations of all seats, one's own first, or one's own and the game's privileged view; it is used in
training only, so players remain decentralised. In IPPO it reads one's own. Values are learned in units of
their own running mean and spread.
"""

from typing import Literal

import equinox as eqx
import jax
from jaxtyping import Array, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.gradient.actor_critic import ActorCritic, LearnerState, Values, for_each
from comity.agents.gradient.proximal import Proximal
from comity.agents.streams import Streams, at_ends, join, next_values
from comity.core.errors import ComityError
from comity.core.spaces import Box, Space
from comity.core.types import Experience, Seat, as_numbers
from comity.nets.torsos import Network


class IPPO(Proximal):
    """PPO for each seat by itself, with the settings of MAPPO."""

    network: Network = eqx.field(default_factory=Network)  # the shape of the policy
    critic_network: Network = eqx.field(default_factory=Network)  # the shape of the critic
    learning_rate: float = 1e-3  # Adam's step size
    final_learning_rate: float = 1.0  # share of the learning rate left at the end, reached linearly
    discount: float = 0.99  # what the next step's reward counts
    trace: float = 0.95  # lambda of generalised advantage estimation
    clip: float = 0.2  # how far the probability ratio may move from 1
    value_clip: float = 0.2  # how far the value may move in one update; 0 for no limit
    epochs: int = 4  # passes over each rollout
    minibatches: int = 1  # parts of a rollout, each of whole sequences
    entropy: float = 0.01  # weight of the entropy bonus
    final_entropy: float = 1.0  # share of the entropy weight left at the end, reached linearly
    value_weight: float = 1.0  # weight of the value loss
    value_rate: float = 0.01  # how fast the running mean and spread of values follow; 0: values as they are
    popart: bool = False  # whether the value head is rescaled with them, to go on meaning the same
    max_gradient: float = 10.0  # largest norm of the gradient
    normalise_advantages: Literal["batch", "minibatch", "none"] = "batch"  # where they get mean 0, variance 1
    target_kl: float = 0.0  # KL divergence of an update that is aimed at; 0: none
    kl_rule: Literal["stop", "adapt"] = "stop"  # beyond it: end the update, or adapt the step size

    @property
    def value_network(self) -> Network:
        return self.critic_network

    def check(self, seat: Seat) -> None:
        super().check(seat)
        if not self.network.shared:
            self.critic_network.check(seat.observation)


class MAPPO(IPPO):
    """PPO with a centralised critic. With one seat it is PPO: there is nobody else to see."""

    critic_sees: Literal["observations", "team", "state"] = "observations"
    """what all seats see, one's own first; the same once for all seats of the learner, which then have one
    value (much faster, for teams that are paid alike); or one's own and the game's privileged view"""

    def check(self, seat: Seat) -> None:
        Proximal.check(self, seat)
        self.critic_network.check(self._sight(seat) or seat.observation)

    def init(self, key: Key, seat: Seat) -> LearnerState:
        return self.first_state(ActorCritic(self.network, seat, key, self.critic_network, self._sight(seat)))

    def _sight(self, seat: Seat) -> Space | None:
        """What the critic sees, None if it is what the policy sees."""
        if self.critic_sees == "state":
            if seat.everyone and not seat.privileged:
                raise ComityError("critic_sees state needs a game that shows its state: use observations.")
            return (seat.observation, Box((seat.privileged,)))
        return seat.everyone if len(seat.everyone) > 1 else None

    def params(self, state: LearnerState) -> ActorCritic:
        return state.net.alone() if _looks_around(state.net) else state.net

    def seen(self, state: LearnerState, experience: Experience) -> PyTree:
        joint = experience.joint
        return self._look(joint.obs, joint.view, experience.seats) if _looks_around(state.net) else None

    def _look(self, obs: tuple[PyTree, ...], view: PyTree, seats: tuple[int, ...]) -> PyTree:
        """What the critic sees beside the streams of some seats, or of the first for all."""
        if self.critic_sees == "state":
            return state_view(obs, view, seats)
        return team_view(obs, seats[:1] if self.critic_sees == "team" else seats)

    def values(self, state: LearnerState, experience: Experience, data: Streams) -> Values:
        if not _looks_around(state.net):
            return super().values(state, experience, data)
        joint, seats = experience.joint, experience.seats
        seen = self.seen(state, experience)
        next_seen = self._look(joint.step.obs, joint.next_view, seats)
        torso, head = state.net.value_torso, state.net.value_head
        assert torso is not None
        assert head is not None
        value, memory = state.net.look(seen, data.resets, data.age)
        count = data.reward.shape[1]

        def look(part: slice) -> Array:
            after, obs = jax.tree.map(lambda x: x[part], (memory, next_seen))
            return for_each(head(torso.step(after, obs)[1]), count)

        value = for_each(value, count)
        following = next_values(value, at_ends(look, data.ended), data.ended)
        scale = state.net.scale
        return Values(scale.to_reward(value), scale.to_reward(following), seen)


def team_view(obs: tuple[PyTree, ...], seats: tuple[int, ...]) -> tuple[PyTree, ...]:
    """What everybody sees beside the streams of some seats: their own view first, then those after it."""
    count = len(obs)
    return tuple(join([obs[(seat + turn) % count] for seat in seats]) for turn in range(count))


def state_view(obs: tuple[PyTree, ...], view: PyTree, seats: tuple[int, ...]) -> tuple[PyTree, Array]:
    """What some seats see, and the game's privileged view beside each of their streams."""
    return join([obs[seat] for seat in seats]), join([as_numbers(view, axes=2)] * len(seats))


def _looks_around(net: ActorCritic) -> bool:
    """Whether the critic sees more than the policy."""
    return net.value_torso is not None and net.value_torso.observation != net.policy.torso.observation
