"""How long episodes may be, and how many there may be of something in a game."""

from comity.core.errors import require

MOST = 1_000  # of players and things; far more than a program can be compiled for


def check_count(name: str, count: int, least: int) -> None:
    """Raises unless there are at least so many of something, and not absurdly many."""
    require(least <= count <= MOST, name, count, f"at least {least} and at most {MOST:,}")


def check_horizon(horizon: int | None) -> None:
    """Raises unless the horizon is a positive number of steps or none."""
    require(horizon is None or horizon >= 1, "horizon", horizon, "at least 1")
