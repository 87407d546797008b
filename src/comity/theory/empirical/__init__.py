"""Games made from measured payoffs: leagues, rankings, exploitability, response oracles, outcomes."""
