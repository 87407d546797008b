"""Strict types in all tests: shapes checked at run time, no silent promotion of types or ranks."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from jaxtyping import install_import_hook

with install_import_hook("comity", "beartype.beartype"):
    import comity
    import comity.agents.registry
    import comity.api
    import comity.cli
    import comity.testing  # noqa: F401

import jax

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
