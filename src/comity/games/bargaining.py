r"""Alternating offers (Rubinstein, 1982), with a last round: divide a pie that shrinks with every refusal.

Round k has a proposer and a responder, who change places in every round; the first seat proposes in round
0. The proposer offers the other a share of the pie; the responder, who sees the offer, names the least share
it accepts. If the offer is at least that, the pie is divided and the game ends; otherwise the next round
begins, if there is one. After the last refusal both have nothing. A seat's share is worth
:math:`p\,\delta_i^k` times the share to it in round k, with the pie p and its own factor :math:`\delta_i`.

A step is one move: only the seat whose turn it is acts (`acts`), the other waits.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import palette
from comity.core.errors import require
from comity.core.game import Cooperation, Environment, PerSeat, Seat, TimeStep
from comity.core.scene import Bar, Bars, Note, Scene, Stack, pale
from comity.core.spaces import Box, Discrete

WAIT, PROPOSE, RESPOND = range(3)
PHASES = Discrete(3, ("wait", "propose", "respond"))
ROUNDING = 1e-6  # an offer that differs from what is asked by rounding only is accepted


class BargainingState(NamedTuple):
    """How many moves were made (two in each round), the offer on the table, and the share agreed upon.

    The share is the responder's in the round of the agreement; -1 while there is none.
    """

    time: Int[Array, ""]
    offer: Float[Array, ""]
    agreed: Float[Array, ""] | tuple[()] = ()  # only for drawings: not in the view


class AlternatingOffers(Environment):
    """Two seats divide a pie by turns; see the module for the rules.

    A seat sees the round, whether it waits, proposes or responds, and three numbers: the share that is on
    offer to the responder (0 while there is none), its own factor and the other's. Its action is one number:
    the share that it offers, or the least share that it accepts.
    """

    rounds: int = 2  # offers that can be made
    pie: float = 1.0  # what there is to divide
    shrink: tuple[float, float] = (0.8, 0.8)  # what a round later is worth to each seat

    def __check_init__(self) -> None:
        require(self.rounds >= 1, "rounds", self.rounds, "at least 1")
        require(self.pie > 0, "pie", self.pie, "above 0")
        fits = len(self.shrink) == 2 and all(0.0 <= factor <= 1.0 for factor in self.shrink)
        require(fits, "shrink", self.shrink, "two numbers between 0 and 1")

    @property
    def horizon(self) -> int | None:
        return 2 * self.rounds

    @property
    def family(self) -> str:
        return "bargaining"

    @property
    def symmetric(self) -> bool:
        return False

    @property
    def seats(self) -> PerSeat[Seat]:
        seen = (Discrete(self.rounds), PHASES, Box((3,), 0.0, 1.0))
        return tuple(Seat(name, seen, Box((1,), 0.0, 1.0), role=name) for name in ("first", "second"))

    @property
    def subgame_perfect_split(self) -> tuple[float, float]:
        """The shares on which two players agree at once in the subgame-perfect equilibrium."""
        return subgame_perfect_split(self.rounds, self.shrink)

    def reset(self, key: Key) -> tuple[BargainingState, PerSeat[PyTree]]:
        state = BargainingState(jnp.int32(0), jnp.float32(0.0), jnp.float32(-1.0))
        return state, self._observe(state)

    def acting(self, state: BargainingState) -> PerSeat[Bool[Array, ""]]:
        return self._acts(state.time)

    def step(
        self, key: Key, state: BargainingState, actions: PerSeat[PyTree]
    ) -> tuple[BargainingState, TimeStep]:
        acts = self._acts(state.time)
        number = jnp.clip(jnp.where(acts[0], actions[0][0], actions[1][0]), 0.0, 1.0)
        responds = state.time % 2 == 1
        agreed = responds & (state.offer >= number - ROUNDING)
        round_ = state.time // 2
        share = (1.0 - state.offer, state.offer)  # of the round's proposer, and of its responder
        reward = []
        for seat, factor in enumerate(self.shrink):
            own = jnp.where(round_ % 2 == seat, share[0], share[1])
            left = jnp.float32(self.pie) * jnp.power(jnp.float32(factor), round_.astype(jnp.float32))
            reward.append(jnp.where(agreed, left * own, 0.0))
        offer = jnp.where(responds, 0.0, number).astype(jnp.float32)
        after = BargainingState(state.time + 1, offer, jnp.where(agreed, state.offer, -1.0))
        step = TimeStep(
            obs=self._observe(after),
            reward=tuple(reward),
            terminated=agreed | (after.time >= 2 * self.rounds),
            truncated=jnp.bool_(False),
            alive=(jnp.bool_(True),) * 2,
            acts=self._acts(after.time),
        )
        return after, step

    def cooperation(
        self, state: BargainingState, actions: PerSeat[PyTree], next_state: BargainingState
    ) -> PerSeat[Cooperation]:
        """Every offer is a choice: fully cooperative if it gives the other half or more, else in proportion.

        An answer is not counted: to refuse little may serve fairness, and to accept it may serve both.
        """
        offers = state.time % 2 == 0
        fair = jnp.minimum(2.0 * next_state.offer, 1.0)
        choices = [(offers & acts).astype(jnp.float32) for acts in self._acts(state.time)]
        return tuple(Cooperation(own * fair, own) for own in choices)

    def view(self, state: BargainingState) -> PyTree:
        return state._replace(agreed=())  # after an agreement there is no future

    def draw(self, state: BargainingState) -> Scene:
        """What is left of the pie for each seat, the offer on the table, and whose move it is."""
        time, agreed = int(state.time), float(np.asarray(state.agreed))
        names, colours = [seat.name for seat in self.seats], palette.series(2)
        over = agreed >= 0 or time >= 2 * self.rounds
        round_ = (time - 1 if over else time) // 2
        proposer, responder = round_ % 2, 1 - round_ % 2
        offer = agreed if agreed >= 0 else float(state.offer)
        on_table = time % 2 == 1 or agreed >= 0
        shares = {proposer: 1.0 - offer, responder: offer}
        bars = []
        for seat in range(2):
            left = self.pie * self.shrink[seat] ** round_ / self.pie
            note = f"the whole pie is worth {left * self.pie:.2f}"
            if on_table:
                note = f"{shares[seat]:.2f} of it is worth {left * self.pie * shares[seat]:.2f}"
            filled = left * shares[seat] if on_table else 0.0
            parts = ((filled, colours[seat]), (left - filled, pale(colours[seat])))
            bars.append(Bar(((names[seat], colours[seat]),), parts, note))
        if agreed >= 0:
            said = f"agreed: {names[responder]} accepts {offer:.2f}"
        elif over:
            said = "no agreement: both have nothing"
        elif on_table:
            said = f"{names[proposer]} offers {offer:.2f}, {names[responder]} answers"
        else:
            said = f"{names[proposer]} proposes"
        return Stack((Note(f"round {round_ + 1} of {self.rounds}: {said}"), Bars(tuple(bars))))

    def _acts(self, time: Int[Array, ""]) -> PerSeat[Bool[Array, ""]]:
        """Moves go first, second (who refused), second, first, first, second, ...: by who proposes."""
        mover = (time // 2 + time % 2) % 2
        return mover == 0, mover == 1

    def _observe(self, state: BargainingState) -> PerSeat[PyTree]:
        round_ = jnp.minimum(state.time // 2, self.rounds - 1)
        phase = jnp.where(state.time % 2 == 0, PROPOSE, RESPOND)
        seen = []
        for acts, (mine, theirs) in zip(
            self._acts(state.time), (self.shrink, self.shrink[::-1]), strict=True
        ):
            numbers = jnp.stack([state.offer, jnp.float32(mine), jnp.float32(theirs)])
            seen.append((round_, jnp.where(acts, phase, WAIT), numbers))
        return tuple(seen)


def subgame_perfect_split(rounds: int, shrink: tuple[float, float]) -> tuple[float, float]:
    r"""The shares of the first and the second seat in the subgame-perfect equilibrium, agreed upon at once.

    By backward induction: the last proposer takes all; before that, the responder accepts what the pie it
    would propose to take in the next round is worth to it now, so the proposer of round k keeps
    :math:`s_k = 1 - \delta_{\text{responder}} s_{k+1}`, with :math:`s_{K-1} = 1`. With ever more rounds the
    first seat's share tends to Rubinstein's :math:`(1 - \delta_2) / (1 - \delta_1 \delta_2)`.
    """
    keeps = 1.0
    for round_ in reversed(range(rounds - 1)):
        responder = 1 - round_ % 2
        keeps = 1.0 - shrink[responder] * keeps
    return keeps, 1.0 - keeps
