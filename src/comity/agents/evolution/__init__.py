"""Learners that adapt without gradients."""
