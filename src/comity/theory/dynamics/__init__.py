"""How populations and players move: replicator, logit, fictitious play, regret matching, Moran process."""
