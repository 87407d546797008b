"""Auctions as games: private values, and bids that agents choose."""
