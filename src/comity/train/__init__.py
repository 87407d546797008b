"""Training: experiments as values, the jitted loop, run folders, seeds in parallel."""
