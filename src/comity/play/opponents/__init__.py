"""Matchmakers that choose opponents: past selves by rating, by score or by behaviour, and fixed players."""
