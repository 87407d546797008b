"""How long episodes may be."""

from comity.core.errors import require


def check_horizon(horizon: int | None) -> None:
    """Raises unless the horizon is a positive number of steps or none."""
    require(horizon is None or horizon >= 1, "horizon", horizon, "at least 1")
