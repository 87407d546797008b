"""Contracts (Christoffersen, Haupt and Hadfield-Menell, 2023, arXiv:2208.10469): binding, and signed
before play."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import spaces
from comity.core.errors import ComityError, require
from comity.core.game import Cooperation, PerSeat, Seat, TimeStep
from comity.core.scene import Drawing, Note, Stack, as_scene
from comity.core.spaces import Discrete, Masked
from comity.games.transforms.base import Transform

SIGNING = -1  # the level while there is no contract yet


class ContractState(NamedTuple):
    """The state of the game inside, what each seat saw of it, and the fine's level, -1 before it is
    signed."""

    inner: PyTree
    obs: PerSeat[PyTree]
    level: Int[Array, ""]


class Contract(Transform):
    """Before play everybody names the highest fine that it would sign, and the lowest of these binds all.

    The fine has `levels` levels above 0, up to `largest`; to name 0 is to refuse. In the game each choice of
    a seat that is not cooperative (what that means is the game's to say) costs it the fine, which goes to the
    others in equal parts: a transfer of reward, whose sum stays. The first step of an episode is the signing;
    what is signed is part of what is seen.
    """

    largest: float = 3.0  # the highest fine
    levels: int = 1  # how many fines there are above 0

    def __check_init__(self) -> None:
        require(self.largest > 0, "largest", self.largest, "above 0")
        require(1 <= self.levels <= 100, "levels", self.levels, "from 1 to 100")
        require(len(self.game.seats) >= 2, "contract", len(self.game.seats), "in a game of several seats")
        for seat in self.game.seats:
            if not isinstance(seat.action, Discrete) or isinstance(seat.observation, Masked):
                raise ComityError(
                    f"The seat {seat.name!r} does not choose among actions that are always legal: contracts "
                    f"are for games with such choices."
                )
        turns, judged = jax.eval_shape(self._try, jax.random.key(0))
        if turns:
            raise ComityError("Contracts are for games in which everybody acts in every step, not for turns.")
        if judged is None:
            raise ComityError(
                "This game does not say what is cooperative, so there is nothing to fine: games that do are "
                "prisoners-dilemma, public-goods, coin and others."
            )

    def _try(self, key: Key) -> tuple[PerSeat[Bool[Array, ""]], PerSeat[Cooperation] | None]:
        """Who acts in a first step, and how far it is cooperative."""
        state, _ = self.game.reset(key)
        actions = tuple(spaces.sample(seat.action, key) for seat in self.game.seats)
        after, _ = self.game.step(key, state, actions)
        judged = self.game.cooperation(self.game.view(state), actions, self.game.view(after))
        return self.game.acting(state), judged

    @property
    def horizon(self) -> int | None:
        return None if self.game.horizon is None else self.game.horizon + 1

    @property
    def seats(self) -> PerSeat[Seat]:
        return tuple(
            Seat(
                seat.name,
                Masked((Discrete(self.levels + 2), seat.observation), self._choices(seat)),
                Discrete(self._choices(seat)),
                role=seat.role,
            )
            for seat in self.game.seats
        )

    def _choices(self, seat: Seat) -> int:
        assert isinstance(seat.action, Discrete)
        return max(seat.action.n, self.levels + 1)

    def reset(self, key: Key) -> tuple[ContractState, PerSeat[PyTree]]:
        return self._begin(*self.game.reset(key))

    def reset_where(
        self, key: Key, state: ContractState, over: Bool[Array, ""]
    ) -> tuple[ContractState, PerSeat[PyTree]]:
        return self._begin(*self.game.reset_where(key, state.inner, over))

    def _begin(self, inner: PyTree, obs: PerSeat[PyTree]) -> tuple[ContractState, PerSeat[PyTree]]:
        state = ContractState(inner, obs, jnp.int32(SIGNING))
        return state, self._observe(state)

    def inner(self, state: ContractState) -> PyTree:
        return state.inner

    def view(self, state: ContractState) -> PyTree:
        return self.game.view(state.inner), state.level

    def step(
        self, key: Key, state: ContractState, actions: PerSeat[PyTree]
    ) -> tuple[ContractState, TimeStep]:
        signing = state.level == SIGNING
        own = self._own(actions)
        inner, step = self.game.step(key, state.inner, own)
        fines = self._fines(state, own, inner)
        named = jnp.stack([jnp.minimum(action, self.levels) for action in actions]).min().astype(jnp.int32)

        def kept(before: PyTree, after: PyTree) -> PyTree:
            """While it is signed nothing moves."""
            return jax.tree.map(lambda x, y: jnp.where(signing, x, y), before, after)

        after = ContractState(kept(state.inner, inner), kept(state.obs, step.obs), kept(named, state.level))
        nothing, no = jax.tree.map(jnp.zeros_like, (step.reward, step.terminated))
        moved = step._replace(
            obs=self._observe(after),
            reward=kept(nothing, step.reward),
            terminated=kept(no, step.terminated),
            truncated=kept(no, step.truncated),
            alive=kept(self.game.present(state.inner), step.alive),
            unshaped=kept(nothing[: len(step.unshaped)], step.unshaped),
        )
        paid = kept(nothing, tuple(reward + fines[i] for i, reward in enumerate(step.reward)))
        return after, moved.shaped(paid)

    def _fines(self, state: ContractState, own: PerSeat[PyTree], inner: PyTree) -> Array:
        """What each seat pays (below 0) or gets for what was not cooperative."""
        judged = self.game.cooperation(self.game.view(state.inner), own, self.game.view(inner))
        assert judged is not None
        wrong = jnp.stack([one.choices - one.cooperative for one in judged])
        fine = self.largest * jnp.maximum(state.level, 0).astype(jnp.float32) / self.levels
        others = (wrong.sum() - wrong) / (len(own) - 1)
        return fine * (others - wrong)

    def _own(self, actions: PerSeat[PyTree]) -> PerSeat[PyTree]:
        """A choice that the game does not have stands for its last one, as no agent makes it."""
        return tuple(
            jnp.minimum(action, seat.action.n - 1)
            for seat, action in zip(self.game.seats, actions, strict=True)
            if isinstance(seat.action, Discrete)
        )

    def _observe(self, state: ContractState) -> PerSeat[PyTree]:
        signing = state.level == SIGNING
        seen = []
        for seat, obs in zip(self.game.seats, state.obs, strict=True):
            assert isinstance(seat.action, Discrete)
            choices = jnp.arange(self._choices(seat))
            legal = jnp.where(signing, choices <= self.levels, choices < seat.action.n)
            seen.append(((state.level + 1, obs), legal))
        return tuple(seen)

    def cooperation(
        self, state: PyTree, actions: PerSeat[PyTree], next_state: PyTree
    ) -> PerSeat[Cooperation] | None:
        inner, level = state
        found = self.game.cooperation(inner, self._own(actions), next_state[0])
        if found is None:
            return None
        counts = (level != SIGNING).astype(jnp.float32)
        return tuple(Cooperation(counts * one.cooperative, counts * one.choices) for one in found)

    def draw(self, state: ContractState) -> Drawing:
        """The game, and the fine that was signed."""
        level = int(state.level)
        fine = self.largest * max(level, 0) / self.levels
        said = (
            "signing" if level == SIGNING else "no contract" if level == 0 else f"signed: a fine of {fine:g}"
        )
        inside = self.game.draw(state.inner)
        return Note(said) if inside is None else Stack((Note(said), as_scene(inside)))
