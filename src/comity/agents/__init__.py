"""Agents: scripted players and learners, one algorithm per file, a row each in `registry.py`."""
