"""Commons Harvest: apples that come back only while others grow near them (Melting Pot's substrate).

Seven players walk among bushes and eat. An empty cell grows an apple the sooner the more apples are within
two steps of it, and never when there is none: who eats a bush bare has had its last apple. A beam sends
others away for five steps. Moves are carried out one after another, in an order that is drawn at every step.

The rules are those of the real engine, checked against games recorded from it: the order of events, the
beam's nine cells, the lag of regrowth, apples that grow under a player. Positions are cells, counted row by
row.
"""

from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import require
from comity.core.game import Cooperation, Environment, PerSeat, Seat, TimeStep
from comity.core.scene import Scene
from comity.core.spaces import Bits, Box, Discrete
from comity.games.harvest_drawing import harvest_scene
from comity.games.harvest_map import GROUND, OPEN, SMALL, WINDOW, Layout, layout
from comity.games.harvest_pixels import RGB, pixels
from comity.games.harvest_planes import PLANES as PLANES
from comity.games.harvest_planes import identity_planes, planes
from comity.games.harvest_restraint import restraint
from comity.games.horizon import check_horizon

ACTIONS = ("stay", "forward", "backward", "step left", "step right", "turn left", "turn right", "zap")
MOVES = (0, 2, 3, 1)  # the direction of actions 1 to 4, counted clockwise from the facing
TURN_LEFT, TURN_RIGHT, ZAP = 5, 6, 7
OUT_FOR = 5  # steps until a player who was hit is back
COOLDOWN = 2  # steps after a zap in which there is no other
FIRST_END, END_EVERY, END_CHANCE, LAST_END = 1000, 100, 0.15, 5000  # when episodes of the real engine end


class Chance(NamedTuple):
    """All that is drawn in a step."""

    rank: Int[Array, " players"]  # whose move is carried out first, second and so on
    place: Float[Array, " players"]  # where a player returns, as a share of the free places
    facing: Int[Array, " players"]  # how it faces then
    growth: Float[Array, " apples"]  # an apple grows where this is below its chance
    end: Float[Array, ""]  # the episode ends if this is below its chance


class HarvestState(NamedTuple):
    """The world after a step.

    - `cells`, `facing`: where players are, -1 for who is out, and how they face.
    - `away`: steps until a player is back; 0: it is in the game.
    - `cooldown`: steps until it may zap.
    - `apples`, `eaten`: where apples are, and where one was eaten in the last step.
    - `near`: how many apples each cell had near it one step ago.
    - `dry`: where the grass is bare.
    - `beam`: where beams of the last step went; `zapped`: who hit whom (row: the shooter).
    - `colours`: by which identity plane each player is known, where these are drawn; else nothing.
    """

    cells: Int[Array, " players"]
    facing: Int[Array, " players"]
    away: Int[Array, " players"]
    cooldown: Int[Array, " players"]
    apples: Bool[Array, " apples"]
    eaten: Bool[Array, " apples"]
    near: Float[Array, " apples"]
    dry: Bool[Array, " apples"]
    beam: Bool[Array, " cells"]
    zapped: Bool[Array, "players players"]
    time: Int[Array, ""]
    colours: PyTree = ()


class CommonsHarvest(Environment):
    """Each seat sees a window of 11 x 11 cells, turned so that ahead is up; who is out sees nothing."""

    map: tuple[str, ...] = SMALL  # rows of W (wall), A (apple), P (return), Q (first start), space (floor)
    players: int = 5  # how many play
    regrowth: tuple[float, ...] = (0.0, 0.0025, 0.005, 0.025)  # chance with 0, 1, 2, 3 or more apples near
    observe: Literal["planes", "pixels"] = "planes"  # what is seen: planes of bits, or 88 x 88 pixels
    horizon: int | None = None  # steps in an episode; by default it ends at random, as in the real engine
    identity: Literal["none", "seat", "drawn"] = "none"
    """whether planes show who is who, by one more plane for each player: by its seat, as in pixels, or by a
    number drawn anew for each episode, so that nobody is known before it acts"""

    def __check_init__(self) -> None:
        own = layout(self.map)
        starts = len(own.spawns) + min(len(own.firsts), self.players)
        require(1 <= self.players < starts, "players", self.players, f"1 to {starts - 1} on this map")
        rates = self.regrowth
        fits = len(rates) == 4 and all(0.0 <= rate <= 1.0 for rate in rates)
        require(fits, "regrowth", rates, "4 probabilities, for 0, 1, 2, 3 or more apples near")
        if self.observe == "pixels":
            require(self.players <= 7, "players", self.players, "at most 7 with pixels")
            require(self.identity == "none", "identity", self.identity, "none: pixels show colours")
        if self.identity != "none":
            most = 31 - len(PLANES)
            require(self.players <= most, "players", self.players, f"at most {most} with identity planes")
        check_horizon(self.horizon)

    @property
    def family(self) -> str:
        return "commons-harvest"

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def layout(self) -> Layout:
        """The tables of the map."""
        return layout(self.map)

    @property
    def seats(self) -> PerSeat[Seat]:
        identities = self.players if self.identity != "none" else 0
        planes = Bits((len(PLANES) + identities, *WINDOW))
        observation = planes if self.observe == "planes" else Box(RGB, 0.0, 255.0)
        action = Discrete(len(ACTIONS), ACTIONS)
        return tuple(Seat(f"player {i + 1}", observation, action) for i in range(self.players))

    def reset(self, key: Key) -> tuple[HarvestState, PerSeat[PyTree]]:
        own, n = self.layout, self.players
        first_key, place_key, facing_key = jax.random.split(key, 3)
        firsts = min(len(own.firsts), n)
        begin = jax.random.permutation(first_key, jnp.asarray(own.firsts, jnp.int32))[:firsts]
        others = jax.random.permutation(place_key, jnp.asarray(own.spawns, jnp.int32))[: n - firsts]
        zeros, bare = jnp.zeros(n, jnp.int32), jnp.zeros(len(own.apples), jnp.bool_)
        state = HarvestState(
            cells=jnp.concatenate([begin, others]),
            facing=jax.random.randint(facing_key, (n,), 0, 4),
            away=zeros,
            cooldown=zeros,
            apples=~bare,
            eaten=bare,
            near=self.apples_near(~bare),
            dry=bare,
            beam=jnp.zeros(own.cells, jnp.bool_),
            zapped=jnp.zeros((n, n), jnp.bool_),
            time=jnp.int32(0),
            colours=jax.random.permutation(jax.random.fold_in(key, 1), n) if self.identity == "drawn" else (),
        )
        return state, self.observed(state)

    def step(self, key: Key, state: HarvestState, actions: PerSeat[PyTree]) -> tuple[HarvestState, TimeStep]:
        return self.outcome(state, jnp.stack(actions).astype(jnp.int32), self.draw_chance(key))

    def outcome(
        self, state: HarvestState, action: Int[Array, " players"], chance: Chance
    ) -> tuple[HarvestState, TimeStep]:
        """What follows from a joint action once all that is random is drawn."""
        own = self.layout
        alive = state.away == 0
        turn = (action == TURN_RIGHT).astype(jnp.int32) - (action == TURN_LEFT).astype(jnp.int32)
        facing = jnp.where(alive, (state.facing + turn) % 4, state.facing)
        moved = self.moves(state.cells, facing, action, chance.rank)

        here = jnp.asarray(own.apple_of, jnp.int32)[moved]  # out: the last entry, where no apple grows
        grows = here[:, None] == jnp.arange(len(own.apples))[None, :]
        bites = jnp.any(grows & state.apples[None, :], axis=1)
        covered = jnp.any(grows, axis=0)
        eaten = covered & state.apples

        fires = alive & (action == ZAP) & self.may_zap(state)
        zapped, beam = self.zap(moved, facing, fires)
        hit = jnp.any(zapped, axis=0)
        back = state.away == 1
        returns = self._returns(moved, back, chance.place)
        away = jnp.where(hit, OUT_FOR, jnp.maximum(state.away - 1, 0))
        waits = jnp.where(alive, jnp.maximum(state.cooldown - 1, 0), state.cooldown)

        grown = chance.growth < self.growth_chance(state)
        under = jnp.any(grows & grown[None, :], axis=1)
        near = self.apples_near(state.apples)
        state = HarvestState(
            cells=jnp.where(back, returns, jnp.where(hit, -1, moved)),
            facing=jnp.where(back, chance.facing, facing),
            away=away,
            cooldown=jnp.where(fires, COOLDOWN, waits),
            apples=(state.apples & ~eaten) | (grown & ~covered),
            eaten=eaten | (grown & covered),
            near=near,
            dry=jnp.where(state.apples, state.dry, near == 0.0),
            beam=beam,
            zapped=zapped,
            time=state.time + 1,
            colours=state.colours,
        )
        reward = (bites | under).astype(jnp.float32)
        terminated, truncated = self.ends(state.time, chance.end)
        everyone = (jnp.bool_(True),) * self.players  # who is out comes back, so nobody leaves the game
        return state, TimeStep(self.observed(state), tuple(reward), terminated, truncated, everyone)

    def cooperation(
        self, state: HarvestState, actions: PerSeat[PyTree], next_state: HarvestState
    ) -> PerSeat[Cooperation]:
        return restraint(self.layout, state, next_state)

    def moves(
        self,
        cells: Int[Array, " players"],
        facing: Int[Array, " players"],
        action: Int[Array, " players"],
        rank: Int[Array, " players"],
    ) -> Int[Array, " players"]:
        """Where players are after their moves, carried out in the order of their ranks."""
        wants = self.wanted(cells, facing, action)
        for turn in range(self.players):
            mine = rank == turn
            want = jnp.max(jnp.where(mine, wants, -1))
            taken = jnp.any((cells == want) & ~mine)
            cells = jnp.where(mine & ~taken, want, cells)
        return cells

    def wanted(
        self, cells: Int[Array, " players"], facing: Int[Array, " players"], action: Int[Array, " players"]
    ) -> Int[Array, " players"]:
        """Where players would like to be: where they are, or one step away, by a way counted from ahead."""
        moving = (action >= 1) & (action <= len(MOVES))
        way = (facing + jnp.asarray((0, *MOVES, 0, 0, 0))[action]) % 4
        there = jnp.asarray(self.layout.steps, jnp.int32)[cells, way]
        return jnp.where(moving & (cells >= 0), there, cells)

    def may_zap(self, state: HarvestState) -> Bool[Array, " players"]:
        """Whose beam is ready."""
        return state.cooldown == 0

    def beam_lines(self) -> Int[Array, "cells 4 lines cells_of_line"]:
        """The cells of the beam's lines from each cell and facing; -1 from a wall on."""
        return jnp.asarray(self.layout.beams, jnp.int32)

    def growth_chance(self, state: HarvestState) -> Float[Array, " apples"]:
        """How likely an apple grows in each cell; the count of those near it is one step old."""
        rates = jnp.asarray(self.regrowth, jnp.float32)
        rate = rates[jnp.minimum(state.near, 3.0).astype(jnp.int32)]
        return jnp.where(state.apples | state.eaten, 0.0, rate)

    def apples_near(self, apples: Bool[Array, " apples"]) -> Float[Array, " apples"]:
        """How many apples each cell has near it."""
        return apples.astype(jnp.float32) @ jnp.asarray(self.layout.near)

    def ready(self, state: HarvestState) -> Float[Array, " players"]:
        """1 for who may zap, 0.5 for who may after the next step, 0 for others."""
        return jnp.where(state.away == 0, 1.0 - state.cooldown.astype(jnp.float32) / COOLDOWN, 0.0)

    def draw_chance(self, key: Key) -> Chance:
        """All that is random in a step."""
        own, n = self.layout, self.players
        order_key, place_key, facing_key, growth_key, end_key = jax.random.split(key, 5)
        first = jax.random.uniform(order_key, (n,))
        earlier = (first[None, :] < first[:, None]) | (
            (first[None, :] == first[:, None]) & (jnp.arange(n)[None, :] < jnp.arange(n)[:, None])
        )
        return Chance(
            rank=earlier.sum(axis=1, dtype=jnp.int32),
            place=jax.random.uniform(place_key, (n,)),
            facing=jax.random.randint(facing_key, (n,), 0, 4),
            growth=jax.random.uniform(growth_key, (len(own.apples),)),
            end=jax.random.uniform(end_key),
        )

    def zap(
        self, cells: Int[Array, " players"], facing: Int[Array, " players"], fires: Bool[Array, " players"]
    ) -> tuple[Bool[Array, "players players"], Bool[Array, " cells"]]:
        """Who hits whom, and where the beams go: each line up to a wall or the first player, who is hit."""
        lines = self.beam_lines()[cells, facing]
        meets = (lines[..., None] == cells[None, None, None, :]) & (lines[..., None] >= 0)
        somebody = jnp.any(meets, axis=-1)
        earlier = jnp.cumsum(somebody, axis=-1) - somebody.astype(jnp.int32)
        passes = (earlier == 0) & fires[:, None, None]
        zapped = jnp.any(meets & passes[..., None], axis=(1, 2))
        end = self.layout.cells
        shown = jnp.where(passes & (lines >= 0), lines, end).reshape(-1)
        beam = jnp.zeros(end + 1, jnp.bool_).at[shown].set(True)
        return zapped, beam[:end]

    def _returns(
        self, cells: Int[Array, " players"], back: Bool[Array, " players"], place: Float[Array, " players"]
    ) -> Int[Array, " players"]:
        """Where players come back: the free place that their draw says, one player after another."""
        own = self.layout
        spawns, count = jnp.asarray(own.spawns, jnp.int32), len(own.spawns)
        taken = jnp.asarray(own.spawn_of, jnp.int32)[cells]
        chosen = []
        for i in range(self.players):
            free = count - jnp.sum(taken >= 0)
            wanted = jnp.minimum((place[i] * free.astype(jnp.float32)).astype(jnp.int32), free - 1)
            spot = wanted
            for _ in range(self.players):  # past every taken place up to it
                spot = wanted + jnp.sum((taken >= 0) & (taken <= spot))
            chosen.append(spawns[spot])
            taken = taken.at[i].set(jnp.where(back[i], spot, taken[i]))
        return jnp.stack(chosen)

    def ends(self, time: Int[Array, ""], draw: Float[Array, ""]) -> tuple[Bool[Array, ""], Bool[Array, ""]]:
        """Whether the episode is terminated, and whether it is truncated, after so many steps."""
        if self.horizon is not None:
            return jnp.bool_(False), time >= self.horizon
        may = (time >= FIRST_END) & ((time + 1) % END_EVERY == 0)
        return may & (draw < END_CHANCE), time >= LAST_END

    def draw(self, state: HarvestState) -> Scene:
        return harvest_scene(self.layout, state)

    # ---- What is seen ------------------------------------------------------------------------------------

    def observed(self, state: HarvestState) -> PerSeat[PyTree]:
        """What each seat sees."""
        place = jnp.maximum(state.cells, 0) * 4 + state.facing
        table = jnp.asarray(self.layout.windows, jnp.int32)
        in_sight = table.at[place].get(mode="promise_in_bounds")
        draw = pixels if self.observe == "pixels" else planes
        seen = draw(self.layout, state, in_sight % GROUND, in_sight // GROUND)
        if self.identity != "none":
            colours = state.colours if self.identity == "drawn" else jnp.arange(self.players)
            seen = seen.astype(jnp.int32) | identity_planes(self.layout, state, colours, in_sight % GROUND)
        return tuple(seen[i] for i in range(self.players))


class CommonsHarvestOpen(CommonsHarvest):
    """Melting Pot's commons_harvest__open: six bushes, seven players."""

    map: tuple[str, ...] = OPEN
    players: int = 7
