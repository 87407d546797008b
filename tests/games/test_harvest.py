"""Commons Harvest against games recorded from the real engine: every step, every pixel; mutants caught."""

from collections import Counter
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.core.errors import ComityError
from comity.games.commons_harvest import Chance, CommonsHarvest, HarvestState
from comity.games.harvest_pixels import world_picture
from comity.play.specs import make_game

DATA = Path(__file__).parent.parent / "data" / "harvest"


@cache
def recorded(name: str) -> dict[str, np.ndarray]:
    with np.load(DATA / f"harvest_{name}.npz", allow_pickle=False) as file:
        return {key: file[key] for key in file}


def unpacked(name: str, key: str, cells: np.ndarray) -> np.ndarray:
    """Packed grids as truth values at some cells."""
    data = recorded(name)
    count = len(data["ascii_map"]) * len(data["ascii_map"][0])
    bits: np.ndarray = np.unpackbits(data[key], axis=-1, count=count)[..., cells].astype(bool)
    return bits


def to_cells(positions: np.ndarray, width: int) -> np.ndarray:
    x, y = positions[..., 0].astype(int), positions[..., 1].astype(int)
    return np.where(x >= 0, y * width + x, -1)


class Replay:
    """Recorded games played again: what is random is taken from the record, the rest must follow."""

    def __init__(self, name: str, kind: type[CommonsHarvest], episodes: slice, steps: int) -> None:
        self.data = recorded(name)
        rows = tuple(str(row) for row in self.data["ascii_map"])
        rates = {tuple(float(p) for p in row) for row in self.data["regrowth_probabilities"][episodes]}
        assert len(rates) == 1
        players = self.data["actions"].shape[-1]
        self.game = kind(map=rows, players=players, regrowth=rates.pop())
        own = self.game.layout
        width = len(rows[0])
        self.cells = to_cells(self.data["positions"][episodes], width)
        self.deaths = to_cells(self.data["death_positions"][episodes], width)
        self.apples = unpacked(name, "apples", own.apples)[episodes]
        self.dry = unpacked(name, "dessicated", own.apples)[episodes]
        self.per_step = {
            key: self.data[key][episodes]
            for key in ("actions", "orientations", "alive", "rewards", "ready_to_shoot", "zaps")
        }
        count = self.cells.shape[0]
        zeros = jnp.zeros((count, players), jnp.int32)
        start = jax.vmap(self.game.reset)(jax.random.split(jax.random.key(0), count))[0]
        first = unpacked(name, "initial_apples", own.apples)[episodes]
        assert first.all()
        self.state = start._replace(
            cells=jnp.asarray(to_cells(self.data["initial_positions"][episodes], width), jnp.int32),
            facing=jnp.asarray(self.data["initial_orientations"][episodes], jnp.int32) + zeros,
        )
        self.steps = steps
        self.outcome = jax.jit(jax.vmap(self.game.outcome))
        orders = np.asarray(list(permutations(range(players))))
        self.ranks = np.argsort(orders, axis=1)
        self.moves = jax.jit(jax.vmap(self.game.moves))
        self.try_all = jax.jit(jax.vmap(self.game.moves, in_axes=(None, None, None, 0)))
        self.ready = jax.jit(jax.vmap(self.game.ready))
        self.growth_chance = jax.jit(jax.vmap(self.game.growth_chance))
        self.draws, self.grown = Counter[float](), Counter[float]()

    def play(self, to_the_end: bool = True) -> Counter[str]:
        """What differs between the record and the game, by kind and number of entries."""
        wrong = Counter[str]()
        for t in range(self.steps):
            chance = self._chance(t, wrong)
            action = jnp.asarray(self.per_step["actions"][:, t], jnp.int32)
            self._count_growth(chance)
            state, step = self.outcome(self.state, action, chance)
            alive = self.per_step["alive"][:, t]
            expected = {
                "cells": (state.cells, self.cells[:, t]),
                "alive": (state.away == 0, alive),
                "facing": (jnp.where(alive, state.facing, 0), self.per_step["orientations"][:, t] * alive),
                "reward": (jnp.stack(step.reward, axis=1), self.per_step["rewards"][:, t]),
                "ready": (self.ready(state), self.per_step["ready_to_shoot"][:, t]),
                "apples": (state.apples, self.apples[:, t]),
                "dry": (state.dry, self.dry[:, t]),
                "zapped": (state.zapped, self.per_step["zaps"][:, t]),
            }
            for kind, (ours, theirs) in expected.items():
                wrong[kind] += int(np.sum(np.asarray(ours) != theirs))
            self.state = state
            if +wrong and not to_the_end:
                return +wrong
        wrong["rates"] = self._wrong_rates()
        return +wrong

    def _chance(self, t: int, wrong: Counter[str]) -> Chance:
        """What must have been drawn in a step."""
        episodes, players = self.cells.shape[0], self.cells.shape[2]
        before = np.asarray(self.state.cells)
        alive = self.per_step["alive"][:, t]
        back = alive & (before < 0)
        moved = np.where(self.deaths[:, t] >= 0, self.deaths[:, t], np.where(back, -1, self.cells[:, t]))
        turn = np.asarray(self.per_step["actions"][:, t], int)
        facing = np.where(
            before >= 0, (np.asarray(self.state.facing) + (turn == 6) - (turn == 5)) % 4, self.state.facing
        )
        rank = np.tile(np.arange(players), (episodes, 1))
        simple = np.asarray(self.moves(self.state.cells, jnp.asarray(facing), jnp.asarray(turn), rank))
        place = np.full((episodes, players), 0.5, np.float32)
        growth = np.ones(self.apples[:, t].shape, np.float32)
        live = np.asarray(self.state.apples)
        growth[self.apples[:, t] & ~live] = -1.0
        own = self.game.layout
        for e in range(episodes):
            if not np.array_equal(simple[e], moved[e]):
                found = self.try_all(self.state.cells[e], facing[e], turn[e], jnp.asarray(self.ranks))
                fits = np.flatnonzero((np.asarray(found) == moved[e]).all(axis=1))
                wrong["moves"] += int(not len(fits))
                rank[e] = self.ranks[fits[0]] if len(fits) else rank[e]
            taken = set(moved[e][moved[e] >= 0].tolist())
            for i in np.flatnonzero(back[e]):
                free = [cell for cell in own.spawns.tolist() if cell not in taken]
                cell = int(self.cells[e, t, i])
                wrong["places"] += int(cell not in free)
                place[e, i] = (free.index(cell) + 0.5) / len(free) if cell in free else 0.5
                taken.add(cell)
            for i in np.flatnonzero(self.per_step["rewards"][e, t] > 0):
                apple = own.apple_of[moved[e, i]]
                if apple < len(own.apples) and not live[e, apple]:
                    growth[e, apple] = -1.0
        turned = jnp.asarray(np.maximum(self.per_step["orientations"][:, t], 0), jnp.int32)
        never = jnp.ones(episodes, jnp.float32)
        return Chance(jnp.asarray(rank, jnp.int32), jnp.asarray(place), turned, jnp.asarray(growth), never)

    def _count_growth(self, chance: Chance) -> None:
        chances = np.asarray(self.growth_chance(self.state))
        grown = np.asarray(chance.growth) < 0
        for rate in self.game.regrowth[1:]:
            there = chances == np.float32(rate)
            self.draws[rate] += int(there.sum())
            self.grown[rate] += int((there & grown).sum())

    def _wrong_rates(self) -> int:
        """How many rates of growth are more than four standard deviations from what was seen."""
        return sum(
            abs(self.grown[rate] - rate * count) > 4.0 * (rate * (1.0 - rate) * count) ** 0.5
            for rate, count in self.draws.items()
        )


@pytest.mark.parametrize(
    ("name", "episodes", "steps"),
    [
        ("open_traces", slice(0, 24), 500),
        ("small_traces", slice(0, 8, 2), 200),
        ("small_traces", slice(1, 8, 2), 200),
    ],
)
def test_every_recorded_step_follows(name: str, episodes: slice, steps: int) -> None:
    replay = Replay(name, CommonsHarvest, episodes, steps)
    assert replay.play() == {}
    assert min(replay.draws.values()) > 1000


class NoLag(CommonsHarvest):
    def growth_chance(self, state: HarvestState) -> Any:
        now = state._replace(near=self.apples_near(state.apples), eaten=jnp.zeros_like(state.eaten))
        return super().growth_chance(now)


class NoRest(CommonsHarvest):
    def may_zap(self, state: HarvestState) -> Any:
        return state.cooldown >= 0


class AbsoluteMoves(CommonsHarvest):
    def wanted(self, cells: Any, facing: Any, action: Any) -> Any:
        return super().wanted(cells, jnp.zeros_like(facing), action)


class StraightBeam(CommonsHarvest):
    def beam_lines(self) -> Any:
        return super().beam_lines().at[:, :, 1:].set(-1)


class BeamThroughPlayers(CommonsHarvest):
    def beam_lines(self) -> Any:
        return super().beam_lines().reshape((-1, 4, 9, 1))


class WideNeighbourhood(CommonsHarvest):
    def apples_near(self, apples: Any) -> Any:
        near = jnp.asarray(self.layout.near)
        wide = (near + near @ near > 0).astype(jnp.float32) * (1.0 - jnp.eye(len(near)))
        return apples.astype(jnp.float32) @ wide


@pytest.mark.parametrize(
    "mutant", [NoLag, NoRest, AbsoluteMoves, StraightBeam, BeamThroughPlayers, WideNeighbourhood]
)
def test_another_rule_is_caught(mutant: type[CommonsHarvest]) -> None:
    assert Replay("small_traces", mutant, slice(1, 8, 2), 200).play(to_the_end=False)


def test_every_recorded_pixel_is_drawn() -> None:
    data = recorded("observations")
    game = make_game("commons-harvest-open", observe="pixels")
    assert isinstance(game, CommonsHarvest)
    own = game.layout
    start = game.reset(jax.random.key(0))[0]
    for m in range(len(data["moment"])):
        state = start._replace(
            cells=jnp.asarray(to_cells(data["positions"][m], own.width), jnp.int32),
            facing=jnp.asarray(data["orientations"][m], jnp.int32),
            away=jnp.where(jnp.asarray(data["alive"][m]), 0, 3),
            apples=jnp.asarray(data["apples"][m].reshape(-1)[own.apples]),
            dry=jnp.asarray(data["dessicated"][m].reshape(-1)[own.apples]),
            beam=jnp.asarray(data["beam"][m].reshape(-1)),
        )
        seen = np.stack(game.observed(state))
        np.testing.assert_array_equal(seen.transpose(0, 2, 3, 1), data["rgb"][m])
        np.testing.assert_array_equal(world_picture(own, state), data["world_rgb"][m])


def test_planes_say_what_pixels_show() -> None:
    """The planes of recorded moments, computed the slow way from positions and grids."""
    data = recorded("observations")
    game = make_game("commons-harvest-open")
    assert isinstance(game, CommonsHarvest)
    own = game.layout
    start = game.reset(jax.random.key(0))[0]
    ways = ((0, -1), (1, 0), (0, 1), (-1, 0))
    for m in range(len(data["moment"])):
        alive, facing, positions = data["alive"][m], data["orientations"][m], data["positions"][m].astype(int)
        cooldown = np.round(2 * (1 - data["ready_to_shoot"][m])).astype(int)
        state = start._replace(
            cells=jnp.asarray(to_cells(positions, own.width), jnp.int32),
            facing=jnp.asarray(facing, jnp.int32),
            away=jnp.where(jnp.asarray(alive), 0, 3),
            cooldown=jnp.asarray(cooldown, jnp.int32),
            apples=jnp.asarray(data["apples"][m].reshape(-1)[own.apples]),
            dry=jnp.asarray(data["dessicated"][m].reshape(-1)[own.apples]),
            beam=jnp.asarray(data["beam"][m].reshape(-1)),
        )
        seen = np.stack(game.observed(state))
        rows = data["ascii_map"]
        for i in range(7):
            expected = np.zeros((12, 11, 11), bool)
            for row in range(11) if alive[i] else ():
                for column in range(11):
                    ahead, right = 9 - row, column - 5
                    (fx, fy), (rx, ry) = ways[facing[i]], ways[(facing[i] + 1) % 4]
                    x = positions[i, 0] + ahead * fx + right * rx
                    y = positions[i, 1] + ahead * fy + right * ry
                    there = expected[:, row, column]
                    there[10], there[11] = cooldown[i] == 0, cooldown[i] == 1
                    if not (0 <= x < 24 and 0 <= y < 18):
                        there[0] = True
                        continue
                    there[1] = rows[y][x] == "W"
                    there[2] = rows[y][x] == "A" and not data["dessicated"][m, y, x]
                    there[3] = data["dessicated"][m, y, x]
                    there[4] = data["apples"][m, y, x]
                    there[9] = data["beam"][m, y, x]
                    for j in range(7):
                        if alive[j] and tuple(positions[j]) == (x, y):
                            there[5 + (facing[j] - facing[i]) % 4] = True
            packed = (expected * (1 << np.arange(12))[:, None, None]).sum(axis=0)
            np.testing.assert_array_equal(seen[i], packed)


def test_episodes_end_as_in_the_real_engine() -> None:
    game = make_game("commons-harvest-open")
    assert isinstance(game, CommonsHarvest)
    ends = jax.vmap(lambda time: game.ends(time, jnp.float32(0.1))[0])(jnp.arange(1, 2000))
    times = np.arange(1, 2000)[np.asarray(ends)]
    assert times.tolist() == [1099, 1199, 1299, 1399, 1499, 1599, 1699, 1799, 1899, 1999]
    assert not game.ends(jnp.int32(1099), jnp.float32(0.2))[0]
    assert game.ends(jnp.int32(5000), jnp.float32(0.9))[1]
    assert make_game("commons-harvest-open", horizon=7).horizon == 7


def test_starts() -> None:
    game = make_game("commons-harvest-open")
    assert isinstance(game, CommonsHarvest)
    states = jax.vmap(game.reset)(jax.random.split(jax.random.key(0), 300))[0]
    cells, own = np.asarray(states.cells), game.layout
    assert {tuple(sorted(row[:2])) for row in cells} == {tuple(sorted(own.firsts.tolist()))}
    assert {row[0] for row in cells} == set(own.firsts.tolist())
    assert set(cells[:, 2:].ravel().tolist()) == set(own.spawns.tolist())
    assert all(len(set(row)) == 7 for row in cells.tolist())
    assert set(np.asarray(states.facing).ravel().tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"map": ("WWW", "WX W")}, "rows of one length"),
        ({"map": ("WWW", "WXW", "WWW")}, "'X'"),
        ({"map": ("WWW", "WPW", "WWW")}, "at least one A"),
        ({"players": 40}, "players"),
        ({"regrowth": (0.1, 0.2)}, "regrowth"),
        ({"regrowth": (0.0, 0.0, 0.0, 1.5)}, "regrowth"),
        ({"observe": "pixels", "players": 8}, "at most 7"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ComityError, match=says):
        make_game("commons-harvest", **settings)


@pytest.mark.parametrize("identity", ["seat", "drawn"])
def test_identity_planes_show_who_the_others_are_and_change_nothing_else(identity: str) -> None:
    plain, told = (make_game("commons-harvest-open", identity=how) for how in ("none", identity))
    assert isinstance(told, CommonsHarvest)
    step, step_told = jax.jit(plain.step), jax.jit(told.step)
    state, before = plain.reset(jax.random.key(3))
    state_told, seen = told.reset(jax.random.key(3))
    colours = list(range(7)) if identity == "seat" else np.asarray(state_told.colours).tolist()
    assert sorted(colours) == list(range(7))
    met = 0
    for t in range(12):
        key = jax.random.key(t)
        actions = tuple(jax.random.randint(jax.random.fold_in(key, i), (), 0, 7) for i in range(7))
        for i in range(7):
            window = np.asarray(seen[i])
            np.testing.assert_array_equal(window & 4095, np.asarray(before[i]))
            for row, column in np.argwhere(window >> 12):
                number = int(window[row, column]) >> 12
                assert (row, column) != (9, 5)
                assert number.bit_count() == 1
                other = colours.index(number.bit_length() - 1)
                there = int(
                    np.asarray(told.layout.windows)[int(state.cells[i]) * 4 + int(state.facing[i])][
                        row * 11 + column
                    ]
                )
                assert there % (1 << 16) == int(state.cells[other])
                met += 1
        state, after = step(key, state, actions)
        state_told, after_told = step_told(key, state_told, actions)
        before, seen = after.obs, after_told.obs
    assert met > 20


def test_identity_is_refused_with_pixels() -> None:
    with pytest.raises(ComityError, match="identity"):
        make_game("commons-harvest-open", observe="pixels", identity="seat")
