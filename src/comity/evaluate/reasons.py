"""Why players did what they did in a replay: how likely it was, and what learning from it would change."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, PyTree

from comity.core.agent import Agent, Explained
from comity.core.batch import Trajectory, team_batch
from comity.core.errors import ComityError
from comity.core.game import Seat
from comity.core.spaces import Discrete


class Learner(NamedTuple):
    """An agent with all that it has learned, its critic too, and the seats that it was trained in."""

    agent: Agent
    state: PyTree
    seats: tuple[int, ...]


class Reasons(NamedTuple):
    """What is known of one seat along an episode, one entry per step; None where it is not known.

    - `probabilities`: of each choice, as the player saw them when it drew.
    - `value`, `own`, `others`, `past`, `advantage`: as in `comity.core.agent.Explained`; `others` and `past`
      have one row for each other player, in the order of the seats after one's own.
    - `term`: what shaping others adds to one's own advantage.
    """

    probabilities: Float[np.ndarray, "time choices"] | None = None
    value: Float[np.ndarray, " time"] | None = None
    own: Float[np.ndarray, " time"] | None = None
    others: Float[np.ndarray, "other time"] | None = None
    past: Float[np.ndarray, "other time"] | None = None
    advantage: Float[np.ndarray, " time"] | None = None

    @property
    def term(self) -> Float[np.ndarray, " time"] | None:
        """What shaping others adds to one's own advantage."""
        if self.own is None or self.advantage is None:
            return None
        return self.advantage - self.own


def probabilities_of(seat: Seat, extras: Any) -> Float[np.ndarray, "time choices"] | None:
    """How likely each choice was, if the player kept it of its acts."""
    space = seat.action
    kept = getattr(extras, "probabilities", None)
    if not isinstance(space, Discrete) or not isinstance(kept, jax.Array) or kept.shape[1:] != (1, space.n):
        return None
    return np.asarray(kept[:, 0], np.float64)


def explain(learner: Learner, seats: tuple[int, ...], played: Trajectory) -> dict[int, Explained]:
    """What the learner would follow in some seats, if it learned from this episode alone; leaves [time].

    Empty where it follows no advantages, or its critic cannot read this episode: it was trained among other
    numbers of seats, or the others do not see what it sees.
    """
    try:
        found = learner.agent.explain(learner.state, team_batch(played, seats))
    except (ComityError, TypeError, ValueError, LookupError):  # other shapes than those it was trained on
        return {}
    if found is None:
        return {}
    whole = jax.tree.map(np.asarray, found)
    return {seat: jax.tree.map(lambda x, i=i: x[..., i, 0], whole) for i, seat in enumerate(seats)}


def reasons(
    seats: Sequence[Seat], played: Trajectory, learners: Mapping[int, tuple[str, Learner]]
) -> list[Reasons]:
    """What is known of every seat; `learners` has those whose critic is known, each with a name.

    Seats of one name are one team, as far as the learner was trained in a team.
    """
    teams: dict[str, list[int]] = {}
    for seat, (name, own) in learners.items():
        alone = f"{name} {seat}" if len(own.seats) == 1 else name
        teams.setdefault(alone, []).append(seat)
    known: dict[int, Explained] = {}
    for members in teams.values():
        learner = learners[members[0]][1]
        known |= explain(learner, tuple(members), played)
    found = []
    for i, place in enumerate(seats):
        chances = probabilities_of(place, played.extras[i])
        about = known.get(i)
        if about is None:
            found.append(Reasons(chances))
        else:
            value, own_advantage, others, past, advantage = map(np.asarray, about)
            found.append(Reasons(chances, value, own_advantage, others, past, advantage))
    return found
