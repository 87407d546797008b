"""Populations: which runs belong together, and which runs follow from their results."""
