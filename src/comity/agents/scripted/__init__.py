"""Players that follow a fixed rule, one file per family of games."""
