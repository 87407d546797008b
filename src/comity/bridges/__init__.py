"""Third-party environments as games, and games as third-party environments."""
