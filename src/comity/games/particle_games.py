"""The multi-particle games (Lowe et al., 2017, arXiv:1706.02275), by the rules of the MPE2 package.

Positions, observations and rewards are MPE2's (tests step both side by side); rewards are those of one seat,
so the often quoted sum over agents is the sum over seats.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from comity.core.errors import require
from comity.core.types import PerSeat
from comity.games.matrix import check_horizon
from comity.games.particles import Body, ParticleGame, ParticleState, distance


def _outside(position: Float[Array, "2"]) -> Float[Array, ""]:
    """The price of leaving the field: none within .9, rising to 1 at the border and to 10 beyond it."""
    x = jnp.abs(position)
    beyond = jnp.minimum(jnp.exp(2.0 * x - 2.0), 10.0)
    return jnp.where(x < 0.9, 0.0, jnp.where(x < 1.0, (x - 0.9) * 10.0, beyond)).sum()


def _paint(dark: float, light: float, colours: int, size: int = 3, first: int = 0) -> np.ndarray:
    """Colours that differ in one part each, which is light instead of dark."""
    table = np.full((colours, size), dark)
    for i in range(colours):
        table[i, first + i] = light
    return table


class Spread(ParticleGame):
    """Agents cover all landmarks and avoid each other (simple_spread).

    Each is paid `local_ratio` times its collisions (-1 each) plus the rest times the sum over landmarks of
    the distance of the nearest agent, negative.
    """

    players: int = 3  # how many agents, and landmarks
    local_ratio: float = 0.5  # the weight of one's own collisions
    continuous: bool = False  # forces instead of choices
    horizon: int | None = 25  # steps in an episode

    def __check_init__(self) -> None:
        require(self.players >= 1, "players", self.players, "at least 1")
        require(0.0 <= self.local_ratio <= 1.0, "local_ratio", self.local_ratio, "between 0 and 1")
        check_horizon(self.horizon)

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def agents(self) -> tuple[Body, ...]:
        return tuple(Body(f"agent_{i}", 0.15, moves=True, collides=True) for i in range(self.players))

    @property
    def landmarks(self) -> tuple[Body, ...]:
        return (Body(),) * self.players

    def observe(self, state: ParticleState) -> PerSeat[Float[Array, " _"]]:
        seen = []
        for i in range(self.players):
            others = [self._others_seen(state, i)] if self.players > 1 else []
            heard = jnp.zeros(2 * (self.players - 1), state.position.dtype)
            own = [state.velocity[i], state.position[i], self._landmarks_seen(state, i)]
            seen.append(jnp.concatenate([*own, *others, heard]))
        return tuple(seen)

    def rewards(self, state: ParticleState) -> PerSeat[Float[Array, ""]]:
        agents, landmarks = state.position[: self.players], state.position[self.players :]
        apart = jnp.sqrt(jnp.square(agents[:, None] - landmarks[None, :]).sum(axis=-1))
        shared = -apart.min(axis=0).sum()
        paid = []
        for i in range(self.players):
            bumps = [self._touch(state, i, j).astype(shared.dtype) for j in range(self.players) if j != i]
            own = -sum(bumps, jnp.zeros_like(shared))
            paid.append((1.0 - self.local_ratio) * shared + self.local_ratio * own)
        return tuple(paid)


class Reference(ParticleGame):
    """Each agent knows where the other should go, and both move and speak (simple_reference)."""

    words: ClassVar[int] = 10
    goal_sizes: ClassVar[tuple[int, ...]] = (3, 3)
    colours: ClassVar[np.ndarray] = _paint(0.25, 0.75, 3)

    local_ratio: float = 0.5  # the weight of one's own goal against both
    continuous: bool = False  # forces and words instead of choices
    horizon: int | None = 25  # steps in an episode

    def __check_init__(self) -> None:
        require(0.0 <= self.local_ratio <= 1.0, "local_ratio", self.local_ratio, "between 0 and 1")
        check_horizon(self.horizon)

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def agents(self) -> tuple[Body, ...]:
        return tuple(Body(f"agent_{i}", moves=True, speaks=True) for i in range(2))

    @property
    def landmarks(self) -> tuple[Body, ...]:
        return (Body(),) * 3

    def observe(self, state: ParticleState) -> PerSeat[Float[Array, " _"]]:
        colours = jnp.asarray(self.colours, state.position.dtype)
        return tuple(
            jnp.concatenate(
                [
                    state.velocity[i],
                    self._landmarks_seen(state, i),
                    colours[state.goals[i]],
                    state.speech[1 - i],
                ]
            )
            for i in range(2)
        )

    def rewards(self, state: ParticleState) -> PerSeat[Float[Array, ""]]:
        own = [-distance(state.position[1 - i], self._landmark(state, i)) for i in range(2)]
        shared = (own[0] + own[1]) / 2.0
        return tuple((1.0 - self.local_ratio) * shared + self.local_ratio * reward for reward in own)


class SpeakerListener(ParticleGame):
    """One knows the goal and can only speak, the other can only move (simple_speaker_listener)."""

    words: ClassVar[int] = 3
    goal_sizes: ClassVar[tuple[int, ...]] = (3,)
    colours: ClassVar[np.ndarray] = _paint(0.15, 0.65, 3)

    continuous: bool = False  # forces and words instead of choices
    horizon: int | None = 25  # steps in an episode

    def __check_init__(self) -> None:
        check_horizon(self.horizon)

    @property
    def agents(self) -> tuple[Body, ...]:
        return Body("speaker_0", 0.075, speaks=True), Body("listener_0", 0.075, moves=True)

    @property
    def landmarks(self) -> tuple[Body, ...]:
        return (Body(size=0.04),) * 3

    def observe(self, state: ParticleState) -> PerSeat[Float[Array, " _"]]:
        colours = jnp.asarray(self.colours, state.position.dtype)
        hears = jnp.concatenate([state.velocity[1], self._landmarks_seen(state, 1), state.speech[0]])
        return colours[state.goals[0]], hears

    def rewards(self, state: ParticleState) -> PerSeat[Float[Array, ""]]:
        reward = -jnp.square(state.position[1] - self._landmark(state, 0)).sum()
        return reward, reward


class Adversary(ParticleGame):
    """Good agents go to a goal without showing which it is; an adversary guesses (simple_adversary)."""

    good: int = 2  # how many good agents, and landmarks
    continuous: bool = False  # forces instead of choices
    horizon: int | None = 25  # steps in an episode

    def __check_init__(self) -> None:
        require(self.good >= 1, "good", self.good, "at least 1")
        check_horizon(self.horizon)

    @property
    def goal_sizes(self) -> tuple[int, ...]:  # type: ignore[override]
        return (self.good,)

    @property
    def agents(self) -> tuple[Body, ...]:
        good = tuple(Body(f"agent_{i}", 0.15, moves=True) for i in range(self.good))
        return Body("adversary_0", 0.15, moves=True), *good

    @property
    def landmarks(self) -> tuple[Body, ...]:
        return (Body(size=0.08),) * self.good

    def observe(self, state: ParticleState) -> PerSeat[Float[Array, " _"]]:
        goal = self._landmark(state, 0)
        seen = []
        for i in range(self.good + 1):
            common = [self._landmarks_seen(state, i), self._others_seen(state, i)]
            own = [] if i == 0 else [goal - state.position[i]]
            seen.append(jnp.concatenate([*own, *common]))
        return tuple(seen)

    def rewards(self, state: ParticleState) -> PerSeat[Float[Array, ""]]:
        goal = self._landmark(state, 0)
        spy = distance(state.position[0], goal)
        nearest = jnp.stack([distance(state.position[i + 1], goal) for i in range(self.good)]).min()
        return -spy, *((spy - nearest,) * self.good)


class Push(ParticleGame):
    """One agent walks to a goal, an adversary pushes it away (simple_push)."""

    goal_sizes: ClassVar[tuple[int, ...]] = (2,)
    colours: ClassVar[np.ndarray] = _paint(0.1, 0.9, 2, first=1)
    own_colours: ClassVar[np.ndarray] = _paint(0.25, 0.75, 2, first=1)

    continuous: bool = False  # forces instead of choices
    horizon: int | None = 25  # steps in an episode

    def __check_init__(self) -> None:
        check_horizon(self.horizon)

    @property
    def agents(self) -> tuple[Body, ...]:
        return tuple(Body(name, moves=True, collides=True) for name in ("adversary_0", "agent_0"))

    @property
    def landmarks(self) -> tuple[Body, ...]:
        return (Body(),) * 2

    def observe(self, state: ParticleState) -> PerSeat[Float[Array, " _"]]:
        kind = state.position.dtype
        adversary = [state.velocity[0], self._landmarks_seen(state, 0), self._others_seen(state, 0)]
        good = [
            state.velocity[1],
            self._landmark(state, 0) - state.position[1],
            jnp.asarray(self.own_colours, kind)[state.goals[0]],
            self._landmarks_seen(state, 1),
            jnp.asarray(self.colours, kind).reshape(-1),
            self._others_seen(state, 1),
        ]
        return jnp.concatenate(adversary), jnp.concatenate(good)

    def rewards(self, state: ParticleState) -> PerSeat[Float[Array, ""]]:
        goal = self._landmark(state, 0)
        away = distance(state.position[1], goal)
        return away - distance(state.position[0], goal), -away


class Tag(ParticleGame):
    """Slower adversaries hunt faster prey around obstacles (simple_tag)."""

    landmark_range: ClassVar[float] = 0.9

    good: int = 1  # how many prey
    adversaries: int = 3  # how many hunters
    obstacles: int = 2  # how many obstacles
    continuous: bool = False  # forces instead of choices
    horizon: int | None = 25  # steps in an episode

    def __check_init__(self) -> None:
        for name in ("good", "adversaries"):
            require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        require(self.obstacles >= 0, "obstacles", self.obstacles, "at least 0")
        check_horizon(self.horizon)

    @property
    def agents(self) -> tuple[Body, ...]:
        hunters = tuple(
            Body(f"adversary_{i}", 0.075, moves=True, collides=True, force=3.0, max_speed=1.0)
            for i in range(self.adversaries)
        )
        prey = tuple(
            Body(f"agent_{i}", 0.05, moves=True, collides=True, force=4.0, max_speed=1.3)
            for i in range(self.good)
        )
        return hunters + prey

    @property
    def landmarks(self) -> tuple[Body, ...]:
        return (Body(size=0.2, collides=True),) * self.obstacles

    def observe(self, state: ParticleState) -> PerSeat[Float[Array, " _"]]:
        prey = range(self.adversaries, len(self.agents))
        return tuple(
            jnp.concatenate(
                [
                    state.velocity[i],
                    state.position[i],
                    self._landmarks_seen(state, i),
                    self._others_seen(state, i),
                    *(state.velocity[j] for j in prey if j != i),
                ]
            )
            for i in range(len(self.agents))
        )

    def rewards(self, state: ParticleState) -> PerSeat[Float[Array, ""]]:
        prey, hunters = range(self.adversaries, len(self.agents)), range(self.adversaries)
        caught = {j: self._touched(state, j, hunters) for j in prey}
        bounty = 10.0 * jnp.stack(list(caught.values())).sum()
        paid = tuple(-10.0 * caught[j] - _outside(state.position[j]) for j in prey)
        return (bounty,) * self.adversaries + paid


class WorldComm(ParticleGame):
    """Tag with food, forests to hide in, and a leader who sees all and speaks (simple_world_comm)."""

    words: ClassVar[int] = 4
    landmark_range: ClassVar[float] = 0.9

    good: int = 2  # how many prey
    adversaries: int = 4  # how many hunters; the first is the leader
    obstacles: int = 1  # how many obstacles
    food: int = 2  # how many places with food
    forests: int = 2  # how many forests
    continuous: bool = False  # forces and words instead of choices
    horizon: int | None = 25  # steps in an episode

    def __check_init__(self) -> None:
        for name in ("good", "adversaries", "food"):
            require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        for name in ("obstacles", "forests"):
            require(getattr(self, name) >= 0, name, getattr(self, name), "at least 0")
        check_horizon(self.horizon)

    @property
    def agents(self) -> tuple[Body, ...]:
        names = ["leadadversary_0", *(f"adversary_{i}" for i in range(self.adversaries - 1))]
        hunters = tuple(
            Body(name, 0.075, moves=True, collides=True, speaks=i == 0, force=3.0, max_speed=1.0)
            for i, name in enumerate(names)
        )
        prey = tuple(
            Body(f"agent_{i}", 0.045, moves=True, collides=True, force=4.0, max_speed=1.3)
            for i in range(self.good)
        )
        return hunters + prey

    @property
    def landmarks(self) -> tuple[Body, ...]:
        return (
            (Body(size=0.2, collides=True),) * self.obstacles
            + (Body(size=0.03),) * self.food
            + (Body(size=0.3),) * self.forests
        )

    def observe(self, state: ParticleState) -> PerSeat[Float[Array, " _"]]:
        kind = state.position.dtype
        count = len(self.agents)
        first = count + self.obstacles + self.food
        hides = [[self._touch(state, i, first + f) for f in range(self.forests)] for i in range(count)]
        nowhere = jnp.bool_(False)
        hidden = [jnp.stack([nowhere, *row]).any() for row in hides]
        seen = []
        for i in range(count):
            places, speeds = [], []
            for j in range(count):
                if j == i:
                    continue
                together = jnp.stack(
                    [nowhere, *(mine & theirs for mine, theirs in zip(hides[i], hides[j], strict=True))]
                ).any()
                visible = together | (~hidden[i] & ~hidden[j]) | jnp.bool_(i == 0)
                places.append(jnp.where(visible, state.position[j] - state.position[i], 0.0))
                if j >= self.adversaries:
                    speeds.append(jnp.where(visible, state.velocity[j], 0.0))
            inside = [jnp.where(x, 1.0, -1.0).astype(kind)[None] for x in hides[i]]
            own = [state.velocity[i], state.position[i], self._landmarks_seen(state, i), *places]
            if i < self.adversaries:
                seen.append(jnp.concatenate([*own, *speeds, *inside, state.speech[0]]))
            else:
                seen.append(jnp.concatenate([*own, *inside, *speeds]))
        return tuple(seen)

    def rewards(self, state: ParticleState) -> PerSeat[Float[Array, ""]]:
        count = len(self.agents)
        prey = range(self.adversaries, count)
        meals = range(count + self.obstacles, count + self.obstacles + self.food)
        caught = {j: self._touched(state, j, range(self.adversaries)) for j in prey}
        bounty = 5.0 * jnp.stack(list(caught.values())).sum()
        hunters = tuple(
            bounty - 0.1 * jnp.stack([distance(state.position[j], state.position[i]) for j in prey]).min()
            for i in range(self.adversaries)
        )
        hunted = []
        for j in prey:
            ate = self._touched(state, j, meals)
            hungry = jnp.stack([distance(state.position[m], state.position[j]) for m in meals]).min()
            price = 5.0 * caught[j] + 2.0 * _outside(state.position[j])
            hunted.append(2.0 * ate - price - 0.05 * hungry)
        return hunters + tuple(hunted)


class Crypto(ParticleGame):
    """Alice tells Bob a message with a key that both have, Eve listens without it (simple_crypto)."""

    words: ClassVar[int] = 4
    goal_sizes: ClassVar[tuple[int, ...]] = (2, 2)  # the message, and the key

    continuous: bool = False  # words as numbers instead of choices
    horizon: int | None = 25  # steps in an episode

    def __check_init__(self) -> None:
        check_horizon(self.horizon)

    @property
    def agents(self) -> tuple[Body, ...]:
        return tuple(Body(name, speaks=True) for name in ("eve_0", "bob_0", "alice_0"))

    @property
    def landmarks(self) -> tuple[Body, ...]:
        return (Body(),) * 2

    def observe(self, state: ParticleState) -> PerSeat[Float[Array, " _"]]:
        message, key = jax.nn.one_hot(state.goals, self.words, dtype=state.position.dtype)
        said = state.speech[2]
        return said, jnp.concatenate([key, said]), jnp.concatenate([message, key])

    def rewards(self, state: ParticleState) -> PerSeat[Float[Array, ""]]:
        message = jax.nn.one_hot(state.goals[0], self.words, dtype=state.position.dtype)
        misses = []
        for listener in (0, 1):
            said = state.speech[listener]
            # Who says nothing is neither paid nor punished.
            misses.append(jnp.where(jnp.any(said != 0.0), jnp.square(said - message).sum(), 0.0))
        eve, bob = misses
        return -eve, eve - bob, eve - bob
