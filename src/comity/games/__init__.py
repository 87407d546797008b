"""Games: one per file, a row each in `registry.py`; probes with known answers; transforms."""
