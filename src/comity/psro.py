"""Policy-space response oracles and exploitability with Comity's learners.

import comity, comity.psro

game = comity.make_game("rock-paper-scissors", horizon=1)
learner = comity.make_agent("a2c", **{"network.kind": "tabular", "learning_rate": 0.05})
result = comity.psro.psro(game, learner, rounds=5)
result.gains                                    # the exploitability that was seen in each round
comity.psro.exploit(game, "always-defect", learner).mean
"""

from collections.abc import Sequence
from pathlib import Path

import jax

from comity.api import load_player
from comity.core.compilation import use_compilation_cache
from comity.core.types import Agent, Environment, PerSeat, Player, with_everyone
from comity.evaluate.psro import BestResponse, Exploitability, Opponents, exploitability, grow_populations
from comity.theory.psro import MetaSolver, Psro, nash_meta
from comity.train.best_response import best_response


def psro(
    game: Environment,
    agent: Agent,
    *,
    initial: PerSeat[Sequence[str | Path | Player]] | None = None,
    rounds: int = 6,
    tolerance: float = 0.02,
    meta_solver: MetaSolver = nash_meta,
    iterations: int = 300,
    batch: int = 128,
    episodes: int = 256,
    seed: int = 0,
) -> Psro[Player]:
    """Grows one population per seat: in each round `agent` learns to answer the others' meta-strategy.

    `initial[s]` are the first players of seat s (players, run folders, player files or names of scripted
    players); by default one untrained learner in each seat. The loop ends when no answer gains more than
    `tolerance` per step.
    """
    use_compilation_cache()
    first = [
        [_untrained(agent, game, s, seed)] if initial is None else [_seated(p, game, s) for p in initial[s]]
        for s in range(len(game.seats) if initial is None else len(initial))
    ]
    return grow_populations(
        game,
        tuple(first),
        learned_response(agent, iterations=iterations, batch=batch),
        rounds=rounds,
        tolerance=tolerance,
        meta_solver=meta_solver,
        episodes=episodes,
        seed=seed,
    )


def exploit(
    game: Environment,
    player: str | Path | Player,
    agent: Agent,
    *,
    iterations: int = 300,
    batch: int = 128,
    episodes: int = 256,
    seed: int = 0,
) -> Exploitability:
    """What a freshly trained `agent` gains, in each seat, when `player` sits in all the others."""
    use_compilation_cache()
    players = tuple(_seated(player, game, s) for s in range(len(game.seats)))
    respond = learned_response(agent, iterations=iterations, batch=batch)
    return exploitability(game, players, respond, episodes=episodes, seed=seed)


def learned_response(agent: Agent, *, iterations: int = 300, batch: int = 128) -> BestResponse:
    """A way to find best responses: by training `agent`."""

    def respond(game: Environment, seat: int, opponents: Opponents, seed: int) -> Player:
        return best_response(game, agent, seat, opponents, iterations=iterations, batch=batch, seed=seed)

    return respond


def _untrained(agent: Agent, game: Environment, seat: int, seed: int) -> Player:
    agent.check(game.seats[seat])
    key = jax.random.fold_in(jax.random.key(seed), seat)
    return Player(agent, agent.params(agent.init(key, with_everyone(game, seat))))


def _seated(source: str | Path | Player, game: Environment, seat: int) -> Player:
    return source if isinstance(source, Player) else load_player(source, game, seat)
