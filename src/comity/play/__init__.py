"""Where games meet agents: rollouts, matchmaking, matches."""
