"""Measuring players: leagues, behaviour per state, statistics."""
