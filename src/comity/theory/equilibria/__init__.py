"""Equilibria of games in normal form: one solver per file, each answer with its regret."""
