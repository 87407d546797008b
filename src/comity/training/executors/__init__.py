"""Executors: where runs are carried out; one file each, one row in the table."""
