"""Protocols, spaces and errors; imports nothing else of Comity."""
