"""Learners on exact values: LOLA, SOS and their kin in iterated matrix games."""
