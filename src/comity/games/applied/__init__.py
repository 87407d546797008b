"""Applied games: markets, resources and roads, each with an answer that is known."""
