"""A league of main agents and exploiters (Vinyals et al., 2019, "Grandmaster level in StarCraft II").

Everybody trains against players of the past, who are frozen, and in each generation against other ones:

- A main agent: half of the games by prioritised fictitious self-play on all past players, weight (1-p)^2 for
  a player that it beats with probability p; a part against past exploiters that it still loses to; the rest
  against itself.
- A main exploiter: the main agents as they were last, to find what beats them; while that is hopeless
  (p below .1), their past with weight p (1-p).
- A league exploiter: all past players, weight min(1/2, 1-p), to find what beats the league as a whole.

After a generation the main agents join the past. Exploiters join it when they win often enough, or after some
generations, and then begin anew (a league exploiter only now and then). What joins is kept before anything is
begun anew.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import ComityError, require
from comity.core.files import read_json, write_json
from comity.play.loading import fixed_player
from comity.play.match import play_matches
from comity.play.matchmaking import SelfPlay
from comity.play.opponents.fixed import FixedPlayers
from comity.theory.empirical.psro import nash_meta
from comity.theory.normal_form import NormalFormGame
from comity.training.driver import start_any_seed
from comity.training.experiment import Experiment
from comity.training.folder import RunFolder
from comity.training.loop import RunState
from comity.training.populations.base import Members, Population
from comity.training.run import Run

KIND = "comity-league-training"
FILE = "population.json"
MAIN, MAIN_EXPLOITER, LEAGUE_EXPLOITER = "main", "main-exploiter", "league-exploiter"
HOPELESS, WEAK = 0.1, 0.3  # scores below which the main agent is no target, and an exploiter is still met
BEGINS_ANEW = 0.25  # how often a league exploiter begins anew when it joins the past


class Past(NamedTuple):
    """A frozen player: its run folder within the league's, and what it was."""

    name: str
    role: str


class Learner(NamedTuple):
    """Who trains: its role and number, since when, and the run that it goes on from; none: it begins anew."""

    name: str
    role: str
    since: int
    parent: str | None


@dataclass
class League(Population):
    """Main agents, main exploiters and league exploiters; for symmetric games of two seats.

    A generation is a run folder for each learner, `generation-003/main-0`. Who is in the past, and who won
    how often against whom, is in `population.json`.
    """

    mains: int = 1  # main agents
    main_exploiters: int = 1  # learners that look for what beats the main agents
    league_exploiters: int = 1  # learners that look for what beats the whole past
    interval: int = 50  # iterations of a generation
    prioritised_share: float = 0.5  # of a main agent's games: against the past, the harder the more
    verification_share: float = 0.15  # of a main agent's games: against past exploiters that it loses to
    win_share: float = 0.7  # an exploiter that wins so often has found something, and joins the past
    patience: int = 4  # generations after which an exploiter joins the past in any case
    groups: int = 16  # how many opponents are drawn in one iteration
    episodes: int = 64  # in which scores against the past are measured

    def __post_init__(self) -> None:
        self._base: Experiment | None = None
        self._past: list[Past] = []
        self._learners: list[Learner] = []
        self._generation = 0
        self._known: dict[str, dict[str, list[float]]] = {}  # who won how often against whom
        for name in ("mains", "interval", "patience", "groups", "episodes"):
            require(getattr(self, name) >= 1, f"league.{name}", getattr(self, name), "at least 1")
        for name in ("main_exploiters", "league_exploiters"):
            require(getattr(self, name) >= 0, f"league.{name}", getattr(self, name), "at least 0")
        shares = (self.prioritised_share, self.verification_share)
        require(min(shares) >= 0 and sum(shares) <= 1, "league.prioritised_share", shares, "shares of 1")
        require(0.5 <= self.win_share <= 1.0, "league.win_share", self.win_share, "between 0.5 and 1")

    @property
    def past(self) -> tuple[Past, ...]:
        """All frozen players, the oldest first."""
        return tuple(self._past)

    def members(self, experiment: Experiment) -> Members:
        if not experiment.game.symmetric or len(experiment.game.seats) != 2 or len(experiment.agents) != 1:
            raise ComityError("A league is for symmetric games of two seats with one agent for both.")
        self._base, self._past, self._generation, self._known = experiment, [], 0, {}
        counts = {
            MAIN: self.mains,
            MAIN_EXPLOITER: self.main_exploiters,
            LEAGUE_EXPLOITER: self.league_exploiters,
        }
        self._learners = [
            Learner(f"{role}-{number}", role, 0, None)
            for role, count in counts.items()
            for number in range(count)
        ]
        return self._experiments(SelfPlay(), None)

    def evolve(self, results: Mapping[str, Run], key: Key) -> Members:
        out = next(iter(results.values())).folder.parents[1]
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())
        names = list(results)
        scores = self._measured(out, names)
        joined, following = [], []
        for learner, name in zip(self._learners, names, strict=True):
            joins, stays = self._fate(learner, scores[name], rng)
            joined += [Past(name, learner.role)] if joins else []
            following.append(
                learner._replace(parent=name)
                if stays
                else learner._replace(parent=None, since=self._generation + 1)
            )
        self._past += joined
        self._learners = following
        self._generation += 1
        write_json(out / FILE, self._to_data())
        if self._generation * self.interval >= self._planned.iterations:
            return {}
        # What joined just now was not met yet: it is measured before opponents are drawn.
        present = {learner.name: name for learner, name in zip(self._learners, names, strict=True)}
        return self._experiments(None, (out, self._measured(out, names), present))

    def start_state(self, name: str, experiment: Experiment, out: Path) -> RunState | None:
        learner = next(own for own in self._learners if name.endswith(f"/{own.name}"))
        if learner.parent is None:
            return None
        parent = RunFolder.open(out / learner.parent)
        before, complaints = parent.restore(parent.experiment())
        if before is None:
            raise ComityError(f"{parent.path} has no checkpoint to go on from. {' '.join(complaints)}")
        return start_any_seed(experiment)._replace(learners=before.learners)

    def mixture(self, out: Path) -> dict[str, float]:
        """A Nash equilibrium among the past players, by who wins how often."""
        names = [own.name for own in self._past]
        scores = self._measured(out, names)
        table = np.asarray([[scores[one].get(other, 0.5) - 0.5 for other in names] for one in names])
        strategy = nash_meta(NormalFormGame.from_bimatrix((table - table.T) / 2.0))[0]
        return {name: float(p) for name, p in zip(names, strategy, strict=True)}

    # ---- Who meets whom --------------------------------------------------------------------------------

    @property
    def _planned(self) -> Experiment:
        assert self._base is not None, "members() comes first"
        return self._base

    def opponents(self, learner: Learner, score: Mapping[str, float]) -> tuple[dict[str, float], float]:
        """Shares of past players, up to a factor, and the share of games against itself.

        `score` is how often the learner as it is wins against each past player.
        """
        everybody = {own.name: score[own.name] for own in self._past}
        if learner.role == LEAGUE_EXPLOITER:
            return _shares({name: min(0.5, 1.0 - p) for name, p in everybody.items()}), 0.0
        mains = {own.name: score[own.name] for own in self._past if own.role == MAIN}
        if learner.role == MAIN_EXPLOITER:
            newest = dict(list(mains.items())[-self.mains :])
            target = {name: p for name, p in newest.items() if p > HOPELESS}
            if target:
                return _shares(dict.fromkeys(target, 1.0)), 0.0
            return _shares({name: p * (1.0 - p) for name, p in mains.items()}), 0.0
        hard = _shares({name: (1.0 - p) ** 2 for name, p in everybody.items()})
        missed = {
            own.name: (1.0 - score[own.name]) ** 2
            for own in self._past
            if own.role != MAIN and score[own.name] < WEAK
        }
        checked = _shares(missed) if missed else {}
        total = {name: self.prioritised_share * share for name, share in hard.items()}
        for name, share in checked.items():
            total[name] += self.verification_share * share
        return total, 1.0 - sum(total.values())

    def _fate(
        self, learner: Learner, score: Mapping[str, float], rng: np.random.Generator
    ) -> tuple[bool, bool]:
        """Whether a learner joins the past as it is now, and whether it goes on from what it has learned."""
        if learner.role == MAIN:
            return True, True
        targets = [own.name for own in self._past if own.role == MAIN or learner.role == LEAGUE_EXPLOITER]
        if learner.role == MAIN_EXPLOITER:
            targets = targets[-self.mains :]
        won = bool(targets) and min(score[name] for name in targets) > self.win_share
        joins = won or self._generation + 1 - learner.since >= self.patience
        anew = joins and (learner.role == MAIN_EXPLOITER or rng.random() < BEGINS_ANEW)
        return joins, not anew

    def _experiments(
        self, matchmaker: SelfPlay | None, measured: tuple[Path, Any, Mapping[str, str]] | None
    ) -> Members:
        base = self._planned
        members: Members = {}
        for place, learner in enumerate(self._learners):
            if measured is None:
                chosen: Any = matchmaker
            else:
                out, scores, present = measured
                # Who begins anew knows nothing yet, and is taken to win half of its games.
                score = (
                    scores[present[learner.name]]
                    if learner.parent is not None
                    else dict.fromkeys((own.name for own in self._past), 0.5)
                )
                shares, itself = self.opponents(learner, score)
                met = {name: share for name, share in shares.items() if share > 0}
                chosen = FixedPlayers(
                    players=tuple(str(out / name) for name in met),
                    shares=tuple(round(share, 6) for share in met.values()),
                    groups=self.groups,
                    current_share=round(itself, 6),
                )
            seed = base.seed + place + len(self._learners) * self._generation
            members = {
                **members,
                f"generation-{self._generation:03d}/{learner.name}": dataclasses.replace(
                    base.with_iterations(self.interval, self.interval), matchmaker=chosen, seed=seed,
                    chunk=min(base.chunk, self.interval),
                ),
            }  # fmt: skip
        return members

    # ---- Who wins how often against whom ---------------------------------------------------------------

    def _measured(self, out: Path, names: Sequence[str]) -> dict[str, dict[str, float]]:
        """How often each of some players wins against each past player; draws count half."""
        if not self._known and (out / FILE).is_file():
            self._known = _read_scores(out)
        pairs = [
            (name, own.name)
            for name in names
            for own in self._past
            if own.name not in self._known.get(name, {})
        ]
        if pairs:
            spec = self._planned.game.spec
            sources = list(dict.fromkeys(name for pair in pairs for name in pair))
            players = [fixed_player(str(out / name), spec, 0) for name in sources]
            won = self._won(players, [(sources.index(a), sources.index(b)) for a, b in pairs])
            for (name, other), share in zip(pairs, won, strict=True):
                self._known.setdefault(name, {})[other] = [float(share)]
        return {name: {other: own[0] for other, own in self._known.get(name, {}).items()} for name in names}

    def _won(self, players: Sequence[Any], pairs: Sequence[tuple[int, int]]) -> Float[np.ndarray, " pair"]:
        game = self._planned.game
        length = game.horizon or self._planned.unroll
        reward = play_matches(
            game, list(players), np.asarray(pairs), jax.random.key(self._planned.seed), self.episodes, length
        ).reward
        difference = reward[:, 0] - reward[:, 1]
        return np.asarray((difference > 0).mean(axis=1) + 0.5 * (difference == 0).mean(axis=1), np.float64)

    def _to_data(self) -> dict[str, Any]:
        return {
            "kind": KIND,
            "version": 1,
            "generations": self._generation,
            "past": [own._asdict() for own in self._past],
            "learners": [own._asdict() for own in self._learners],
            "scores": self._known,
        }


def _shares(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights as shares of 1; all alike where all are 0."""
    total = sum(weights.values())
    return {name: weight / total if total > 0 else 1.0 / len(weights) for name, weight in weights.items()}


def _read_scores(out: Path) -> dict[str, dict[str, list[float]]]:
    """What was measured before a league was interrupted; the players are the same, so it is too."""
    data = read_json(out / FILE, "a league in training")
    if not isinstance(data, dict) or data.get("kind") != KIND or not isinstance(data.get("scores"), dict):
        raise ComityError(f"{out / FILE} is not a league in training: choose another --out.")
    scores: dict[str, dict[str, list[float]]] = data["scores"]
    return scores
