"""The multi-particle games (Lowe et al., 2017, arXiv:1706.02275), by the rules of the MPE2 package.

Discs move on a plane by forces of their own and of contact, and some of them speak: what is said in one step
is heard in the next. Positions, observations and rewards are MPE2's (tests step both side by side); rewards
are those of one seat, so the often quoted sum over agents is the sum over seats.
"""

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import require
from comity.core.spaces import Box, Discrete
from comity.core.types import Environment, PerSeat, Seat, TimeStep
from comity.games.matrix import check_horizon

STEP = 0.1  # seconds
DAMPING = 0.25  # share of the speed that is lost in a step
CONTACT_FORCE = 100.0
CONTACT_MARGIN = 1e-3
MOVES = 5  # stay, left, right, down, up
WAYS = np.asarray([[0.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]])


class Body(NamedTuple):
    """What a disc is like: agents have a name, and may move, speak and be limited in speed."""

    name: str = ""
    size: float = 0.05
    moves: bool = False
    collides: bool = False
    speaks: bool = False
    force: float = 5.0
    max_speed: float = float("inf")


class ParticleState(NamedTuple):
    """Agents come first among the bodies. `goals` are what was drawn at the start, game by game."""

    position: Float[Array, "bodies 2"]
    velocity: Float[Array, "agents 2"]
    speech: Float[Array, "agents words"]
    goals: Int[Array, " goals"]
    time: Int[Array, ""]


class ParticleGame(Environment):
    """A world of discs; subclasses say who is in it, what each sees and what each is paid."""

    words: ClassVar[int] = 2  # the size of the language
    landmark_range: ClassVar[float] = 1.0  # landmarks are drawn within this distance of the middle
    goal_sizes: ClassVar[tuple[int, ...]] = ()  # how many values each drawn goal has

    @property
    @abstractmethod
    def agents(self) -> tuple[Body, ...]:
        """The agents, one per seat."""

    @property
    @abstractmethod
    def landmarks(self) -> tuple[Body, ...]:
        """What stands still."""

    @abstractmethod
    def observe(self, state: ParticleState) -> PerSeat[Float[Array, " _"]]:
        """What each seat sees."""

    @abstractmethod
    def rewards(self, state: ParticleState) -> PerSeat[Float[Array, ""]]:
        """What each seat is paid for the state that was reached."""

    @property
    @abstractmethod
    def continuous(self) -> bool:
        """Whether actions are forces (and words) instead of choices."""

    @property
    def family(self) -> str:
        return "particles"

    @property
    def symmetric(self) -> bool:
        return False

    @property
    def seats(self) -> PerSeat[Seat]:
        seen = jax.eval_shape(lambda key: self.reset(key)[1], jax.random.key(0))
        seats = []
        for body, obs in zip(self.agents, seen, strict=True):
            moves, words = (MOVES if body.moves else 0), (self.words if body.speaks else 0)
            if self.continuous:
                action: Box | Discrete = Box((moves + words,), 0.0, 1.0)
            else:
                action = Discrete(max(moves, 1) * max(words, 1))
            seats.append(Seat(body.name, Box(obs.shape), action))
        return tuple(seats)

    def reset(self, key: Key) -> tuple[ParticleState, PerSeat[PyTree]]:
        agent_key, landmark_key, goal_key = jax.random.split(key, 3)
        count, rest = len(self.agents), len(self.landmarks)
        reach = self.landmark_range
        position = jnp.concatenate(
            [
                jax.random.uniform(agent_key, (count, 2), minval=-1.0, maxval=1.0),
                jax.random.uniform(landmark_key, (rest, 2), minval=-reach, maxval=reach),
            ]
        )
        sizes = jnp.asarray(self.goal_sizes, jnp.int32).reshape(len(self.goal_sizes))
        goals = jax.random.randint(goal_key, sizes.shape, 0, jnp.maximum(sizes, 1))
        still, silent = jnp.zeros((count, 2)), jnp.zeros((count, self.words))
        state = ParticleState(position, still, silent, goals, jnp.int32(0))
        return state, self.observe(state)

    def step(
        self, key: Key, state: ParticleState, actions: PerSeat[PyTree]
    ) -> tuple[ParticleState, TimeStep]:
        agents = self.agents
        read = [self._read(body, action, state) for body, action in zip(agents, actions, strict=True)]
        push = jnp.stack([force for force, _ in read]) + self._contact(state.position)
        moves = jnp.asarray([body.moves for body in agents])[:, None]
        fastest = np.asarray([body.max_speed for body in agents])[:, None]
        count = len(agents)
        position = state.position.at[:count].add(jnp.where(moves, state.velocity * STEP, 0.0))
        velocity = state.velocity * (1.0 - DAMPING) + push * STEP
        speed = jnp.sqrt(jnp.square(velocity).sum(axis=1, keepdims=True))
        limited = velocity / jnp.maximum(speed, 1e-9) * np.minimum(fastest, 1e9).astype(velocity.dtype)
        velocity = jnp.where(speed > fastest.astype(velocity.dtype), limited, velocity)
        velocity = jnp.where(moves, velocity, 0.0)
        after = ParticleState(
            position, velocity, jnp.stack([said for _, said in read]), state.goals, state.time + 1
        )
        over = jnp.bool_(False) if self.horizon is None else after.time >= self.horizon
        alive = (jnp.bool_(True),) * count
        return after, TimeStep(self.observe(after), self.rewards(after), jnp.bool_(False), over, alive)

    def _read(self, body: Body, action: PyTree, state: ParticleState) -> tuple[Array, Array]:
        """The force and the words of an action."""
        kind = state.position.dtype
        said = jnp.zeros(self.words, kind)
        force = jnp.zeros(2, kind)
        if self.continuous:
            action = action.astype(kind)
            if body.moves:
                force = jnp.stack([action[2] - action[1], action[4] - action[3]])
                action = action[MOVES:]
            if body.speaks:
                said = action
        else:
            if body.moves:
                force = jnp.asarray(WAYS, kind)[action % MOVES]
                action = action // MOVES
            if body.speaks:
                said = jax.nn.one_hot(action, self.words, dtype=kind)
        return body.force * force, said

    def _contact(self, position: Float[Array, "bodies 2"]) -> Float[Array, "agents 2"]:
        """The forces by which bodies that touch push the agents apart."""
        bodies = self.agents + self.landmarks
        count = len(self.agents)
        collides = np.asarray([body.collides for body in bodies])
        pairs = collides[:count, None] & collides[None, :] & ~np.eye(count, len(bodies), dtype=bool)
        if not pairs.any():
            return jnp.zeros((count, 2), position.dtype)
        sizes = np.asarray([body.size for body in bodies])
        nearest = jnp.asarray(sizes[:count, None] + sizes[None, :], position.dtype)
        between = position[:count, None] - position[None, :]
        distance = jnp.maximum(jnp.sqrt(jnp.square(between).sum(axis=-1)), 1e-9)
        inside = jax.nn.softplus((nearest - distance) / CONTACT_MARGIN) * CONTACT_MARGIN
        size = jnp.where(pairs, CONTACT_FORCE * inside / distance, 0.0)
        return (size[..., None] * between).sum(axis=1)

    # ---- What observations and rewards are made of ----------------------------------------------------

    def _landmarks_seen(self, state: ParticleState, agent: int) -> Float[Array, " _"]:
        """Where all landmarks are, seen from an agent."""
        return (state.position[len(self.agents) :] - state.position[agent][None]).reshape(-1)

    def _others_seen(self, state: ParticleState, agent: int) -> Float[Array, " _"]:
        """Where all other agents are, seen from one."""
        count = len(self.agents)
        others = [state.position[i] - state.position[agent] for i in range(count) if i != agent]
        return jnp.concatenate(others)

    def _landmark(self, state: ParticleState, goal: int) -> Float[Array, "2"]:
        """Where the landmark is that was drawn as a goal."""
        return state.position[len(self.agents) + state.goals[goal]]

    def _touch(self, state: ParticleState, first: int, second: int) -> Bool[Array, ""]:
        """Whether two bodies overlap."""
        bodies = self.agents + self.landmarks
        apart = _distance(state.position[first], state.position[second])
        return apart < bodies[first].size + bodies[second].size


def _distance(first: Float[Array, "2"], second: Float[Array, "2"]) -> Float[Array, ""]:
    return jnp.sqrt(jnp.square(first - second).sum())


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
        own = [-_distance(state.position[1 - i], self._landmark(state, i)) for i in range(2)]
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
        spy = _distance(state.position[0], goal)
        nearest = jnp.stack([_distance(state.position[i + 1], goal) for i in range(self.good)]).min()
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
        away = _distance(state.position[1], goal)
        return away - _distance(state.position[0], goal), -away


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
        kind = state.position.dtype
        prey = range(self.adversaries, len(self.agents))
        caught = {
            j: sum(
                (self._touch(state, i, j).astype(kind) for i in range(self.adversaries)), jnp.zeros((), kind)
            )
            for j in prey
        }
        bounty = 10.0 * sum(caught.values(), jnp.zeros((), kind))
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
        kind = state.position.dtype
        count = len(self.agents)
        prey = range(self.adversaries, count)
        meals = range(count + self.obstacles, count + self.obstacles + self.food)
        zero = jnp.zeros((), kind)
        caught = {
            j: sum((self._touch(state, i, j).astype(kind) for i in range(self.adversaries)), zero)
            for j in prey
        }
        bounty = 5.0 * sum(caught.values(), zero)
        hunters = tuple(
            bounty - 0.1 * jnp.stack([_distance(state.position[j], state.position[i]) for j in prey]).min()
            for i in range(self.adversaries)
        )
        hunted = []
        for j in prey:
            ate = sum((self._touch(state, j, m).astype(kind) for m in meals), zero)
            hungry = jnp.stack([_distance(state.position[m], state.position[j]) for m in meals]).min()
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
