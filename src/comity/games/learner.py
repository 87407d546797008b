"""The meta-game of model-free opponent shaping where values are not known: games against one who learns.

The meta-game of `games/meta.py` needs a game whose policies have exact values. Here a shaper moves step by
step in games of any kind, such as the Coin Game, against one naive learner who sits opposite in all of them.
After each episode the learner follows its policy gradient; after some episodes it starts again from nothing.
A shaper with a memory that earns much over all of them shapes how the learner learns (Lu et al., 2022,
arXiv:2205.01447, with the memory of the whole meta-episode as in Khan et al., 2023, arXiv:2312.12568).
"""

from functools import partial
from operator import itemgetter
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import spaces
from comity.core.errors import ComityError, require
from comity.core.game import Environment, PerSeat, Seat, TimeStep
from comity.core.scene import Note, Row, Scene, Stack, as_scene
from comity.core.spaces import Discrete
from comity.games.coin import CoinGame
from comity.games.horizon import check_count
from comity.returns.advantages import discounted_returns


class LearnerEpisode(NamedTuple):
    """What the learner lived through since it last learned; an episode's steps come first."""

    features: Float[Array, "steps games features"]
    action: Int[Array, "steps games"]
    reward: Float[Array, "steps games"]


class LearnerState(NamedTuple):
    """The inner games and what both sides see in them, the learner's logits per feature, and the time."""

    inner: PyTree
    seen: PerSeat[PyTree]
    weights: Float[Array, "features actions"]
    episode: LearnerEpisode
    time: Int[Array, ""]


class LearnerGame(Environment):
    """Shape a naive learner who sits opposite in several games at once; each of them is a seat.

    What the learner learns in one game concerns all of them: `shared` says how far a seat is paid for what
    the others earn; all of it is right and noisy, none of it makes shaping worth less than it is. The
    learner's policy is a softmax linear in what it sees: one weight for each number of a discrete
    observation; in games seen as planes on a torus, where everything is as seen from where it stands itself.
    """

    game: Environment = eqx.field(default_factory=lambda: CoinGame(horizon=16))  # the inner game, of two
    games: int = 4  # how many are played at once
    shared: float = 0.5  # share of a seat's pay that is the mean over all games; the rest is its own
    episodes: int = 32  # inner episodes in one meta-episode
    step_size: float = 16.0  # how far the learner follows its policy gradient after each inner episode
    discount: float = 0.96  # what the next step's reward counts for the learner

    def __check_init__(self) -> None:
        seats = self.game.seats
        if len(seats) != 2 or self.game.horizon is None:
            raise ComityError("The inner game of a learner-game needs two players and a horizon.")
        seat = seats[1]
        if not isinstance(seat.action, Discrete) or not self._readable(seat):
            raise ComityError(
                "The learner of a learner-game needs discrete actions and a discrete observation or planes, "
                f"and this game gives {spaces.describe(seat.action)} and {spaces.describe(seat.observation)}."
            )
        check_count("games", self.games, 2)  # the learner compares them
        require(0.0 <= self.shared <= 1.0, "shared", self.shared, "between 0 and 1")
        require(self.episodes >= 1, "episodes", self.episodes, "at least 1")
        require(self.step_size >= 0, "step_size", self.step_size, "at least 0")
        require(0.0 <= self.discount <= 1.0, "discount", self.discount, "between 0 and 1")

    @property
    def family(self) -> str:
        return "meta"

    @property
    def horizon(self) -> int:
        """Steps of a meta-episode."""
        return self.episodes * self._steps

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def seats(self) -> PerSeat[Seat]:
        seat = self.game.seats[0]
        return tuple(Seat(f"game {i + 1}", seat.observation, seat.action) for i in range(self.games))

    @property
    def _steps(self) -> int:
        assert self.game.horizon is not None
        return int(self.game.horizon)

    def reset(self, key: Key) -> tuple[LearnerState, PerSeat[PyTree]]:
        inner, seen = self._begin(key)
        learner = self.game.seats[1]
        assert isinstance(learner.action, Discrete)
        width = self._features(seen[1]).shape[-1]
        shape = (self._steps, self.games)
        episode = LearnerEpisode(
            jnp.zeros((*shape, width), jnp.float32),
            jnp.zeros(shape, jnp.int32),
            jnp.zeros(shape, jnp.float32),
        )
        weights = jnp.zeros((width, learner.action.n), jnp.float32)
        state = LearnerState(inner, seen, weights, episode, jnp.int32(0))
        return state, self._shown(seen)

    def step(self, key: Key, state: LearnerState, actions: PerSeat[PyTree]) -> tuple[LearnerState, TimeStep]:
        act_key, step_key, begin_key = jax.random.split(key, 3)
        features = self._features(state.seen[1])
        answer = jax.random.categorical(act_key, features @ state.weights).astype(jnp.int32)
        keys = jax.random.split(step_key, self.games)
        inner, step = jax.vmap(self.game.step)(keys, state.inner, (jnp.stack(actions), answer))
        at = state.time % self._steps
        lived = LearnerEpisode(features, answer, step.reward[1])
        episode = jax.tree.map(lambda x, now: x.at[at].set(now), state.episode, lived)

        over = at == self._steps - 1
        learned = state.weights + self.step_size * policy_gradient(state.weights, episode, self.discount)
        begun = self._begin(begin_key)
        inner, seen = jax.tree.map(lambda new, old: jnp.where(over, new, old), begun, (inner, step.obs))
        weights = jnp.where(over, learned, state.weights)
        state = LearnerState(inner, seen, weights, episode, state.time + 1)
        return state, TimeStep(
            obs=self._shown(seen),
            reward=tuple(self.shared * step.reward[0].mean() + (1.0 - self.shared) * step.reward[0]),
            terminated=jnp.bool_(False),
            truncated=state.time >= self.horizon,
            alive=(jnp.bool_(True),) * self.games,
        )

    def draw(self, state: LearnerState) -> Scene:
        """All inner games: in each the shaper sits in the first seat, the learner in the second."""
        scenes: list[Scene] = []
        for i in range(self.games):
            drawing = self.game.draw(jax.tree.map(itemgetter(i), state.inner))
            title = Note(f"game {i + 1}", bold=True)
            scenes.append(title if drawing is None else Stack((title, as_scene(drawing))))
        episode, step = divmod(int(state.time), self._steps)
        said = f"episode {min(episode + 1, self.episodes)} of {self.episodes}, step {step} of {self._steps}"
        rows = tuple(Row(tuple(scenes[i : i + 2])) for i in range(0, self.games, 2))
        return Stack((*rows, Note(f"{said}; the learner has learned {episode} times")))

    def _begin(self, key: Key) -> tuple[PyTree, PerSeat[PyTree]]:
        begun: tuple[PyTree, PerSeat[PyTree]] = jax.vmap(self.game.reset)(jax.random.split(key, self.games))
        return begun

    def _shown(self, seen: PerSeat[PyTree]) -> PerSeat[PyTree]:
        """What the shaper sees in each game."""
        return tuple(jax.tree.map(itemgetter(i), seen[0]) for i in range(self.games))

    @staticmethod
    def _readable(seat: Seat) -> bool:
        return isinstance(seat.observation, Discrete) or spaces.planes(seat.observation) is not None

    def _features(self, seen: PyTree) -> Float[Array, "games features"]:
        """What the learner's policy is linear in."""
        observation = self.game.seats[1].observation
        if isinstance(observation, Discrete):
            return jax.nn.one_hot(seen, observation.n)
        return jax.vmap(seen_from_oneself)(seen)


def seen_from_oneself(planes: Float[Array, "planes height width"]) -> Float[Array, " features"]:
    """All planes but the first, shifted on the torus so that what the first shows is in the corner."""
    row, column = jnp.unravel_index(jnp.argmax(planes[0]), planes.shape[1:])
    return jnp.roll(planes[1:], jnp.stack([-row, -column]), axis=(1, 2)).reshape(-1)


def policy_gradient(
    weights: Float[Array, "features actions"], episode: LearnerEpisode, discount: float
) -> Float[Array, "features actions"]:
    """Of a policy's reward per step: what followed an action, against what followed in the other games.

    What followed is measured in its spread, so that a step size means the same in all games.
    """
    over = jnp.zeros(episode.reward.shape, bool)  # an episode's last step is the last one there is
    to_go = jax.vmap(partial(discounted_returns, discount=discount), in_axes=1, out_axes=1)
    returns = to_go(episode.reward, jnp.zeros_like(episode.reward), over, over)
    advantage = returns - returns.mean(axis=1, keepdims=True)
    advantage = advantage / (jnp.std(advantage) + 1e-3)
    chance = jax.nn.softmax(episode.features @ weights)
    slope = jax.nn.one_hot(episode.action, weights.shape[1]) - chance
    total = jnp.einsum("tgf,tga,tg->fa", episode.features, slope, advantage)
    return total / advantage.size
