"""Learners by policy gradient, from what they have just played."""
