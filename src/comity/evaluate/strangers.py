"""Five copies of a player among two strangers: what Melting Pot's scenarios measure, with our stand-ins.

Scores are normalised with what was published of the scenarios: 0 is random, 1 an exploiter.
"""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from comity.core.agent import Player
from comity.games.commons_harvest import ZAP, CommonsHarvest
from comity.games.harvest_map import Layout
from comity.play.loading import scripted_player
from comity.play.match import play
from comity.play.most_likely import most_likely

FOCAL = 5  # copies of the player that is measured; strangers sit in the other seats
ENOUGH = 3  # apples that must be left near one that is eaten, else it was one too many
ANSWERED = 25  # steps within which a hit may be an answer to an apple too many


class Kind(NamedTuple):
    """A kind of strangers: the scripted stand-in, and the published returns of random and exploiter."""

    player: str
    random: float
    exploiter: float


KINDS = {"zappers": Kind("zapper", 1.81, 10.69), "pacifists": Kind("stranger", 1.87, 10.45)}


def normalised(kind: str, focal: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """(return - random) / (exploiter - random)."""
    own = KINDS[kind]
    return (focal - own.random) / (own.exploiter - own.random)


class Encounter(NamedTuple):
    """What came of some episodes among strangers of one kind.

    - `focal`, `strangers`: what each copy, and each stranger, got in each episode.
    - `score`: the normalised return of the copies.
    - `bushes`: how many bushes had an apple after each step; `left`: apples after each step.
    - `zaps`: zaps in 100 steps of a copy, and of a stranger.
    - `hits`: hits in 100 steps of a seat: copies on copies, on strangers; strangers on copies, on each other.
    - `after_theft`: share of the copies' hits on strangers who took an apple too many shortly before.
    """

    focal: Float[np.ndarray, " episodes"]
    strangers: Float[np.ndarray, " episodes"]
    score: Float[np.ndarray, " episodes"]
    bushes: Float[np.ndarray, " time"]
    left: Float[np.ndarray, " time"]
    zaps: tuple[float, float]
    hits: tuple[float, float, float, float]
    after_theft: float


def meet(
    game: CommonsHarvest,
    player: Player,
    kind: str,
    episodes: int,
    length: int,
    seed: int = 0,
    deterministic: bool = True,
) -> Encounter:
    """Five copies of a player, doing what is most likely for them, among strangers of a kind."""
    focal = most_likely(player) if deterministic else player
    strangers = [scripted_player(KINDS[kind].player, game, i) for i in range(FOCAL, len(game.seats))]
    played = play(game, (focal,) * FOCAL + tuple(strangers), jax.random.key(seed), episodes, length)
    rewards = np.stack([np.asarray(reward) for reward in played.step.reward], axis=-1)
    actions = np.stack([np.asarray(action) for action in played.action], axis=-1)
    before, after = played.state, played.next_state
    fired = (actions == ZAP) & (np.asarray(before.cooldown) == 0) & (np.asarray(before.away) == 0)
    hits = np.asarray(after.zapped)
    apples = np.asarray(after.apples)
    returns = rewards.sum(axis=0)
    each = returns[:, :FOCAL].mean(axis=1)
    return Encounter(
        focal=each,
        strangers=returns[:, FOCAL:].mean(axis=1),
        score=normalised(kind, each),
        bushes=bushes_alive(apples, game.layout.bushes).mean(axis=1),
        left=apples.sum(axis=-1).mean(axis=1),
        zaps=(100 * float(fired[..., :FOCAL].mean()), 100 * float(fired[..., FOCAL:].mean())),
        hits=_hits(hits),
        after_theft=_after_theft(hits, thefts(game.layout, rewards, np.asarray(after.cells), apples)),
    )


class Rampage(NamedTuple):
    """What strangers of a kind do to the map among others who stand still.

    - `each`: apples of each stranger.
    - `half`, `bare`: steps until half of the apples, and all of them, are gone (or all steps, if never).
    - `bites`: shares of bites that leave 0, 1, 2, and 3 or more apples near.
    - `zaps`: zaps in 100 steps of a stranger; `hits`: the share of them that hit somebody.
    """

    each: Float[np.ndarray, " episodes"]
    half: Float[np.ndarray, " episodes"]
    bare: Float[np.ndarray, " episodes"]
    bites: tuple[float, float, float, float]
    zaps: float
    hits: float


def rampage(game: CommonsHarvest, kind: str, episodes: int, length: int, seed: int = 0) -> Rampage:
    """Strangers of a kind alone among five who stand still."""
    names = ["bystander"] * FOCAL + [KINDS[kind].player] * (len(game.seats) - FOCAL)
    players = tuple(scripted_player(name, game, i) for i, name in enumerate(names))
    played = play(game, players, jax.random.key(seed), episodes, length)
    after = played.next_state
    apples = np.asarray(after.apples)
    left = apples.sum(axis=-1)
    near = (apples.astype(np.float32) @ game.layout.near)[np.asarray(after.eaten)]
    rewards = np.stack([np.asarray(reward) for reward in played.step.reward[FOCAL:]])
    fired = np.stack([np.asarray(action) for action in played.action[FOCAL:]], axis=-1) == ZAP
    hit = np.asarray(after.zapped)[..., FOCAL:, :].any(axis=-1)
    return Rampage(
        each=rewards.sum(axis=1).mean(axis=0),
        half=_first(left <= apples.shape[-1] / 2),
        bare=_first(left == 0),
        bites=(*(float((near == count).mean()) for count in (0, 1, 2)), float((near >= 3).mean())),  # type: ignore[arg-type]
        zaps=100 * float(fired.mean()),
        hits=float(hit.sum() / max(fired.sum(), 1)),
    )


def _first(reached: Bool[np.ndarray, "time episodes"]) -> Float[np.ndarray, " episodes"]:
    """How many steps it took until something was reached."""
    return np.where(reached.any(axis=0), reached.argmax(axis=0) + 1.0, float(len(reached)))


def bushes_alive(
    apples: Bool[np.ndarray, "time episodes apples"], bushes: Int[np.ndarray, " apples"]
) -> Int[np.ndarray, "time episodes"]:
    """How many bushes have an apple."""
    alive = np.stack([apples[..., bushes == bush].any(axis=-1) for bush in np.unique(bushes)])
    return alive.sum(axis=0)


def thefts(
    own: Layout,
    rewards: Float[np.ndarray, "time episodes seats"],
    cells: Int[np.ndarray, "time episodes seats"],
    apples: Bool[np.ndarray, "time episodes apples"],
) -> Bool[np.ndarray, "time episodes seats"]:
    """Who ate an apple with fewer than `ENOUGH` others near it."""
    near = np.append(own.near, np.zeros((len(own.apples), 1)), axis=1)  # nothing is near what is no bush
    count = apples.astype(np.float32) @ near
    there = np.take_along_axis(count, own.apple_of[cells], axis=-1)
    stolen: Bool[np.ndarray, "time episodes seats"] = (rewards > 0) & (cells >= 0) & (there < ENOUGH)
    return stolen


def _hits(hits: Bool[np.ndarray, "time episodes shooters seats"]) -> tuple[float, float, float, float]:
    parts = (slice(0, FOCAL), slice(FOCAL, None))
    found = [100 * float(hits[..., a, b].any(axis=-1).mean()) for a in parts for b in parts]
    return found[0], found[1], found[2], found[3]


def _after_theft(
    hits: Bool[np.ndarray, "time episodes shooters seats"], stolen: Bool[np.ndarray, "time episodes seats"]
) -> float:
    recent = np.zeros_like(stolen)
    for lag in range(1, ANSWERED + 1):
        recent[lag:] |= stolen[:-lag]
    struck = hits[..., :FOCAL, FOCAL:].any(axis=-2)
    return float(recent[..., FOCAL:][struck].mean()) if struck.any() else 0.0
