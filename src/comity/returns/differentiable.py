r"""Learning rules for differentiable games: how each player moves when all values are known functions.

A game is a function from all players' parameters (a tuple of vectors) to all players' values. With
:math:`\xi_i = \nabla_i V^i` the direction of naive ascent, :math:`\alpha` the step that the others are
expected to take, and

.. math:: (H_o\xi)_i = \sum_{j\ne i}\nabla_j\nabla_i V^i\,\nabla_j V^j, \qquad
          \chi_i = \sum_{j\ne i}(\nabla_i\nabla_j V^j)^\top\,\nabla_j V^i,

the rules are

- naive: :math:`\xi`;
- lookahead: :math:`\xi_0 = \xi + \alpha H_o\xi`, an answer to the others' next step (Zhang and Lesser, 2010);
- LOLA: the gradient of one's own value after the others' steps, through those steps (Foerster et al., 2018,
  arXiv:1709.04326); to first order :math:`\xi_0 + \alpha\chi`;
- SOS: :math:`\xi_0 + p\,\alpha\chi` with p chosen so that the move never turns against lookahead's, and
  vanishes faster than :math:`\xi` near fixed points (Letcher et al., 2019, arXiv:1811.08469);
- consensus: :math:`\xi - \alpha H^\top\xi`, which also shrinks the norm of :math:`\xi` (Mescheder et al.,
  2017, arXiv:1705.10461).
- COLA: moves :math:`h` that are consistent, each the answer to the others' moves of the same kind,
  :math:`h_i(\theta) = \alpha\nabla_i V^i(\theta_i, \theta_{-i} + h_{-i}(\theta))` (Willi et al., 2022,
  arXiv:2203.04098); `answers` is the right-hand side for given :math:`h`.

All return directions of ascent, one per player.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Params = tuple[Float[Array, " _"], ...]
Values = Callable[[Params], Float[Array, " players"]]
Moves = Callable[[Params], Params]


def naive(values: Values, params: Params) -> Params:
    """Each follows the gradient of its own value."""
    return tuple(_gradient(values, params, i, i) for i in range(len(params)))


def lookahead(values: Values, params: Params, step: float | Array) -> Params:
    """Each follows the gradient of its own value where the others' next step leads, taken as given."""
    ascent = jax.lax.stop_gradient(naive(values, params))
    bends = _bends(values, params, ascent)
    return tuple(x + step * bend for x, bend in zip(ascent, bends, strict=True))


def lola(values: Values, params: Params, step: float | Array, steps: int = 1) -> Params:
    """Each follows the gradient of its own value after `steps` naive steps of the others, through them."""

    def after(own: Float[Array, " _"], player: int) -> Float[Array, ""]:
        others = params
        for _ in range(steps):
            here = _with(others, player, own)
            ascent = tuple(_gradient(values, here, j, j) for j in range(len(here)))
            others = tuple(x + step * a for x, a in zip(here, ascent, strict=True))
        return values(_with(others, player, own))[player]

    return tuple(jax.grad(after)(own, i) for i, own in enumerate(params))


def sos(values: Values, params: Params, step: float | Array, a: float = 0.5, b: float = 0.1) -> Params:
    """LOLA as far as it is safe: `a` bounds how far shaping may turn, `b` is where fixed points begin."""
    ascent = naive(values, params)
    safe = lookahead(values, params, step)
    shaping = tuple(step * chi for chi in _shaping(values, params))
    turn = sum(jnp.vdot(x, y) for x, y in zip(shaping, safe, strict=True))
    size = sum(jnp.vdot(x, x) for x in safe)
    bounded = jnp.minimum(1.0, -a * size / jnp.where(turn < 0, turn, -1.0))
    first = jnp.where(turn >= 0, 1.0, bounded)
    norm = jnp.sqrt(sum(jnp.vdot(x, x) for x in ascent))
    second = jnp.where(norm < b, jnp.square(norm), 1.0)
    share = jnp.minimum(first, second)
    return tuple(x + share * y for x, y in zip(safe, shaping, strict=True))


def answers(values: Values, params: Params, moves: Moves, step: float | Array) -> Params:
    """What each player's move would be if the others made theirs, through how theirs depend on it."""

    def after(own: Float[Array, " _"], player: int) -> Float[Array, ""]:
        here = _with(params, player, own)
        moved = tuple(x + way for x, way in zip(here, moves(here), strict=True))
        return values(_with(moved, player, own))[player]

    return tuple(step * jax.grad(after)(own, i) for i, own in enumerate(params))


def consensus(values: Values, params: Params, weight: float | Array) -> Params:
    """Naive ascent, and descent on half the square of its direction."""

    def half_square(at: Params) -> Float[Array, ""]:
        return 0.5 * sum((jnp.vdot(x, x) for x in naive(values, at)), jnp.zeros(()))

    pulls = jax.grad(half_square)(params)
    return tuple(x - weight * y for x, y in zip(naive(values, params), pulls, strict=True))


def _gradient(values: Values, params: Params, of: int, by: int) -> Float[Array, " _"]:
    """The gradient of one player's value by one player's parameters."""
    gradient: Array = jax.grad(lambda own: values(_with(params, by, own))[of])(params[by])
    return gradient


def _with(params: Params, player: int, own: Float[Array, " _"]) -> Params:
    return (*params[:player], own, *params[player + 1 :])


def _bends(values: Values, params: Params, ascent: Params) -> Params:
    """(H_o xi)_i: how the others' steps change the gradient of each player's own value."""

    def bend(player: int) -> Float[Array, " _"]:
        still = tuple(jnp.zeros_like(x) if i == player else x for i, x in enumerate(ascent))
        change: Array = jax.jvp(lambda at: _gradient(values, at, player, player), (params,), (still,))[1]
        return change

    return tuple(map(bend, range(len(params))))


def _shaping(values: Values, params: Params) -> Params:
    """chi_i: how one's parameters turn the others' steps, weighed by what those steps are worth to one."""

    def shaping(player: int) -> Float[Array, " _"]:
        others = [j for j in range(len(params)) if j != player]
        worth = [_gradient(values, params, player, j) for j in others]

        def aligned(own: Float[Array, " _"]) -> Float[Array, ""]:
            here = _with(params, player, own)
            steps = [_gradient(values, here, j, j) for j in others]
            return sum((jnp.vdot(x, y) for x, y in zip(worth, steps, strict=True)), jnp.zeros(()))

        gradient: Array = jax.grad(aligned)(params[player])
        return gradient

    return tuple(map(shaping, range(len(params))))
