"""Strangers in repeated games of two actions: in each episode another character, drawn anew.

What an agent meets that knows nobody: players of one-step memory with any probabilities, cycles, grim and
patient ones, probers, tit-for-tat and its kin, extortioners, and simple learners; most with hands that
tremble.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.scripted.memory import COOPERATE, DEFECT, MemoryStrategy, Reading
from comity.core.errors import require

LONGEST_CYCLE = 8
OUTCOMES = 5  # the start, and what the two did last: CC, CD, DC, DD
KINDS = ("table", "cycle", "grim", "tats", "learner")
# What a learner takes the outcomes CC, CD, DC, DD to be worth, in the order of a prisoner's dilemma.
WORTH = (0.6, 0.0, 1.0, 0.2)
TABLES = (  # P(cooperate) at the start and after CC, CD, DC, DD
    (1.0, 1.0, 1.0, 1.0, 1.0),  # always cooperates
    (0.0, 0.0, 0.0, 0.0, 0.0),  # always defects
    (1.0, 1.0, 0.0, 1.0, 0.0),  # tit-for-tat
    (1.0, 1.0, 0.0, 1.0, 0.0),
    (0.0, 1.0, 0.0, 1.0, 0.0),  # suspicious tit-for-tat
    (1.0, 1.0, 0.33, 1.0, 0.33),  # generous tit-for-tat
    (1.0, 1.0, 0.1, 1.0, 0.1),
    (1.0, 1.0, 0.0, 0.0, 1.0),  # win-stay, lose-shift
    (1.0, 1.0, 0.0, 1.0, 1.0),  # firm but fair
    (0.0, 0.0, 1.0, 0.0, 1.0),  # takes what it can
)


class Character(NamedTuple):
    """Who a stranger is, for one episode."""

    kind: Int[Array, ""]  # place in KINDS
    table: Float[Array, " 5"]
    cycle: Int[Array, " 8"]
    period: Int[Array, ""]
    patience: Int[Array, ""]  # how many defections the grim one, or in a row tit-for-n-tats, lets pass
    probe: Float[Array, ""]  # chance that it defects to see what happens
    slip: Float[Array, ""]  # chance that its hand trembles
    rate: Float[Array, ""]  # of the learner
    explores: Float[Array, ""]


class Stranger(NamedTuple):
    """A character, and what it remembers."""

    character: Character
    age: Int[Array, ""]
    insults: Int[Array, ""]  # how often the other defected
    in_a_row: Int[Array, ""]
    values: Float[Array, "outcome action"]
    last: Int[Array, ""]  # the outcome before the last action
    action: Int[Array, ""]


class MatrixStranger(MemoryStrategy):
    """Another character in each episode: cycles, grudges, probes, tables, learners."""

    most_slip: float = 0.05  # the largest chance that a stranger's hand trembles
    prober_share: float = 0.3  # share of those who now and then defect to see what happens
    learner_share: float = 0.15  # share of those who learn from what they earn
    table_share: float = 0.55  # share of those whose memory is one step
    reciprocal_share: float = 0.5  # of these, the share of well-known ones; the rest are any probabilities

    def __check_init__(self) -> None:
        for name in ("most_slip", "prober_share", "learner_share", "table_share", "reciprocal_share"):
            require(0.0 <= getattr(self, name) <= 1.0, name, getattr(self, name), "between 0 and 1")
        both = self.learner_share + self.table_share
        require(both <= 1.0, "table_share", self.table_share, f"at most {1.0 - self.learner_share:g}")

    def initial_carry(self, params: PyTree) -> Stranger:
        zero, one = jnp.int32(0), jnp.float32(0.0)
        nobody = Character(
            zero, jnp.zeros(OUTCOMES), jnp.zeros(LONGEST_CYCLE, jnp.int32), zero + 1, zero, one, one, one, one
        )
        return Stranger(nobody, zero, zero, zero, jnp.zeros((OUTCOMES, 2)), zero, zero)

    def rule(self, params: Reading, carry: Stranger, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        draw_key, act_key, slip_key = jax.random.split(key, 3)
        new = self.draw(draw_key)
        first = carry.age == 0
        who = jax.tree.map(lambda a, b: jnp.where(first, a, b), new, carry.character)
        outcome = _outcome(params, obs)
        insulted = ~params.others[obs]
        insults = carry.insults + insulted.astype(jnp.int32)
        in_a_row = jnp.where(insulted, carry.in_a_row + 1, 0)
        values = jnp.where(first, carry.values, _learned(carry, outcome, who.rate))
        draws = jax.random.uniform(act_key, (3,))
        by_table = jnp.where(draws[0] < who.table[outcome], COOPERATE, DEFECT)
        by_value = jnp.where(
            draws[1] < who.explores,
            jnp.where(draws[0] < 0.5, COOPERATE, DEFECT),
            jnp.where(values[outcome, COOPERATE] >= values[outcome, DEFECT], COOPERATE, DEFECT),
        )
        actions = jnp.stack(
            [
                by_table,
                who.cycle[carry.age % who.period],
                jnp.where(insults > who.patience, DEFECT, COOPERATE),
                jnp.where(in_a_row > who.patience, DEFECT, COOPERATE),
                by_value,
            ]
        )
        action = jnp.where(draws[2] < who.probe, DEFECT, actions[who.kind])
        slips = jax.random.uniform(slip_key) < who.slip
        action = jnp.where(slips, 1 - action, action).astype(jnp.int32)
        return action, Stranger(who, carry.age + 1, insults, in_a_row, values, outcome, action)

    def draw(self, key: Key) -> Character:
        """A new character."""
        keys = jax.random.split(key, 10)
        rest = (1.0 - self.table_share - self.learner_share) / 3.0
        shares = jnp.asarray([self.table_share, rest, rest, rest, self.learner_share])
        kind = jax.random.choice(keys[0], len(KINDS), p=shares)
        return Character(
            kind.astype(jnp.int32),
            self._table(keys[1]),
            jax.random.bernoulli(keys[2], 0.5, (LONGEST_CYCLE,)).astype(jnp.int32),
            jax.random.randint(keys[3], (), 1, LONGEST_CYCLE + 1),
            jax.random.randint(keys[4], (), 0, 4),
            jnp.where(
                jax.random.uniform(keys[5]) < self.prober_share, 0.3 * jax.random.uniform(keys[6]), 0.0
            ),
            self.most_slip * jax.random.uniform(keys[7]),
            jax.random.uniform(keys[8], minval=0.1, maxval=0.6),
            jax.random.uniform(keys[9], minval=0.02, maxval=0.2),
        )

    def _table(self, key: Key) -> Float[Array, " 5"]:
        """A well-known strategy, an extortioner, or any probabilities, many of which are 0 or 1."""
        keys = jax.random.split(key, 7)
        known = jnp.asarray(TABLES)[jax.random.randint(keys[0], (), 0, len(TABLES))]
        anything = jax.random.uniform(keys[1], (OUTCOMES,))
        certain = jax.random.uniform(keys[2], (OUTCOMES,)) < 0.5
        anything = jnp.where(certain, jnp.round(anything), anything)
        factor = 1.0 + 3.0 * jax.random.uniform(keys[3])
        surplus = 1.0 + jax.random.bernoulli(keys[4]).astype(jnp.float32)  # (R - P) / (P - S)
        phi = jax.random.uniform(keys[5], minval=0.3) / (1.0 + 2.0 * surplus * factor)
        extortion = jnp.stack(
            [
                jnp.float32(0.0),
                1.0 - phi * (factor - 1.0) * surplus,
                1.0 - phi * (1.0 + 2.0 * surplus * factor),
                phi * (factor + 2.0 * surplus),
                jnp.float32(0.0),
            ]
        )
        sort = jax.random.uniform(keys[6])
        rare = jnp.where(sort < self.reciprocal_share + 0.1, extortion, anything)
        return jnp.where(sort < self.reciprocal_share, known, rare)


def _outcome(params: Reading, obs: PyTree) -> Int[Array, ""]:
    """0 at the start, then 1 + 2 (I defected) + (the other defected)."""
    last = 1 + 2 * (~params.own[obs]).astype(jnp.int32) + (~params.others[obs]).astype(jnp.int32)
    return jnp.where(params.start[obs], 0, last)


def _learned(
    carry: Stranger, outcome: Int[Array, ""], rate: Float[Array, ""]
) -> Float[Array, "outcome action"]:
    """Q-learning on what the two did last, discounted by .9."""
    earned = jnp.asarray(WORTH)[jnp.maximum(outcome - 1, 0)]
    place = (carry.last, carry.action)
    target = earned + 0.9 * carry.values[outcome].max()
    return carry.values.at[place].add(rate * (target - carry.values[place]))
