"""Agents that learn from memory: values of actions, centralised critics, deterministic and soft actors."""
