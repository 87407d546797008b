"""Arrays that several processes share, and the environments of one part of a batch that fill them. No JAX."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from comity.bridges.adapters import Adapter, HostSeat
from comity.bridges.codecs import Leaf, WithMask
from comity.core.errors import ComityError


class Arrays(NamedTuple):
    """A batch of environments as arrays [batch, ...]: what goes in and what comes out."""

    seed: np.ndarray
    over: np.ndarray
    action: list[list[np.ndarray]]
    obs: list[list[np.ndarray]]
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    alive: np.ndarray
    acts: np.ndarray


def size_of(seats: tuple[HostSeat, ...], batch: int) -> int:
    """How many bytes the arrays of a batch take."""
    return sum(size for _, _, size in _places(_leaves(seats), batch))


def arrays_in(buffer: Any, seats: tuple[HostSeat, ...], batch: int) -> Arrays:
    """The arrays of a batch, in a buffer of the right size."""
    views = [
        np.frombuffer(buffer, leaf.kind, count=batch * _count(leaf), offset=offset).reshape(
            batch, *leaf.shape
        )
        for leaf, offset, _ in _places(_leaves(seats), batch)
    ]
    take = iter(views)
    seed, over, reward, terminated, truncated, alive, acts = (next(take) for _ in range(7))
    obs = [[next(take) for _ in seat.sees.leaves] for seat in seats]
    action = [[next(take) for _ in seat.does.leaves] for seat in seats]
    return Arrays(seed, over, action, obs, reward, terminated, truncated, alive, acts)


def _leaves(seats: tuple[HostSeat, ...]) -> list[Leaf]:
    count = len(seats)
    own = [Leaf((), "int64"), Leaf((), "bool"), Leaf((count,), "float32")]
    own += [Leaf((), "bool"), Leaf((), "bool"), Leaf((count,), "bool"), Leaf((count,), "bool")]
    seen = [leaf for seat in seats for leaf in seat.sees.leaves]
    return own + seen + [leaf for seat in seats for leaf in seat.does.leaves]


def _count(leaf: Leaf) -> int:
    return int(np.prod(leaf.shape, dtype=np.int64))


def _places(leaves: list[Leaf], batch: int) -> Iterator[tuple[Leaf, int, int]]:
    """Each array with its offset and size in bytes, padded to whole cache lines."""
    offset = 0
    for leaf in leaves:
        size = -(-batch * _count(leaf) * np.dtype(leaf.kind).itemsize // 64) * 64
        yield leaf, offset, size
        offset += size


class EnvSlice:
    """The environments of the slots from `first` up to `last` of a batch."""

    def __init__(
        self,
        make: Callable[[], Adapter],
        seats: tuple[HostSeat, ...],
        arrays: Arrays,
        first: int,
        last: int,
        name: str,
    ) -> None:
        self._arrays, self._slots, self._name = arrays, range(first, last), name
        self._adapters = {slot: make() for slot in self._slots}
        for adapter in self._adapters.values():
            _check_same_seats(seats, adapter.seats, name)

    def reset(self) -> None:
        """A new episode in every slot."""
        for slot in self._slots:
            self._reset(slot)

    def reset_where(self) -> None:
        """A new episode where the last one is over."""
        for slot in self._slots:
            if self._arrays.over[slot]:
                self._reset(slot)

    def step(self) -> None:
        """One step in every slot."""
        arrays = self._arrays
        for slot in self._slots:
            adapter = self._adapters[slot]
            actions = [
                seat.does.read(_at(leaves, slot))
                for seat, leaves in zip(adapter.seats, arrays.action, strict=True)
            ]
            outcome = adapter.step(actions)
            self._write(slot, outcome.obs)
            arrays.reward[slot] = outcome.reward
            arrays.terminated[slot], arrays.truncated[slot] = outcome.terminated, outcome.truncated
            arrays.alive[slot] = outcome.alive
            arrays.acts[slot] = adapter.acts()

    def render(self) -> np.ndarray | None:
        """What the first environment draws of itself."""
        return self._adapters[self._slots[0]].render()

    def close(self) -> None:
        for adapter in self._adapters.values():
            adapter.close()

    def _reset(self, slot: int) -> None:
        adapter = self._adapters[slot]
        obs = adapter.reset(int(self._arrays.seed[slot]))
        self._write(slot, obs)
        self._arrays.acts[slot] = adapter.acts()
        self._arrays.alive[slot] = [value is not None for value in obs]

    def _write(self, slot: int, obs: list[Any]) -> None:
        for seat, value, leaves in zip(self._adapters[slot].seats, obs, self._arrays.obs, strict=True):
            own = _at(leaves, slot)
            if value is not None:
                seat.sees.write(value, own, f"{self._name}: what {seat.name} sees")
            else:
                for leaf in own:
                    leaf[...] = leaf.dtype == np.bool_


def try_step(adapter: Adapter, name: str) -> None:
    """Plays the first step of an episode, by the first legal choices, and closes the environment."""
    arrays = arrays_in(bytearray(size_of(adapter.seats, 1)), adapter.seats, 1)
    alone = EnvSlice(lambda: adapter, adapter.seats, arrays, 0, 1, name)
    alone.reset()
    for seat, seen, chosen in zip(adapter.seats, arrays.obs, arrays.action, strict=True):
        if isinstance(seat.sees, WithMask):
            chosen[0][...] = int(seen[-1][0].argmax())
    alone.step()
    alone.close()


def _at(leaves: list[np.ndarray], slot: int) -> list[np.ndarray]:
    """The arrays of one slot, as parts of those of the batch even where they are single numbers."""
    return [leaf[slot : slot + 1].reshape(leaf.shape[1:]) for leaf in leaves]


def _check_same_seats(first: tuple[HostSeat, ...], second: tuple[HostSeat, ...], name: str) -> None:
    """Raises if two environments of one source do not have the same seats."""
    shapes = [
        [(seat.name, seat.sees.leaves, seat.does.leaves) for seat in seats] for seats in (first, second)
    ]
    if shapes[0] != shapes[1]:
        raise ComityError(
            f"{name} made environments with different seats or spaces: it must always make the same."
        )
