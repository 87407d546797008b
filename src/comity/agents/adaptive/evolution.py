r"""Evolution strategies (Salimans et al., 2017, arXiv:1703.03864): learning by trying, without gradients.

.. math:: \nabla_\theta E[F(\theta + \sigma\epsilon)] \approx \frac{1}{2n\sigma}\sum_{i=1}^n
          \big(F(\theta+\sigma\epsilon_i) - F(\theta-\sigma\epsilon_i)\big)\epsilon_i

Each iteration plays the game again with perturbed copies of the policy, in pairs of opposite perturbations,
and moves towards those that earned more. On a meta-game this is the evolutionary form of M-FOS (Lu et al.,
2022, arXiv:2205.01447): whole meta-episodes are compared, so no value function has to look far ahead.
"""

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float
from jaxtyping import PRNGKeyArray as Key

from comity.agents.gradient.actor_critic import linear, optimise
from comity.agents.policies import Policy, PolicyAgent
from comity.core.errors import require
from comity.core.types import Experience, Seat
from comity.nets.torsos import Network


class EvolutionState(NamedTuple):
    """The policy in the middle of the perturbed ones, and the optimiser's memory."""

    policy: Policy
    optimiser: optax.OptState


class Evolution(PolicyAgent):
    """Gradient ascent along a difference of returns between perturbed copies of itself."""

    network: Network = eqx.field(default_factory=Network)  # the shape of the policy
    pairs: int = 16  # how many pairs of opposite perturbations are tried
    noise: float = 0.1  # standard deviation of a perturbation
    learning_rate: float = 1e-2  # Adam's step size
    final_learning_rate: float = 0.1  # share of the learning rate left at the end, reached linearly
    ranks: bool = True  # whether returns are replaced by their ranks, so that outliers do not matter

    needs: ClassVar[frozenset[str]] = frozenset({"others", "simulate"})

    def __check_init__(self) -> None:
        require(self.pairs >= 1, "pairs", self.pairs, "at least 1")
        require(self.noise > 0, "noise", self.noise, "above 0")
        require(self.learning_rate > 0, "learning_rate", self.learning_rate, "above 0")
        share = self.final_learning_rate
        require(0.0 <= share <= 1.0, "final_learning_rate", share, "between 0 and 1")

    def optimiser(self) -> optax.GradientTransformation:
        """Adam."""
        return optax.adam(self.learning_rate, eps=1e-5)

    def init(self, key: Key, seat: Seat) -> EvolutionState:
        policy = Policy(self.network, seat, key)
        return EvolutionState(policy, self.optimiser().init(eqx.filter(policy, eqx.is_array)))

    def params(self, state: EvolutionState) -> Policy:
        return state.policy

    def update(
        self, state: EvolutionState, experience: Experience, key: Key
    ) -> tuple[EvolutionState, dict[str, Array]]:
        assert experience.others is not None
        assert experience.simulate is not None
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
        population = jax.tree.unflatten(shape, tried)
        seated = list(experience.others)
        for seat in experience.seats:
            seated[seat] = population
        played = experience.simulate(tuple(seated), play_key)
        reward = jnp.stack([played.step.reward[seat] for seat in experience.seats])
        earned = reward.mean(axis=(0, 1)).reshape(2 * self.pairs, -1).mean(axis=1)
        scores = _ranked(earned) if self.ranks else earned
        difference = scores[: self.pairs] - scores[self.pairs :]
        slopes = [
            -jnp.tensordot(difference, noise, axes=1) / (2.0 * self.pairs * self.noise) for noise in noises
        ]
        slope = jax.tree.unflatten(shape, slopes)
        scale = linear(self.final_learning_rate, experience.progress)
        policy, optimiser = optimise(self.optimiser(), slope, state.optimiser, state.policy, scale)
        metrics = {
            "loss": -earned.mean(),
            "best": earned.max(),
            "spread": earned.std(),
            "gradient_norm": optax.tree.norm(slope),
        }
        return EvolutionState(policy, optimiser), metrics


def _ranked(earned: Float[Array, " tried"]) -> Float[Array, " tried"]:
    """Returns as evenly spaced ranks from -1/2 to 1/2."""
    order = jnp.argsort(jnp.argsort(earned)).astype(jnp.float32)
    return order / max(earned.shape[0] - 1, 1) - 0.5
