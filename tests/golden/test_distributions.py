"""Distributions against closed forms and numerical integration."""

import jax
import jax.numpy as jnp
import numpy as np

from comity.nets.distributions import Categorical, Gaussian, SquashedGaussian


def test_categorical_by_hand() -> None:
    policy = Categorical(jnp.log(jnp.asarray([[0.2, 0.8], [0.5, 0.5]])))
    np.testing.assert_allclose(policy.log_prob(jnp.asarray([1, 0])), np.log([0.8, 0.5]), rtol=1e-5)
    np.testing.assert_allclose(policy.entropy()[1], np.log(2), rtol=1e-6)
    np.testing.assert_allclose(policy.kl(policy), 0.0, atol=1e-7)


def test_squashed_gaussian_is_a_density() -> None:
    """The density of the action integrates to 1 over the interval."""
    policy = SquashedGaussian(jnp.asarray([0.4]), jnp.asarray([-0.3]), 0.0, 5.0)
    raw = jnp.linspace(-6.0, 6.0, 20001)[:, None]
    action = policy.action(raw)[:, 0]
    wide = SquashedGaussian(
        jnp.broadcast_to(policy.mean, raw.shape), jnp.broadcast_to(policy.log_std, raw.shape), 0.0, 5.0
    )
    density = jnp.exp(wide.log_prob(raw))
    np.testing.assert_allclose(jnp.trapezoid(density, action), 1.0, atol=1e-3)
    assert float(action.min()) >= 0.0
    assert float(action.max()) <= 5.0


def test_squashed_gaussian_is_finite_at_the_border() -> None:
    """Far out, where tanh is 1 in float32, log-probability and gradient are still finite."""
    raw = jnp.asarray([40.0])
    policy = SquashedGaussian(jnp.asarray([2.5]), jnp.asarray([0.0]), 0.0, 5.0)
    value, slope = jax.value_and_grad(lambda m: SquashedGaussian(m, policy.log_std, 0.0, 5.0).log_prob(raw))(
        policy.mean
    )
    assert np.isfinite(value)
    assert np.isfinite(slope).all()


def test_samples_have_the_moments_of_the_gaussian() -> None:
    policy = Gaussian(jnp.full((20000, 1), 1.5), jnp.full((20000, 1), np.log(0.5), jnp.float32))
    samples = policy.sample(jax.random.key(0))
    np.testing.assert_allclose(samples.mean(), 1.5, atol=0.02)
    np.testing.assert_allclose(samples.std(), 0.5, atol=0.02)
    np.testing.assert_allclose(-policy.log_prob(samples).mean(), policy.entropy()[0], atol=0.02)
