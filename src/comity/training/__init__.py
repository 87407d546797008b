"""Training: experiments as values, the jitted loop, one driver with hooks, executors and populations."""
