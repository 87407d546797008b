"""Array mathematics without batch axes: returns, advantages, surrogate losses. Callers use `vmap`."""
