"""How far programs are compiled."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import pytest

from comity.core.compilation import LEVEL, compiled


@pytest.mark.parametrize(
    ("flags", "once", "level"), [("", False, 1), ("", True, 0), (f"--{LEVEL}=2", False, None)]
)
def test_a_level_of_the_users_goes_before(
    monkeypatch: pytest.MonkeyPatch, flags: str, once: bool, level: int | None
) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setenv("XLA_FLAGS", flags)
    monkeypatch.setattr(eqx, "filter_jit", lambda function, **options: given.update(options) or function)
    compiled(lambda x: x, once, donate="all")
    assert given["donate"] == "all"
    assert given.get("compiler_options", {LEVEL: None}) == {LEVEL: level}


def test_a_compiled_function_is_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "")
    assert float(compiled(lambda x: x + 1.0)(jnp.float32(2.0))) == 3.0
