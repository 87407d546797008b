"""Environments of others as games, and games as environments of others."""
