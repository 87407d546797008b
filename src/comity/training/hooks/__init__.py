"""Hooks: what happens between two chunks of training, one small class per file."""
