"""Environments that live on the host as games like any other: each batched step is one call out of JAX.

A game's state is only a handle: the number of its batch, and a tick that makes one call wait for the other.
So a third-party environment cannot be saved in the middle of an episode; training begins new episodes
at every chunk of iterations instead, from seeds that follow from the run's, and a run that was interrupted
ends like one that was not, if the environment does the same for the same seed.
"""

import contextlib
import json
import logging
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jax.experimental import io_callback
from jaxtyping import Array, Bool, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.bridges.codecs import Choice, Codec, Numbers, Parts, WithMask
from comity.bridges.pool import Pool, pool
from comity.bridges.slices import Arrays
from comity.bridges.sources import Source
from comity.core.errors import ComityError, require
from comity.core.game import Environment, PerSeat, Seat, TimeStep
from comity.core.scene import Drawing
from comity.core.spaces import Box, Discrete, Masked, Space


class HostState(NamedTuple):
    """A game under way on the host: its batch, how many calls it has seen, who is in it and who acts next."""

    batch_id: Int[Array, ""]
    tick: Int[Array, ""]
    alive: PerSeat[Bool[Array, ""]]
    acts: PerSeat[Bool[Array, ""]]  # empty where everybody always does


class HostGame(Environment):
    """An environment on the host; subclasses say where it comes from."""

    kind: ClassVar[str]

    source: str = ""  # which environment
    arguments: tuple[str, ...] = ()  # keyword arguments for making it, as name=value with values in JSON
    workers: int | None = None  # processes that step the environments; by default one per core, 0: this one
    length: int | None = None  # steps in an episode, if it is known: the default length of a rollout
    alike: bool = True  # whether seats that see and do the same may share one policy

    def __check_init__(self) -> None:
        require(bool(self.source), "source", self.source, "the name of an environment")
        require(self.workers is None or self.workers >= 0, "workers", self.workers, "at least 0")
        require(self.length is None or self.length >= 1, "length", self.length, "at least 1")
        for argument in self.arguments:
            name, _, value = argument.partition("=")
            require(name.isidentifier() and bool(value), "arguments", argument, "name=value, such as N=3")

    @property
    def horizon(self) -> int | None:
        return self.length

    @property
    def resumable(self) -> bool:
        return False

    @property
    def family(self) -> str:
        return f"{self.kind}:{self.source}"

    @property
    def seats(self) -> PerSeat[Seat]:
        return tuple(Seat(seat.name, space(seat.sees), space(seat.does)) for seat in self.pool.seats)

    @property
    def symmetric(self) -> bool:
        return self.alike and len({(seat.observation, seat.action) for seat in self.seats}) == 1

    @property
    def pool(self) -> Pool:
        """The environments of this process."""
        workers = (os.cpu_count() or 1) if self.workers is None else self.workers
        return pool(Source(self.kind, self.source, _as_json(self.arguments)), workers)

    def reset(self, key: Key) -> tuple[HostState, PerSeat[PyTree]]:
        reply = self._call(self._host_reset, _seed(key))
        return self._state(reply), self._seen(reply.obs)

    def reset_where(
        self, key: Key, state: HostState, over: Bool[Array, ""]
    ) -> tuple[HostState, PerSeat[PyTree]]:
        reply = self._call(self._host_reset_where, _seed(key), state.batch_id, state.tick, over)
        return self._state(reply), self._seen(reply.obs)

    def present(self, state: HostState) -> PerSeat[Bool[Array, ""]]:
        return state.alive

    def acting(self, state: HostState) -> PerSeat[Bool[Array, ""]]:
        return state.acts

    def step(self, key: Key, state: HostState, actions: PerSeat[PyTree]) -> tuple[HostState, TimeStep]:
        flat = [jax.tree.leaves(action) for action in actions]
        reply = self._call(self._host_step, state.batch_id, state.tick, flat)
        after = self._state(reply)
        reward = self._by_seat(reply.reward)
        return after, TimeStep(
            self._seen(reply.obs), reward, reply.terminated, reply.truncated, after.alive, after.acts
        )

    def view(self, state: HostState) -> PyTree:
        return ()  # the state is a handle: there is nothing to see in it

    def draw(self, state: HostState) -> Drawing:
        """What the environment draws of itself, where it can, as long as it is alone in its batch."""
        return self.pool.render(int(state.batch_id), int(state.tick))

    def _state(self, reply: "HostReply") -> HostState:
        acts = self._by_seat(reply.acts) if self.pool.turns else ()
        return HostState(reply.batch_id, reply.tick, self._by_seat(reply.alive), acts)

    def _by_seat(self, row: Array) -> PerSeat[Array]:
        return tuple(row[i] for i in range(len(self.pool.seats)))

    def _seen(self, leaves: list[list[Array]]) -> PerSeat[PyTree]:
        return tuple(seat.sees.nest(own) for seat, own in zip(self.pool.seats, leaves, strict=True))

    # ---- Calls out of JAX --------------------------------------------------------------------------------

    def _call(self, function: Callable[..., "HostReply"], *arguments: PyTree) -> "HostReply":
        """A function of the host on a batch of arguments: one call for all, however it is mapped."""
        shapes = self._shapes()

        def call(batch: int, *arguments: PyTree) -> HostReply:
            like = jax.tree.map(lambda x: jax.ShapeDtypeStruct((batch, *x.shape), x.dtype), shapes)
            reply: HostReply = io_callback(partial(_guarded, function), like, *arguments)
            return reply

        @custom_vmap
        def one(*arguments: PyTree) -> HostReply:
            reply = call(1, *jax.tree.map(lambda x: x[None], arguments))
            return jax.tree.map(lambda x: x[0], reply)

        @one.def_vmap
        def many(size: int, mapped: Any, *arguments: PyTree) -> tuple[HostReply, Any]:
            whole = jax.tree.map(
                lambda x, is_mapped: x if is_mapped else jnp.broadcast_to(x, (size, *x.shape)),
                arguments,
                tuple(mapped),
            )
            reply = call(size, *whole)
            return reply, jax.tree.map(lambda _: True, reply)

        return one(*arguments)

    def _shapes(self) -> "HostReply":
        shape: Any = jax.ShapeDtypeStruct
        seats = self.pool.seats
        obs = [[shape(leaf.shape, np.dtype(leaf.kind)) for leaf in seat.sees.leaves] for seat in seats]
        number, flag, count = shape((), np.dtype("int32")), shape((), np.dtype("bool")), len(seats)
        return HostReply(
            number, number, obs, shape((count,), np.dtype("float32")), flag, flag,
            shape((count,), np.dtype("bool")), shape((count,), np.dtype("bool")),
        )  # fmt: skip

    def _host_reset(self, seed: np.ndarray) -> "HostReply":
        batch_id = int(seed[0])
        return _reply(batch_id, 0, self.pool.reset(batch_id, seed))

    def _host_reset_where(
        self, seed: np.ndarray, batch_id: np.ndarray, tick: np.ndarray, over: np.ndarray
    ) -> "HostReply":
        number, now = int(batch_id[0]), int(tick.max()) + 1
        return _reply(number, now, self.pool.reset_where(number, seed, over, now))

    def _host_step(
        self, batch_id: np.ndarray, tick: np.ndarray, actions: list[list[np.ndarray]]
    ) -> "HostReply":
        number, now = int(batch_id[0]), int(tick.max())
        return _reply(number, now + 1, self.pool.step(number, actions, now))


class HostReply(NamedTuple):
    """What comes back from the host, leaves [batch, ...]."""

    batch_id: Any
    tick: Any
    obs: list[list[Any]]
    reward: Any
    terminated: Any
    truncated: Any
    alive: Any
    acts: Any


class PettingZooGame(HostGame):
    """Any PettingZoo environment: `source` is its module, such as mpe2.simple_spread_v3.

    Environments without a `parallel_env` (AEC) are played turn by turn.
    """

    kind: ClassVar[str] = "pettingzoo"


class GymnasiumGame(HostGame):
    """Any Gymnasium environment, a game with one seat: `source` is its name, such as CartPole-v1."""

    kind: ClassVar[str] = "gymnasium"


class MeltingPotGame(HostGame):
    """Any substrate of Melting Pot: `source` is its name, such as commons_harvest__open."""

    kind: ClassVar[str] = "meltingpot"


class PythonGame(HostGame):
    """An environment of one's own: `source` is an import path, such as my_package.my_module:make_env."""

    kind: ClassVar[str] = "python"


def space(codec: Codec) -> Space:
    """Comity's space for a codec."""
    match codec:
        case Choice():
            return Discrete(codec.n)
        case Numbers():
            return Box(codec.shape, codec.low, codec.high)
        case WithMask():
            return Masked(space(codec.seen), codec.choices)
        case Parts():
            return tuple(space(part) for part in codec.parts)
    raise TypeError(type(codec).__name__)


_LAST_ERROR: list[ComityError] = []
logging.getLogger("jax._src.callback").setLevel(logging.CRITICAL)  # errors are raised again below, once


@contextlib.contextmanager
def reraise_host_errors() -> Iterator[None]:
    """What goes wrong on the host in here is raised as it is, not as an error of JAX's runtime."""
    _LAST_ERROR.clear()
    try:
        yield
    except jax.errors.JaxRuntimeError:
        if not _LAST_ERROR:
            raise
        raise _LAST_ERROR.pop() from None


def _guarded(function: Callable[..., HostReply], *arguments: PyTree) -> HostReply:
    try:
        return function(*jax.tree.map(np.asarray, arguments))
    except ComityError as error:
        _LAST_ERROR[:] = [error]
        raise


def _reply(batch_id: int, tick: int, arrays: Arrays) -> HostReply:
    """Copies: the arrays change with the next step."""
    batch = len(arrays.seed)
    obs = [[leaf.copy() for leaf in leaves] for leaves in arrays.obs]
    numbers = np.full(batch, batch_id, np.int32), np.full(batch, tick, np.int32)
    flags = (arrays.reward, arrays.terminated, arrays.truncated, arrays.alive, arrays.acts)
    return HostReply(*numbers, obs, *(x.copy() for x in flags))


def _seed(key: Key) -> Int[Array, ""]:
    """A number for seeding an environment, from 0 to 2^31 - 1."""
    return jax.random.randint(key, (), 0, 2**31 - 1)


def _as_json(arguments: tuple[str, ...]) -> str:
    values = {}
    for argument in arguments:
        name, _, value = argument.partition("=")
        try:
            values[name] = json.loads(value)
        except ValueError:
            values[name] = value
    return json.dumps(values, sort_keys=True)
