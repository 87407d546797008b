"""Repeated games of two players: memory-one strategies, zero-determinant strategies, the folk theorem.

Every value on this shelf is per step: (1 - d) sum_t d^t u_t at discount d, so that it is in the units of the
stage game's payoffs whatever the discount. Divide by 1 - d for the discounted sum.
"""
