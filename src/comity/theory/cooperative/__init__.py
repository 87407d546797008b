"""Cooperative games and fair division: values, the core, the nucleolus, allocations without envy."""
