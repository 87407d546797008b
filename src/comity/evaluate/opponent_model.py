r"""Whom one is facing: models of another player from what it was seen doing.

- Behaviour cloning (`clone`): probabilities of its actions after each of its observations, by counts with a
  prior of one half each (Krichevsky and Trofimov, 1981). Its log-loss approaches the entropy of what it
  models.
- Type inference (`infer_types`): which of some known players it is, by Bayes' rule over the likelihoods of
  what it did (`likelihoods`, memories following). A player that may be exchanged for another is followed with
  a chance of that in every step: with h the hazard and n types,

  .. math:: p_{t+1}(i) \propto \Big[(1 - h) p_t(i) + h \tfrac{1}{n}\Big]\, P_i(a_{t+1} | history).

- `calibration_error`: how far stated probabilities are from how often things come true (Naeini et al., 2015).
"""

from collections.abc import Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from comity.core.agent import Player
from comity.core.errors import ComityError, require
from comity.core.game import Environment
from comity.core.spaces import Discrete
from comity.play.behaviour import behaviour_along
from comity.theory.repeated.memory_one import MemoryOne

PRIOR = 0.5  # of each action, before anything is seen
LEAST = 1e-6  # the least likelihood of an action, so that a surprise does not rule out a type for ever


def clone(
    observations: Int[np.ndarray, " *steps"], actions: Int[np.ndarray, " *steps"], seen: int, choices: int
) -> Float[np.ndarray, "observation choice"]:
    """P(action | observation) of a player, from what it saw (one of `seen`) and did (one of `choices`)."""
    counts = np.full((seen, choices), PRIOR)
    np.add.at(counts, (np.ravel(observations), np.ravel(actions)), 1.0)
    return counts / counts.sum(axis=1, keepdims=True)


def log_loss(
    model: Float[np.ndarray, "observation choice"],
    observations: Int[np.ndarray, " *steps"],
    actions: Int[np.ndarray, " *steps"],
) -> float:
    """The mean of -log P(action | observation): at least the entropy of what is modelled."""
    return float(-np.log(model[np.ravel(observations), np.ravel(actions)]).mean())


def as_memory_one(model: Float[np.ndarray, "5 2"]) -> MemoryOne:
    """A model of a player of the repeated prisoner's dilemma, as game theory takes it."""
    require(
        model.shape == (5, 2), "model", model.shape, "5 observations (start, CC, CD, DC, DD) of 2 actions"
    )
    return MemoryOne(float(model[0, 0]), model[1:, 0].copy())


def calibration_error(
    probabilities: Float[np.ndarray, " prediction"], came_true: Sequence[bool] | np.ndarray, bins: int = 10
) -> float:
    """The expected calibration error: by bins of stated probability, how far off they are on average."""
    require(bins >= 1, "bins", bins, "at least 1")
    stated = np.asarray(probabilities, np.float64)
    happened = np.asarray(came_true, np.float64)
    place = np.minimum((stated * bins).astype(np.int64), bins - 1)
    error = 0.0
    for number in range(bins):
        inside = place == number
        if inside.any():
            error += inside.mean() * abs(stated[inside].mean() - happened[inside].mean())
    return float(error)


def likelihoods(
    game: Environment,
    library: Mapping[str, Player],
    seat: int,
    observations: Int[np.ndarray, "time match"],
    actions: Int[np.ndarray, "time match"],
) -> Float[np.ndarray, "time match type"]:
    """How likely each player of a library would have done what was done, step by step, in matches so far.

    Observations are those of the seat that is modelled; the matches begin with the first step.
    """
    action = game.seats[seat].action
    if not isinstance(action, Discrete):
        raise ComityError(
            "Types are told apart by choices: this seat's action is not one of several choices."
        )
    require(len(library) >= 1, "library", len(library), "at least one player")
    obs = jnp.asarray(observations, jnp.int32)
    resets = jnp.zeros(obs.shape, jnp.bool_)
    found = []
    for player in library.values():
        done = behaviour_along(player.agent, player.params, obs, resets, action, jax.random.key(0))
        found.append(np.take_along_axis(np.asarray(done, np.float64), actions[..., None], axis=-1)[..., 0])
    return np.stack(found, axis=-1)


def infer_types(
    likelihood: Float[np.ndarray, "time match type"],
    prior: Float[np.ndarray, " type"] | None = None,
    hazard: float = 0.0,
) -> Float[np.ndarray, "steps match type"]:
    """The posterior over types before the first step and after each; `hazard`: the chance of an exchange."""
    require(0.0 <= hazard < 1.0, "hazard", hazard, "at least 0 and below 1")
    types = likelihood.shape[-1]
    begin = np.full(types, 1.0 / types) if prior is None else np.asarray(prior, np.float64)
    fits = begin.shape == (types,) and (begin >= 0).all() and abs(begin.sum() - 1.0) < 1e-6
    require(bool(fits), "prior", prior, f"{types} probabilities that add up to 1")
    belief = np.broadcast_to(begin, likelihood.shape[1:]).copy()
    steps = [belief]
    for seen in np.maximum(likelihood, LEAST):
        expected = (1.0 - hazard) * belief + hazard / types
        belief = expected * seen
        belief = belief / belief.sum(axis=-1, keepdims=True)
        steps.append(belief)
    return np.stack(steps)


def steps_until_noticed(
    posterior: Float[np.ndarray, "steps match type"], now: int, switched: int, sure: float = 0.9
) -> Float[np.ndarray, " match"]:
    """How many steps after `switched` the type `now` is believed in with `sure`; infinite if never."""
    after = posterior[switched:, :, now] >= sure
    first = after.argmax(axis=0).astype(np.float64)
    return np.where(after.any(axis=0), first, np.inf)
