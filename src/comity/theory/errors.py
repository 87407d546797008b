"""Errors of the theory package: each says what is wrong with which input and what would work instead."""

from comity.core.errors import ComityError


class TheoryError(ComityError, ValueError):
    """An input that a solver cannot take; the message names it and what would work instead."""


class NoConvergenceError(TheoryError):
    """An iteration that reached its limit without an answer."""
