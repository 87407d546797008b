"""A recurrent step along time, with the gradients of its parameters gathered after the way back.

Differentiating a scan adds every step's gradient to that of all parameters, one step after another: with few
streams that moves more memory than it computes. Here the way back only passes on what the memory after each
step was worth; the parameters' gradients follow from all steps at once, as one large product.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

# of parameters, memory and input: the memory after the step, and the output
Step = Callable[[PyTree, PyTree, PyTree], tuple[PyTree, PyTree]]


def unroll(step: Step, params: PyTree, carry: PyTree, inputs: PyTree) -> tuple[PyTree, PyTree]:
    """The memories after each step and the outputs, time first.

    The result and all derivatives are those of a plain scan; steps are computed again on the way back.
    """

    def run(params: PyTree, carry: PyTree, inputs: PyTree) -> tuple[PyTree, PyTree]:
        def advance(carry: PyTree, seen: PyTree) -> tuple[PyTree, tuple[PyTree, PyTree]]:
            carry, output = step(params, carry, seen)
            return carry, (carry, output)

        memories, outputs = jax.lax.scan(advance, carry, inputs)[1]
        return memories, outputs

    def forth(params: PyTree, carry: PyTree, inputs: PyTree) -> tuple[tuple[PyTree, PyTree], Any]:
        memories, outputs = run(params, carry, inputs)
        return (memories, outputs), (params, carry, inputs, memories)

    def back(kept: Any, worth: tuple[PyTree, PyTree]) -> tuple[PyTree, PyTree, PyTree]:
        params, carry, inputs, memories = kept
        before = jax.tree.map(
            lambda first, later: jnp.concatenate([first[None], later[:-1]]), carry, memories
        )

        def retreat(later: PyTree, at: PyTree) -> tuple[PyTree, PyTree]:
            memory, seen, (of_memory, of_output) = at
            total = jax.tree.map(jnp.add, later, of_memory)
            pull = jax.vjp(lambda memory: step(params, memory, seen), memory)[1]
            return pull((total, of_output))[0], total

        nothing = jax.tree.map(jnp.zeros_like, carry)
        first, totals = jax.lax.scan(retreat, nothing, (before, inputs, worth), reverse=True)

        def at_once(params: PyTree, inputs: PyTree) -> tuple[PyTree, PyTree]:
            return jax.vmap(step, in_axes=(None, 0, 0))(params, before, inputs)

        pull = jax.vjp(at_once, params, inputs)[1]
        of_params, of_inputs = pull((totals, worth[1]))
        return of_params, first, of_inputs

    one = jax.custom_vjp(run)
    one.defvjp(forth, back)
    return one(params, carry, inputs)
