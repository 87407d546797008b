"""The world of the multi-particle games: discs that move on a plane, push each other and speak.

They move by forces of their own and of contact; what is said in one step is heard in the next.
"""

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.game import Environment, PerSeat, Seat, TimeStep
from comity.core.scene import Scene
from comity.core.spaces import Box, Discrete
from comity.games.particles.drawing import world

STEP = 0.1  # seconds
DAMPING = 0.25  # share of the speed that is lost in a step
CONTACT_FORCE = 100.0
CONTACT_MARGIN = 1e-3
WAY_NAMES = ("stay", "left", "right", "down", "up")
MOVES = len(WAY_NAMES)
WAYS = np.asarray([[0.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]])


class Body(NamedTuple):
    """What a disc is like; the name of what stands still says its kind."""

    name: str = "landmark"
    size: float = 0.05
    moves: bool = False
    collides: bool = False
    speaks: bool = False
    force: float = 5.0
    max_speed: float = float("inf")

    @property
    def role(self) -> str:
        """What the agent is, without its number: adversary_1 is an adversary."""
        return self.name.rsplit("_", 1)[0]


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
                labels = _action_labels(moves, words)
                action = Discrete(len(labels), labels)
            seats.append(Seat(body.name, Box(obs.shape), action, role=body.role))
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
        fastest = jnp.asarray([body.max_speed for body in agents], state.velocity.dtype)[:, None]
        count = len(agents)
        position = state.position.at[:count].add(jnp.where(moves, state.velocity * STEP, 0.0))
        velocity = state.velocity * (1.0 - DAMPING) + push * STEP
        speed = jnp.sqrt(jnp.square(velocity).sum(axis=1, keepdims=True))
        velocity = velocity * jnp.minimum(fastest / jnp.maximum(speed, 1e-9), 1.0)
        velocity = jnp.where(moves, velocity, 0.0)
        after = ParticleState(
            position, velocity, jnp.stack([said for _, said in read]), state.goals, state.time + 1
        )
        over = jnp.bool_(False) if self.horizon is None else after.time >= self.horizon
        alive = (jnp.bool_(True),) * count
        return after, TimeStep(self.observe(after), self.rewards(after), jnp.bool_(False), over, alive)

    def locate(self, state: ParticleState) -> Float[Array, "agents 2"]:
        return state.position[: len(self.agents)]

    def draw(self, state: ParticleState) -> Scene:
        return world(self, state)

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
        apart = distance(state.position[first], state.position[second])
        return apart < bodies[first].size + bodies[second].size

    def _touched(self, state: ParticleState, body: int, by: range) -> Float[Array, ""]:
        """How many of some bodies overlap one."""
        zero = jnp.zeros((), state.position.dtype)
        return sum((self._touch(state, other, body).astype(zero.dtype) for other in by), zero)


def _action_labels(moves: int, words: int) -> tuple[str, ...]:
    """Names of all choices: a way, a word, or both, words being the slower index."""
    ways, said = WAY_NAMES[:moves], [f"say {chr(ord('a') + word)}" for word in range(words)]
    if not moves or not words:
        return ways or tuple(said) or ("wait",)
    return tuple(f"{way} and {word}" for word in said for way in ways)


def distance(first: Float[Array, "2"], second: Float[Array, "2"]) -> Float[Array, ""]:
    """How far two places are from each other."""
    return jnp.sqrt(jnp.square(first - second).sum())


def outside_penalty(position: Float[Array, "2"]) -> Float[Array, ""]:
    """The price of leaving the field: none within .9, rising to 1 at the border and to 10 beyond it."""
    x = jnp.abs(position)
    beyond = jnp.minimum(jnp.exp(2.0 * x - 2.0), 10.0)
    return jnp.where(x < 0.9, 0.0, jnp.where(x < 1.0, (x - 0.9) * 10.0, beyond)).sum()


def paint(dark: float, light: float, colours: int, size: int = 3, first: int = 0) -> np.ndarray:
    """Colours that differ in one part each, which is light instead of dark."""
    table = np.full((colours, size), dark)
    for i in range(colours):
        table[i, first + i] = light
    return table
