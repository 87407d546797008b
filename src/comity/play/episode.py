"""One episode, step by step on the host: for replays, for watching, and for people who play along."""

from collections.abc import Mapping
from operator import itemgetter
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.bridges.host import reraise_host_errors
from comity.core.agent import Player
from comity.core.batch import Trajectory
from comity.core.errors import ComityError
from comity.core.game import Cooperation, Environment, PerSeat, TimeStep
from comity.core.matchmaker import Occupant
from comity.core.scene import Scene, as_scene
from comity.play.match import seat_players
from comity.play.rollout import act_seats, initial_carries


class Moment(NamedTuple):
    """How a game stands after a step, and what led to it; step 0 is the start."""

    step: int
    scene: Scene | None  # None where the game does not draw itself
    actions: PerSeat[Any]  # None for who waited or has left, and for everybody at the start
    reward: PerSeat[float]
    total: PerSeat[float]  # the rewards so far
    over: bool


class _Played(NamedTuple):
    """A step as it is recorded, leaves [game of one, ...]: what was seen, done and answered."""

    obs: PerSeat[PyTree]
    alive: PerSeat[PyTree]
    acts: PerSeat[PyTree]
    action: PerSeat[PyTree]
    extras: PerSeat[PyTree]
    step: TimeStep
    state: PyTree
    next_state: PyTree


class Episode:
    """A game under way. `players` has None where a person sits, whose actions `step` is given.

    `memories` are what players remember of an earlier episode, by seat, as `memory` gave it; the others begin
    with an empty one. With `record`, `trajectory` has all that was played, as a learner is given it; then no
    seat may be a person's.
    """

    def __init__(
        self,
        game: Environment,
        players: PerSeat[Player | None],
        key: Key,
        record: bool = False,
        memories: Mapping[int, PyTree] | None = None,
    ) -> None:
        if len(players) != len(game.seats):
            raise ComityError(f"The game has {len(game.seats)} seats, and {len(players)} players were given.")
        for seat, player in enumerate(players):
            if player is not None:
                player.agent.check(game.spec, (seat,))
        self.game = game
        seated = [(seat, player) for seat, player in enumerate(players) if player is not None]
        occupants = seat_players(tuple(player for _, player in seated))
        # Seats are counted among the players that are there.
        self._occupants = tuple(
            own._replace(seats=tuple(seated[i][0] for i in own.seats)) for own in occupants
        )
        reset_key, self._key = jax.random.split(key)
        with reraise_host_errors():
            self._state, self.obs, self._carry, alive, acts = jax.block_until_ready(
                reset_episode(game, self._occupants, reset_key)
            )
        self._carry = tuple((memories or {}).get(seat, own) for seat, own in enumerate(self._carry))
        self._first_carry, self._flags = self._carry, (alive, acts)
        self._record: list[_Played] | None = [] if record else None
        self.acts = _acting(alive, acts)
        self._last: tuple[PyTree, PerSeat[PyTree]] | None = (
            None  # the state before the last step, and actions
        )
        zeros = (0.0,) * len(players)
        self.moment = Moment(0, self._scene(), (None,) * len(players), zeros, zeros, False)

    def seen(self, seat: int) -> PyTree:
        """What a seat sees now."""
        return jax.tree.map(itemgetter(0), self.obs[seat])

    def memory(self, seat: int) -> PyTree:
        """What the player in a seat remembers now."""
        return self._carry[seat]

    def step(self, given: Mapping[int, PyTree] | None = None) -> Moment:
        """Everybody acts, people as they are given; how the game stands then."""
        before, acts = self.moment, self.acts
        key = jax.random.fold_in(self._key, before.step)
        people = {
            seat: jax.tree.map(lambda x: np.asarray(x)[None], own) for seat, own in (given or {}).items()
        }
        before_state = self._state
        with reraise_host_errors():
            action, self._carry, extras, self._state, now = jax.block_until_ready(
                step_episode(self.game, self._occupants, self._state, self.obs, self._carry, people, key)
            )
        self._last = (before_state, action)
        if self._record is not None:
            states = jax.vmap(self.game.view)(before_state), jax.vmap(self.game.view)(self._state)
            self._record.append(_Played(self.obs, *self._flags, action, extras, now, *states))
        self._flags = (now.alive, now.acts)
        self.obs = now.obs
        reward = tuple(float(own[0]) for own in now.reward)
        self.acts = _acting(now.alive, now.acts)
        done = tuple(
            jax.tree.map(lambda x: np.asarray(x)[0], own) if acted else None
            for own, acted in zip(action, acts, strict=True)
        )
        total = tuple(a + b for a, b in zip(before.total, reward, strict=True))
        over = bool(now.terminated[0] | now.truncated[0])
        self.moment = Moment(before.step + 1, self._scene(), done, reward, total, over)
        return self.moment

    def trajectory(self) -> Trajectory:
        """All that was recorded: leaves [time, 1, ...]."""
        if not self._record:
            raise ComityError("Nothing was recorded: begin the episode with record=True, and play a step.")
        last = extras_of_acts(self._occupants, self.obs, self._carry)
        following = [own.extras for own in self._record[1:]] + [last]
        played, bootstrap = (
            jax.tree.map(lambda *leaves: jnp.stack(leaves), *parts) for parts in (self._record, following)
        )
        return Trajectory(
            played.obs, played.alive, played.action, played.extras, self._first_carry, played.step, bootstrap,
            played.state, played.next_state, jnp.zeros(1, jnp.int32), played.acts,
        )  # fmt: skip

    def cooperation(self) -> PerSeat[tuple[float, float]] | None:
        """How much of each seat's last choices was cooperative, and how many it had; None if unknown."""
        if self._last is None:
            return None
        found = step_cooperation(self.game, self._last[0], self._last[1], self._state)
        if found is None:
            return None
        return tuple((float(own.cooperative[0]), float(own.choices[0])) for own in found)

    def _scene(self) -> Scene | None:
        drawing = self.game.draw(jax.tree.map(itemgetter(0), self._state))
        return None if drawing is None else as_scene(drawing)


def _acting(alive: PerSeat[Bool[Array, "1"]], acts: PerSeat[Bool[Array, "1"]]) -> PerSeat[bool]:
    """Who does something in the next step; everybody who is there if the game does not say it."""
    flags = acts or alive
    return tuple(bool(here[0]) and bool(own[0]) for here, own in zip(alive, flags, strict=True))


@eqx.filter_jit
def reset_episode(
    game: Environment, occupants: tuple[Occupant, ...], key: Key
) -> tuple[PyTree, PerSeat[PyTree], PerSeat[PyTree], PerSeat[Array], PerSeat[Array]]:
    """A batch of one game: its state, what is seen, everybody's memory, who is there and who acts."""
    state, obs = jax.vmap(game.reset)(key[None])
    alive, acts = jax.vmap(game.present)(state), jax.vmap(game.acting)(state)
    return state, obs, initial_carries(occupants, len(game.seats), 1), alive, acts


@eqx.filter_jit
def step_episode(
    game: Environment,
    occupants: tuple[Occupant, ...],
    state: PyTree,
    obs: PerSeat[PyTree],
    carry: PerSeat[PyTree],
    given: dict[int, PyTree],
    key: Key,
) -> tuple[PerSeat[PyTree], PerSeat[PyTree], PerSeat[PyTree], PyTree, TimeStep]:
    """What everybody does, remembers and keeps, the state and the game's answer.

    `given` stands in for actions.
    """
    act_key, game_key = jax.random.split(key)
    keys = tuple(jax.random.fold_in(act_key, seat)[None] for seat in range(len(obs)))
    actions, carry, extras = act_seats(occupants, obs, carry, keys)
    actions = tuple(given.get(seat, own) for seat, own in enumerate(actions))
    after, step = jax.vmap(game.step)(game_key[None], state, actions)
    return actions, carry, extras, after, step


@eqx.filter_jit
def extras_of_acts(
    occupants: tuple[Occupant, ...], obs: PerSeat[PyTree], carry: PerSeat[PyTree]
) -> PerSeat[PyTree]:
    """What everybody would keep of an act."""
    keys = tuple(jax.random.fold_in(jax.random.key(0), seat)[None] for seat in range(len(obs)))
    return act_seats(occupants, obs, carry, keys)[2]


@eqx.filter_jit
def step_cooperation(
    game: Environment, before: PyTree, actions: PerSeat[PyTree], after: PyTree
) -> PerSeat[Cooperation] | None:
    """How far each seat of a batch cooperated in a step, as the game says."""
    return jax.vmap(lambda old, own, new: game.cooperation(game.view(old), own, game.view(new)))(
        before, actions, after
    )
