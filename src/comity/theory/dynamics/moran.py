"""The Moran process in a finite population, and the long run under rare mutation.

N individuals; i of them play strategy A, the others B. Average payoffs, without playing oneself:

    f_A(i) = [ (i - 1) a_AA + (N - i) a_AB ] / (N - 1),   f_B(i) = [ i a_BA + (N - i - 1) a_BB ] / (N - 1).

One individual is born like a parent chosen in proportion to exp(selection * f), and replaces a random one.
The probability that a single A takes over is

    rho = 1 / ( 1 + sum_{k=1}^{N-1} prod_{i=1}^{k} exp( selection [ f_B(i) - f_A(i) ] ) ),

summed in log space, so that strong selection does not overflow. With rare mutation the population is
nearly always uniform and jumps from strategy to strategy with probability rho / (n - 1); the stationary
distribution of these jumps says how often each strategy is seen.

Source: Nowak, Sasaki, Taylor and Fudenberg, "Emergence of cooperation and evolutionary stability in finite
populations", Nature, 2004; Fudenberg and Imhof, "Imitation processes with small mutations", J. Economic
Theory, 2006; Traulsen, Shoresh and Nowak, "Analytical results for individual and group selection of any
intensity", Bull. Math. Biol., 2008 (exponential fitness).
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from comity.theory.dynamics.stationary import stationary_from_log_rates
from comity.theory.errors import TheoryError
from comity.theory.normal_form.game import numbers


@partial(jax.jit, static_argnames=("population",))
def log_fixation(
    payoffs: Float[Array, "*games n n"], population: int, selection: float | Float[Array, ""] = 1.0
) -> Float[Array, "*games n n"]:
    """Entry [r, m]: log probability that one mutant m takes over a population of residents r."""
    i = jnp.arange(1, population, dtype=payoffs.dtype).reshape((1,) * payoffs.ndim + (-1,))
    diagonal = jnp.diagonal(payoffs, axis1=-2, axis2=-1)
    mutant_same = diagonal[..., None, :, None]
    resident_same = diagonal[..., :, None, None]
    mutant_other = jnp.swapaxes(payoffs, -1, -2)[..., None]  # [r, m]: what m earns against r
    resident_other = payoffs[..., None]
    size = population - 1.0
    mutant = ((i - 1.0) * mutant_same + (population - i) * mutant_other) / size
    resident = (i * resident_other + (population - i - 1.0) * resident_same) / size
    exponents = jnp.cumsum(selection * (resident - mutant), axis=-1)
    zero = jnp.zeros((*exponents.shape[:-1], 1), exponents.dtype)
    return -jax.nn.logsumexp(jnp.concatenate([zero, exponents], axis=-1), axis=-1)


def fixation_probabilities(
    payoffs: Float[np.ndarray, "n n"], population: int, selection: float = 1.0
) -> Float[np.ndarray, "n n"]:
    """Entry [r, m]: probability that one mutant m takes over residents r; 1 / population at no selection."""
    table = checked_table(payoffs, population)
    return np.exp(precise_log_fixation(table, population, selection))


def moran_stationary(
    payoffs: Float[np.ndarray, "n n"], population: int, selection: float = 1.0
) -> Float[np.ndarray, " n"]:
    """How often, in the long run under rare mutation, each strategy is the one that everyone plays."""
    table = checked_table(payoffs, population)
    logs = precise_log_fixation(table, population, selection)
    return stationary_from_log_rates(logs - np.log(max(1, len(table) - 1)))


def precise_log_fixation(table: np.ndarray, population: int, selection: float) -> Float[np.ndarray, "n n"]:
    """`log_fixation` in double precision, whatever JAX's default is."""
    with jax.enable_x64(True):
        return np.asarray(log_fixation(jnp.asarray(table, jnp.float64), population, selection))


def checked_table(payoffs: object, population: int) -> Float[np.ndarray, "n n"]:
    """A square table of payoffs, for a population in which somebody can be replaced."""
    table = numbers(payoffs, "payoffs")
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise TheoryError(f"payoffs has shape {table.shape}; a square table (own, other) would work.")
    if population < 2:
        raise TheoryError(f"population is {population}; at least 2 individuals would work.")
    return table


@partial(jax.jit, static_argnames=("population", "steps"))
def simulate_moran(
    payoffs: Float[Array, "2 2"],
    population: int,
    start: Array,
    key: PRNGKeyArray,
    steps: int,
    selection: float | Float[Array, ""] = 1.0,
) -> Array:
    """The number of players of strategy 0 after `steps` births, from each count in `start`."""

    def step(t: Array, count: Array) -> Array:
        i = count.astype(payoffs.dtype)
        others = population - i
        size = population - 1.0
        first = ((i - 1.0) * payoffs[0, 0] + others * payoffs[0, 1]) / size
        second = (i * payoffs[1, 0] + (others - 1.0) * payoffs[1, 1]) / size
        odds = jnp.where(others > 0, jnp.where(i > 0, i / jnp.maximum(others, 1.0), 0.0), jnp.inf)
        log_odds = jnp.log(odds) + selection * (first - second)
        born, dies = jax.random.split(jax.random.fold_in(key, t))
        is_first = jax.random.uniform(born, count.shape, payoffs.dtype) < jax.nn.sigmoid(log_odds)
        loses_first = jax.random.uniform(dies, count.shape, payoffs.dtype) * population < i
        return count + is_first.astype(count.dtype) - loses_first.astype(count.dtype)

    return jax.lax.fori_loop(0, steps, step, start)
