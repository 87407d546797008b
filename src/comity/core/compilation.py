"""How programs are compiled: quickly, and not again if they were compiled before."""

import os
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax

from comity.core.cache import cache_folder, cache_is_on
from comity.core.errors import ComityError

PLATFORMS = "JAX_PLATFORMS"
LEVEL = "xla_backend_optimization_level"


def compiled(function: Callable[..., Any], once: bool = False, **options: Any) -> Callable[..., Any]:
    """`eqx.filter_jit`, which on a CPU stops optimising where programs do not get faster any more.

    Level 1 compiled training programs in about four fifths of the time of XLA's usual level 3, and they ran
    as fast; level 0, for what runs only `once`, in half of it. A level in XLA_FLAGS goes before.
    """
    jitted: Callable[..., Any] = eqx.filter_jit(function, **_compiler_options(once), **options)
    return jitted


def compiled_for(function: Callable[..., Any], once: bool = False, **options: Any) -> Any:
    """The same by `jax.jit`: what it has traced, calls use again. `static_argnums` are plain values."""
    return jax.jit(function, **_compiler_options(once), **options)


def _compiler_options(once: bool) -> dict[str, Any]:
    if jax.default_backend() != "cpu" or LEVEL in os.environ.get("XLA_FLAGS", ""):
        return {}
    return {"compiler_options": {LEVEL: 0 if once else 1}}


def check_platform() -> None:
    """Raises if JAX_PLATFORMS names only devices that this machine, or this JAX, does not have."""
    named = os.environ.get(PLATFORMS, "")
    try:
        jax.devices()
    except (RuntimeError, AssertionError):  # JAX fails by an assertion for cuda without its plug-in
        raise ComityError(
            f"{PLATFORMS} = {named!r} is not possible here: JAX finds no such device; {PLATFORMS}=cpu would "
            f"work, and without it JAX takes what there is."
        ) from None


def use_compilation_cache() -> None:
    """Turns the cache on, unless the user chose one of their own or turned it off with COMITY_CACHE=off."""
    if not cache_is_on() or jax.config.values.get("jax_compilation_cache_dir"):
        return
    jax.config.update("jax_compilation_cache_dir", str(cache_folder() / "compiled"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
