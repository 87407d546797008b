"""Evaluation while training: what the players earn in games of their own, beside what they earn learning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import jax
import numpy as np

from comity.core.agent import Player
from comity.core.errors import ComityError, require, unknown_name
from comity.core.game import PerSeat
from comity.core.trust import find_function
from comity.play.loading import check_player
from comity.play.match import Matches, play_matches
from comity.play.most_likely import most_likely
from comity.play.zoo import PREFIX as ZOO
from comity.training import loop
from comity.training.experiment import Experiment
from comity.training.hooks.base import ActiveRun, Ending, Hook, Stop
from comity.training.load import load_player

PREFIX = "evaluation/"
SELF_PLAY = "self-play"
MEAN = "mean"


@dataclass
class Evaluation(Hook):
    """Plays the present players, in self-play and against others, and keeps the best ones so far.

    A player's exploration while learning is left out, and all evaluations play with the same random numbers,
    those of other runs too, so that differences are not luck of the draw. `evaluation/NAME` is the game's own
    reward per step of the seats that learn: each of them among opponents NAME, or all together in self-play.
    Where episodes differ in length, `evaluation_return/NAME` and `evaluation_length/NAME` are logged too, and
    the return decides who is best.
    """

    measures: ClassVar[bool] = True

    every: int = 100  # iterations between two evaluations, which fall on the next end of a chunk
    against: tuple[
        str, ...
    ] = ()  # opponents: scripted players, zoo:GAME/AGENT/SEED, player files, run folders
    episodes: int = 100  # games played with each opponent in each seat
    deterministic: bool = False  # whether everybody does what is most likely instead of drawing
    steps: int = 1000  # the longest episode, in games that do not say how long theirs are
    seed: int = 0  # of the games that are played
    best: str = MEAN  # whose evaluation says which players are best: self-play, an opponent, or mean of all
    _opponents: dict[str, PerSeat[Player]] = field(default_factory=dict, init=False, repr=False)
    _best: tuple[float, int] = field(default=(-float("inf"), 0), init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("every", "episodes", "steps"):
            require(getattr(self, name) >= 1, f"evaluation.{name}", getattr(self, name), "at least 1")
        require(0 <= self.seed < 2**31, "evaluation.seed", self.seed, "between 0 and 2147483647")
        if self.best not in (MEAN, *self.names):
            raise unknown_name("evaluation to choose the best by", self.best, (MEAN, *self.names))

    @property
    def names(self) -> tuple[str, ...]:
        """What is logged: self-play, and each opponent by the end of its name."""
        labels = {source: _label(source) for source in self.against}
        doubled = len(set(labels.values())) < len(labels)
        return (SELF_PLAY, *(source if doubled else label for source, label in labels.items()))

    def check(self, experiment: Experiment, hooks: Sequence[Hook] = ()) -> None:
        """Refuses opponents that cannot play in the game, before anything is trained."""
        game = experiment.game
        if self.against and len(game.seats) == 1:
            raise ComityError("A game of one seat has no opponents: leave --evaluate-against out.")
        self._opponents = {}
        for name, source in zip(self.names[1:], self.against, strict=True):
            if ":" in source and not source.startswith(ZOO) and not Path(source).exists():
                find_function(source, "player")  # raises unless the user named it
            seated = tuple(load_player(source, game, seat) for seat in range(len(game.seats)))
            for seat, player in enumerate(seated):
                check_player(game, source, player, seat)
            self._opponents[name] = seated

    def before(self, run: ActiveRun) -> Stop | None:
        self.check(run.experiment)
        self._best = (-float("inf"), 0)
        for row in [] if run.folder is None else run.folder.metrics():
            if row["iteration"] <= run.iteration and PREFIX + SELF_PLAY in row:
                self._is_best(row, row["iteration"])
        return None

    def after_chunk(self, run: ActiveRun, iteration: int, metrics: dict[str, float]) -> Stop | None:
        count = len(next(iter(run.chunk.values())))
        if iteration // self.every == (iteration - count) // self.every:
            return None
        metrics |= self.measure(run.experiment, loop.players(run.experiment, run.state))
        if self._is_best(metrics, iteration) and run.folder is not None:
            run.folder.save_players(run.experiment, run.state, best=self._best[0])
        return None

    def after(self, run: ActiveRun, ending: Ending) -> None:
        if run.folder is not None and self._best[1] and ending.status in ("finished", "stopped"):
            run.folder.add_metadata(best={"score": self._best[0], "iteration": self._best[1]})

    def measure(self, experiment: Experiment, players: PerSeat[Player]) -> dict[str, float]:
        """What is logged of players, one per seat."""
        game = experiment.game
        seats = range(len(game.seats))
        learning = [seat for seat in seats if players[seat].agent.learns]
        everyone = [*players, *(player for seated in self._opponents.values() for player in seated)]
        pairings = [list(seats)]
        focal = [(SELF_PLAY, 0, learning)]
        for number, name in enumerate(self._opponents, 1):
            for seat in learning:
                focal.append((name, len(pairings), [seat]))
                pairings.append([s + (0 if s == seat else number * len(seats)) for s in seats])
        if self.deterministic:
            everyone = [most_likely(player) for player in everyone]
        played = play_matches(
            game,
            everyone,
            np.asarray(pairings),
            jax.random.key(self.seed),
            self.episodes,
            game.horizon or self.steps,
        )
        found: dict[str, float] = {}
        for name in self.names:
            own = [(pairing, seat) for other, pairing, of in focal if other == name for seat in of]
            found |= _summary(name, played, own, game.horizon is None)
        return found

    def _is_best(self, metrics: Mapping[str, float], iteration: int) -> bool:
        """Whether these are the best players so far; of equals the first."""
        varies = f"evaluation_return/{SELF_PLAY}" in metrics
        prefix = "evaluation_return/" if varies else PREFIX
        names = self.names if self.best == MEAN else (self.best,)
        if any(prefix + name not in metrics for name in names):  # logged with other opponents
            return False
        score = float(np.mean([metrics[prefix + name] for name in names]))
        better = score > self._best[0]
        if better:
            self._best = (score, iteration)
        return better


def _summary(name: str, played: Matches, own: list[tuple[int, int]], varies: bool) -> dict[str, float]:
    """Of the first episodes of some seats in some pairings: reward per step, and where they vary all else."""
    returns, lengths = (
        np.stack([part[pairing, seat] for pairing, seat in own]).astype(np.float64)
        for part in (played.returns, played.lengths)
    )
    found = {PREFIX + name: float(returns.sum() / lengths.sum())}
    if varies:
        found[f"evaluation_return/{name}"] = float(returns.mean())
        found[f"evaluation_length/{name}"] = float(lengths.mean())
    return found


def _label(source: str) -> str:
    """How an opponent is called in metrics: its name, or the last part of its path."""
    return source if ":" in source else Path(source).name
