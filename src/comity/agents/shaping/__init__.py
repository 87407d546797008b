"""Learners that shape their opponents."""
