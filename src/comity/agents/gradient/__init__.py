"""Learners by policy gradient."""
