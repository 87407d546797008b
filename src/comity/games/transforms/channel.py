"""A channel beside any game: in each step every seat also says something, and hears what others said."""

import math
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import palette
from comity.core.errors import ComityError, require
from comity.core.game import Cooperation, PerSeat, Seat, TimeStep
from comity.core.scene import Cell, Drawing, Stack, Table, as_scene
from comity.core.spaces import Box, Discrete, Masked, Space
from comity.games.transforms.base import Transform
from comity.games.transforms.messages import Content, Message, Symbols

CHANNEL_KEY = 11  # sets the channel's chance apart from the game's, which is drawn as without it
MOST_CHOICES = 4096


class Inbox(NamedTuple):
    """The last messages from each seat to each, newest first, and how many steps old each is; -1: none."""

    content: PyTree  # [receiver, sender, message, length]
    age: Int[Array, "receiver sender message"]


class ChannelState(NamedTuple):
    """The state of the game inside, what was heard, what is on its way (oldest first), and who may speak."""

    inner: PyTree
    inbox: Inbox
    on_the_way: tuple[tuple[PyTree, Bool[Array, "receiver sender"]], ...]
    speaks: Bool[Array, " seat"]


class Channel(Transform):
    """Seats talk: an action is the game's and a message, an observation the game's and what was heard.

    A seat hears what was said in a step with its next observation, or `delay` steps later: of each other
    seat, the next one first, the last `history` messages, each with its freshness 1 / (1 + its age in steps),
    0 where there was none. So every message has its sender and its place, and none crowds out another's. Loss
    and noise are drawn for every receiver by itself.

    A channel through which nothing fits (`bits` too few for a symbol, or for a bit of each number) leaves the
    game as it is, bit for bit.
    """

    message: Message = Symbols()  # what is said: symbols or a vector
    to: Literal["everyone", "addressed"] = "everyone"  # who hears a message: all, or whom it names
    links: tuple[tuple[int, int], ...] = ()  # who can reach whom, pairs of seats; empty: everybody
    reach: float = 0.0  # how far messages carry, in games that know where seats are; 0: any distance
    noise: float = 0.0  # chance of another symbol, or the spread of what is added to numbers
    loss: float = 0.0  # chance that a message does not arrive
    delay: int = 0  # steps that a message is late
    bits: int | None = None  # what of a message gets through, in bits; by default all
    price: float = 0.0  # what a message costs who sends it
    history: int = 1  # how many messages of each seat a receiver still sees
    choices: Literal["separate", "joint"] = "separate"  # action and message as several choices, or as one
    ablation: Literal["none", "silence", "shuffle"] = "none"  # nothing arrives, or messages without meaning

    def __check_init__(self) -> None:
        seats = len(self.game.seats)
        require(seats >= 2, "channel", f"a game of {seats} seat", "in a game of several seats")
        pairs = all(0 <= i < seats and 0 <= j < seats and i != j for i, j in self.links)
        require(
            pairs, "links", self.links, f"pairs of different seats from 0 to {seats - 1}: sender, receiver"
        )
        for name, number, fits, allowed in (
            ("noise", self.noise, self.noise >= 0 and math.isfinite(self.noise), "at least 0"),
            ("loss", self.loss, 0 <= self.loss <= 1, "between 0 and 1"),
            ("delay", self.delay, 0 <= self.delay <= 100, "from 0 to 100"),
            ("bits", self.bits, self.bits is None or self.bits >= 0, "at least 0, or none given"),
            ("price", self.price, self.price >= 0 and math.isfinite(self.price), "at least 0"),
            ("history", self.history, self.history >= 1, "at least 1"),
            ("reach", self.reach, self.reach >= 0, "at least 0"),
        ):
            require(fits, name, number, allowed)
        if isinstance(self.message, Symbols):
            require(self.noise <= 1, "noise", self.noise, "at most 1, the chance of another symbol")
        if self.reach > 0 and not self._places_known():
            raise ComityError(
                f"reach = {self.reach} means nothing here: this game does not say where seats are."
            )
        for seat in self.game.seats:
            self._check_seat(seat)

    def _check_seat(self, seat: Seat) -> None:
        masked = isinstance(seat.observation, Masked)
        if self.choices == "separate":
            if masked:
                raise ComityError(
                    f"Not all choices of the seat {seat.name!r} are always legal, so its action and its "
                    f"message must be one choice: choices = joint would work."
                )
            return
        whole = isinstance(seat.action, Discrete) and isinstance(self.message, Symbols)
        require(
            whole, "choices", self.choices, "separate, where the game's action or the message is no choice"
        )
        count = self._game_choices(seat) * self._message_choices()
        require(count <= MOST_CHOICES, "choices", self.choices, f"separate: joint ones would be {count:,}")

    @property
    def silent(self) -> bool:
        """Whether nothing fits through, so that the game is as it was."""
        return not self.message.received(self.bits)

    @property
    def horizon(self) -> int | None:
        return self.game.horizon

    @property
    def symmetric(self) -> bool:
        return self.game.symmetric and (self.silent or not self.links)

    @property
    def seats(self) -> PerSeat[Seat]:
        return self.game.seats if self.silent else tuple(self._talking(seat) for seat in self.game.seats)

    def _talking(self, seat: Seat) -> Seat:
        size = (len(self.game.seats) - 1) * self.history * (self.message.width + 1)
        heard = Box((size,), 0.0, 1.0) if isinstance(self.message, Symbols) else Box((size,))
        resampled = (*seat.resampled, *(False,) * size) if seat.resampled else ()
        if self.choices == "joint":
            count = self._game_choices(seat) * self._message_choices()
            observation: Space = (seat.observation, heard)
            if isinstance(seat.observation, Masked):
                observation = Masked((seat.observation.observation, heard), count)
            return Seat(seat.name, observation, Discrete(count), resampled, seat.role)
        action = seat.action if isinstance(seat.action, tuple) else (seat.action,)
        return Seat(
            seat.name, (seat.observation, heard), (*action, *self._said_parts()), resampled, seat.role
        )

    def _said_parts(self) -> tuple[Space, ...]:
        """What a seat chooses beside its action: a message, and perhaps to which of the others, next seat
        first."""
        others = len(self.game.seats) - 1
        return (*self.message.parts, *((Discrete(others),) if self.to == "addressed" else ()))

    def _game_choices(self, seat: Seat) -> int:
        assert isinstance(seat.action, Discrete)
        return seat.action.n

    def _message_choices(self) -> int:
        return math.prod(part.n for part in self._said_parts() if isinstance(part, Discrete))

    def reset(self, key: Key) -> tuple[PyTree, PerSeat[PyTree]]:
        return self._begin(*self.game.reset(key))

    def reset_where(self, key: Key, state: PyTree, over: Bool[Array, ""]) -> tuple[PyTree, PerSeat[PyTree]]:
        return self._begin(*self.game.reset_where(key, self.inner(state), over))

    def _begin(self, inner: PyTree, obs: PerSeat[PyTree]) -> tuple[PyTree, PerSeat[PyTree]]:
        if self.silent:
            return inner, obs
        seats = len(obs)
        shape = (seats, seats)
        empty = jnp.broadcast_to(self.message.empty, (*shape, *self.message.empty.shape))
        inbox = Inbox(
            jnp.repeat(empty[:, :, None], self.history, axis=2),
            jnp.full((*shape, self.history), -1, jnp.int32),
        )
        way = ((empty, jnp.zeros(shape, jnp.bool_)),) * self.delay
        acting = self.game.acting(inner) or (jnp.bool_(True),) * seats
        state = ChannelState(inner, inbox, way, jnp.stack(acting) & jnp.stack(self.game.present(inner)))
        return state, self._observe(state, obs)

    def inner(self, state: PyTree) -> PyTree:
        return state if self.silent else state.inner

    def step(self, key: Key, state: PyTree, actions: PerSeat[PyTree]) -> tuple[PyTree, TimeStep]:
        if self.silent:
            return self.game.step(key, state, actions)
        own, content, said, targets = self._split(actions)
        said &= state.speaks
        reaches = targets & said[:, None] & self._linked(state.inner)  # [sender, receiver]
        inner, step = self.game.step(key, state.inner, own)
        posted = self._deliver(jax.random.fold_in(key, CHANNEL_KEY), content, reaches.T)
        on_the_way = (*state.on_the_way, posted)
        arrived, arrives = on_the_way[0]
        acts = jnp.stack(step.acts) if step.acts else jnp.ones_like(said)
        after = ChannelState(
            inner,
            _put(state.inbox, arrived, arrives),
            on_the_way[1:],
            acts & jnp.stack(step.alive),
        )
        step = step._replace(obs=self._observe(after, step.obs))
        if self.price == 0:
            return after, step
        cost = self.price * reaches.any(axis=1).astype(jnp.float32)
        return after, step.shaped(tuple(reward - cost[i] for i, reward in enumerate(step.reward)))

    def _split(
        self, actions: PerSeat[PyTree]
    ) -> tuple[PerSeat[PyTree], PyTree, Bool[Array, " seat"], Bool[Array, "sender receiver"]]:
        """The game's own actions, what is said, by whom, and to whom it is said."""
        own, contents, said, targets = [], [], [], []
        seats = len(actions)
        for i, seat in enumerate(self.game.seats):
            action, parts = self._parts_of(seat, actions[i])
            if self.to == "addressed":
                *parts, place = parts
                targets.append(jax.nn.one_hot((i + 1 + place) % seats, seats, dtype=jnp.bool_))
            else:
                targets.append(jnp.arange(seats) != i)
            content, speaks = self.message.read(tuple(parts))
            own.append(action)
            contents.append(self.message.limit(content, self.bits))
            said.append(speaks)
        return tuple(own), jnp.stack(contents), jnp.stack(said), jnp.stack(targets)

    def _parts_of(self, seat: Seat, action: PyTree) -> tuple[PyTree, list[PyTree]]:
        if self.choices == "joint":
            count = self._game_choices(seat)
            rest, parts = action // count, []
            for part in self._said_parts():
                assert isinstance(part, Discrete)
                parts.append(rest % part.n)
                rest = rest // part.n
            return action % count, parts
        several = isinstance(seat.action, tuple)
        size = len(seat.action) if isinstance(seat.action, tuple) else 1
        return (action[:size] if several else action[0]), list(action[size:])

    def _linked(self, inner: PyTree) -> Bool[Array, "sender receiver"]:
        seats = len(self.game.seats)
        linked = np.ones((seats, seats), np.bool_)
        if self.links:
            linked[:] = False
            linked[tuple(np.array(self.links).T)] = True
        if self.ablation == "silence":
            linked[:] = False
        found = jnp.asarray(linked)
        if self.reach > 0:
            places = self.game.locate(inner)
            assert places is not None
            apart = jnp.square(places[:, None] - places[None, :]).sum(axis=-1)
            found &= apart <= self.reach**2
        return found

    def _places_known(self) -> bool:
        found = jax.eval_shape(lambda key: self.game.locate(self.game.reset(key)[0]), jax.random.key(0))
        return found is not None

    def _deliver(
        self, key: Key, content: PyTree, reaches: Bool[Array, "receiver sender"]
    ) -> tuple[PyTree, Bool[Array, "receiver sender"]]:
        """What every receiver gets of what every sender said, and whether it gets it at all."""
        seats = len(self.game.seats)
        loss_key, noise_key = jax.random.split(key)

        def on_its_way(own: Content, key: Key) -> Content:
            if self.ablation == "shuffle":
                return self.message.draw(key)
            return self.message.disturb(own, self.noise, key)

        keys = jax.random.split(noise_key, (seats, seats))  # [receiver, sender]
        got = jax.vmap(jax.vmap(on_its_way), in_axes=(None, 0))(content, keys)
        if self.loss > 0:
            reaches &= jax.random.uniform(loss_key, (seats, seats)) >= self.loss
        return got, reaches

    def _observe(self, state: ChannelState, obs: PerSeat[PyTree]) -> PerSeat[PyTree]:
        seats = len(obs)
        shown = jax.vmap(jax.vmap(jax.vmap(self.message.show)))(state.inbox.content)
        there = (state.inbox.age >= 0)[..., None]
        fresh = 1.0 / (1.0 + jnp.maximum(state.inbox.age, 0).astype(jnp.float32))[..., None]
        numbers = jnp.where(there, jnp.concatenate([shown, fresh], axis=-1), 0.0)
        found = []
        for i, seen in enumerate(obs):
            order = [(i + 1 + k) % seats for k in range(seats - 1)]
            heard = numbers[i][np.array(order)].ravel()
            if isinstance(self.game.seats[i].observation, Masked):
                found.append(((seen[0], heard), self._legal(seen[1], state.speaks[i])))
            else:
                found.append((seen, heard))
        return tuple(found)

    def _legal(self, legal: Bool[Array, " choices"], speaks: Bool[Array, ""]) -> Bool[Array, " joint"]:
        """The joint choices that are legal: all messages with a legal action, and one for who must wait."""
        messages = jnp.arange(self._message_choices())
        return (((messages == 0) | speaks)[:, None] & legal[None, :]).ravel()

    def cooperation(
        self, state: PyTree, actions: PerSeat[PyTree], next_state: PyTree
    ) -> PerSeat[Cooperation] | None:
        if not self.silent:
            actions = tuple(
                self._parts_of(seat, own)[0] for seat, own in zip(self.game.seats, actions, strict=True)
            )
        return self.game.cooperation(state, actions, next_state)

    def draw(self, state: PyTree) -> Drawing:
        """The game, and below it the last message that each seat heard from each."""
        inside = self.game.draw(self.inner(state))
        if self.silent:
            return inside
        names = [seat.name for seat in self.game.seats]
        colours = palette.series(len(names))
        age, content = np.asarray(state.inbox.age), np.asarray(state.inbox.content)
        rows = []
        for i in range(len(names)):
            cells: list[Cell] = []
            for j, colour in enumerate(colours):
                text = self.message.say(content[i, j, 0]) if age[i, j, 0] >= 0 else ""
                late = f" ({age[i, j, 0]} ago)" if age[i, j, 0] > 0 else ""
                cells.append(((text + late, colour),))
            rows.append(tuple(cells))
        said = tuple((((name, colour),)) for name, colour in zip(names, colours, strict=True))
        table = Table(tuple(rows), said, tuple(f"{name} heard" for name in names))
        return table if inside is None else Stack((as_scene(inside), table))


def _put(inbox: Inbox, content: PyTree, arrives: Bool[Array, "receiver sender"]) -> Inbox:
    """The inbox one step later: what arrives comes first, and the oldest message goes."""
    older = jnp.where(inbox.age >= 0, inbox.age + 1, -1)
    newest = jnp.zeros_like(older[:, :, :1])
    age = jnp.concatenate([newest, older[:, :, :-1]], axis=2)
    moved = jnp.concatenate([content[:, :, None], inbox.content[:, :, :-1]], axis=2)
    return Inbox(
        jnp.where(arrives[:, :, None, None], moved, inbox.content),
        jnp.where(arrives[:, :, None], age, older),
    )
