r"""Evolution strategies (Salimans et al., 2017, arXiv:1703.03864): learning by trying, without gradients.

.. math:: \nabla_\theta E[F(\theta + \sigma\epsilon)] \approx \frac{1}{2n\sigma}\sum_{i=1}^n
          \big(F(\theta+\sigma\epsilon_i) - F(\theta-\sigma\epsilon_i)\big)\epsilon_i

Each iteration plays the game again with perturbed copies of the policy, in pairs of opposite perturbations,
and moves towards those that earned more. On a meta-game this is the evolutionary form of M-FOS (Lu et al.,
2022, arXiv:2205.01447): whole meta-episodes are compared, so no value function has to look far ahead.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float
from jaxtyping import PRNGKeyArray as Key

from comity.agents.on_policy.acting import Acting, ActingAgent
from comity.core.agent import Context, Metrics
from comity.core.batch import TeamBatch
from comity.core.errors import require
from comity.core.game import GameSpec
from comity.learn.optimisers import Adam, apply_gradients
from comity.learn.policies import Policy
from comity.learn.schedules import Decay
from comity.nets.gru import GRU
from comity.nets.heads import check_action
from comity.nets.layered import refuse_normaliser
from comity.nets.network import Network


class EvolutionState(NamedTuple):
    """The policy in the middle of the perturbed ones, and the optimiser's memory."""

    policy: Policy
    optimiser: optax.OptState


class Evolution(ActingAgent):
    """Gradient ascent along a difference of returns between perturbed copies of itself."""

    network: Network = GRU()  # the shape of the policy
    optimiser: Adam = Adam(learning_rate=1e-2, max_grad_norm=0.0)  # how the parameters follow gradients
    schedule: Decay = Decay(final_learning_rate=0.1)  # what is left of the learning rate at the end
    pairs: int = 16  # how many pairs of opposite perturbations are tried
    noise: float = 0.1  # standard deviation of a perturbation
    ranks: bool = True  # whether returns are replaced by their ranks, so that outliers do not matter

    tunable: ClassVar[tuple[str, ...]] = ("noise",)
    needs: ClassVar[frozenset[str]] = frozenset({"others", "simulate"})

    def __check_init__(self) -> None:
        require(self.pairs >= 1, "pairs", self.pairs, "at least 1")
        require(self.noise > 0, "noise", self.noise, "above 0")

    def check(self, spec: GameSpec, seats: tuple[int, ...]) -> None:
        refuse_normaliser(self.network)
        for seat in spec.team(seats):
            self.network.check(seat.observation)
            check_action(seat.action)

    def init(self, key: Key, spec: GameSpec, seats: tuple[int, ...]) -> EvolutionState:
        policy = Policy(self.network, spec.seats[seats[0]], key)
        return EvolutionState(policy, self.optimiser.build().init(policy))

    def update(
        self, state: EvolutionState, batch: TeamBatch, context: Context, key: Key
    ) -> tuple[EvolutionState, Metrics]:
        assert context.others is not None
        assert context.simulate is not None
        noise_key, play_key = jax.random.split(key)
        leaves, shape = jax.tree.flatten(state.policy)
        noises = [
            jax.random.normal(jax.random.fold_in(noise_key, i), (self.pairs, *leaf.shape), leaf.dtype)
            for i, leaf in enumerate(leaves)
        ]
        tried = [
            leaf[None] + self.noise * jnp.concatenate([noise, -noise])
            for leaf, noise in zip(leaves, noises, strict=True)
        ]
        population = Acting(jax.tree.unflatten(shape, tried), None)
        seated = list(context.others)
        for seat in batch.seats:
            seated[seat] = population
        played = context.simulate(tuple(seated), play_key)
        reward = jnp.stack([played.step.reward[seat] for seat in batch.seats])
        earned = reward.mean(axis=(0, 1)).reshape(2 * self.pairs, -1).mean(axis=1)
        scores = _ranked(earned) if self.ranks else earned
        difference = scores[: self.pairs] - scores[self.pairs :]
        directions = [
            -jnp.tensordot(difference, noise, axes=1) / (2.0 * self.pairs * self.noise) for noise in noises
        ]
        gradient = jax.tree.unflatten(shape, directions)
        scale = self.schedule.at(self.schedule.final_learning_rate, context.progress)
        policy, optimiser = apply_gradients(
            self.optimiser.build(), gradient, state.optimiser, state.policy, scale
        )
        metrics = {
            "loss": -earned.mean(),
            "best": earned.max(),
            "spread": earned.std(),
            "gradient_norm": optax.tree.norm(gradient),
        }
        return EvolutionState(policy, optimiser), metrics


def _ranked(earned: Float[Array, " tried"]) -> Float[Array, " tried"]:
    """Returns as evenly spaced ranks from -1/2 to 1/2."""
    order = jnp.argsort(jnp.argsort(earned)).astype(jnp.float32)
    return order / max(earned.shape[0] - 1, 1) - 0.5
