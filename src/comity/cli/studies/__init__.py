"""Studies that compare more than one kind of player: `comity reproduce` calls them."""
