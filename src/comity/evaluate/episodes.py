"""Many episodes side by side, each of which `comity.evaluate.replay.replay` can show again by its number."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.agent import Player
from comity.core.errors import ComityError
from comity.core.game import Environment, PerSeat
from comity.core.matchmaker import Occupant
from comity.core.spaces import Discrete
from comity.play.episode import reset_episode, step_episode
from comity.play.match import seat_players


class Episodes(NamedTuple):
    """What was done and earned; steps after the end of an episode have weight 0.

    `cooperative` and `choices` are summed over steps, and all 0 where the game defines no cooperation.
    """

    actions: PerSeat[PyTree]  # leaves [episode, time, ...]
    reward: Float[np.ndarray, "episode time seats"]
    weight: Float[np.ndarray, "episode time"]
    cooperative: Float[np.ndarray, "episode seats"]
    choices: Float[np.ndarray, "episode seats"]
    seed: int


def play_episodes(
    game: Environment, players: PerSeat[Player], episodes: int = 128, length: int | None = None, seed: int = 0
) -> Episodes:
    """Plays episodes 0, 1, 2, ... of a seed, each of at most `length` steps, by default its horizon."""
    length = game.horizon if length is None else length
    if length is None:
        raise ComityError("This game has no fixed length: give it a horizon.")
    if not game.resumable:
        raise ComityError(
            "Episodes of third-party environments cannot be played again by their number, so their kinds "
            "are not looked for: comity replay shows one of them."
        )
    if len(players) != len(game.seats):
        raise ComityError(f"The game has {len(game.seats)} seats, and {len(players)} players were given.")
    played = _play(game, seat_players(players), jax.random.key(seed), episodes, length)
    actions, reward, weight, cooperative, choices = jax.tree.map(np.asarray, played)
    return Episodes(actions, reward, weight, cooperative, choices, seed)


@eqx.filter_jit
def _play(
    game: Environment, occupants: tuple[Occupant, ...], key: Key, episodes: int, length: int
) -> tuple[PyTree, ...]:
    def episode(number: Int[Array, ""]) -> tuple[PyTree, ...]:
        reset_key, step_key = jax.random.split(jax.random.fold_in(key, number))

        def step(
            carry: tuple[PyTree, ...], time: Int[Array, ""]
        ) -> tuple[tuple[PyTree, ...], tuple[PyTree, ...]]:
            state, obs, memory, over = carry
            own_key = jax.random.fold_in(step_key, time)
            actions, memory, _, after, answer = step_episode(game, occupants, state, obs, memory, {}, own_key)
            weight = (~over).astype(jnp.float32)
            chosen = jax.vmap(game.cooperation)(
                jax.vmap(game.view)(state), actions, jax.vmap(game.view)(after)
            )
            counts = jnp.zeros((2, len(obs)), jnp.float32)
            if chosen is not None:
                counts = jnp.stack([jnp.stack([part[0] for part in own]) for own in chosen], axis=1)
            reward = jnp.stack([own[0] for own in answer.game_reward])
            over = over | answer.terminated[0] | answer.truncated[0]
            shown = jax.tree.map(lambda x: x[0], actions)
            return (after, answer.obs, memory, over), (shown, weight * reward, weight, weight * counts)

        start = (*reset_episode(game, occupants, reset_key)[:3], jnp.bool_(False))
        _, (actions, reward, weight, counts) = jax.lax.scan(step, start, jnp.arange(length))
        cooperative, choices = counts.sum(axis=0)
        return actions, reward, weight, cooperative, choices

    found: tuple[PyTree, ...] = jax.vmap(episode)(jnp.arange(episodes))
    return found


def describe_episodes(
    game: Environment, played: Episodes
) -> tuple[list[str], Float[np.ndarray, "episode features"]]:
    """What was done in each episode as numbers, seat by seat.

    How often each of several actions was taken, or the mean and the spread of each number of an action that
    is a vector; the share of choices that was cooperative, where the game says what that is (a half where
    there was no choice); and the reward per step.
    """
    total = np.maximum(played.weight.sum(axis=1), 1.0)  # [episode]
    names, columns = [], []

    def add(name: str, values: Float[np.ndarray, " episode"]) -> None:
        names.append(name)
        columns.append(values)

    for i, seat in enumerate(game.seats):
        action = np.asarray(played.actions[i])
        if isinstance(seat.action, Discrete):
            for number in range(seat.action.n):
                share = ((action == number) * played.weight).sum(axis=1) / total
                add(f"{seat.name}: {seat.action.label(number)}", share)
        elif action.ndim >= 2:
            flat = action.reshape(*action.shape[:2], -1)
            mean = (flat * played.weight[..., None]).sum(axis=1) / total[:, None]
            square = (flat**2 * played.weight[..., None]).sum(axis=1) / total[:, None]
            spread = np.sqrt(np.maximum(square - mean**2, 0.0))
            for k in range(flat.shape[-1]):
                add(f"{seat.name}: mean of action {k + 1}", mean[:, k])
                add(f"{seat.name}: spread of action {k + 1}", spread[:, k])
        if played.choices.any():
            choices = played.choices[:, i]
            add(
                f"{seat.name}: cooperation",
                np.where(choices > 0, played.cooperative[:, i] / np.where(choices > 0, choices, 1.0), 0.5),
            )
        add(f"{seat.name}: reward", played.reward[..., i].sum(axis=1) / total)
    return names, np.stack(columns, axis=1).astype(np.float64)
