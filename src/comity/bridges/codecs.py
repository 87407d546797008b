"""Values of Gymnasium spaces as plain arrays and back, checked on the way. No JAX: workers use it too.

A codec knows the arrays ("leaves") that a value of its space becomes, and how they nest: a choice is a whole
number from 0, numbers are float32, images have their colours first, dictionaries are tuples in the order of
their keys, and a dictionary with an `action_mask` beside the `observation` is a pair of both.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from comity.core.errors import ComityError

MASK, SEEN = "action_mask", "observation"
FARTHEST = 1e6  # bounds beyond this are no scale for numbers


class Leaf(NamedTuple):
    """One array of a value: its shape and its kind, "int32", "float32" or "bool"."""

    shape: tuple[int, ...]
    kind: str


class Codec(ABC):
    """A space's way from values to arrays and back."""

    @property
    @abstractmethod
    def leaves(self) -> tuple[Leaf, ...]:
        """The arrays of a value, in order."""

    @abstractmethod
    def write(self, value: Any, into: list[np.ndarray], path: str) -> None:
        """Puts a value into arrays of one slot; raises if it is not of the space. `path` names it."""

    @abstractmethod
    def read(self, leaves: list[np.ndarray]) -> Any:
        """The value that arrays of one slot stand for, as the environment wants it."""

    @abstractmethod
    def nest(self, leaves: list[Any]) -> Any:
        """Arrays, whatever their batch axes, in the structure that Comity's spaces have."""


class Choice(Codec):
    """One of n, which the environment may count from another number than 0."""

    def __init__(self, n: int, start: int = 0) -> None:
        self.n, self.start = n, start

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return (Leaf((), "int32"),)

    def write(self, value: Any, into: list[np.ndarray], path: str) -> None:
        index = np.asarray(value)
        if index.shape != () or not 0 <= int(index) - self.start < self.n:
            raise ComityError(f"{path} is {value!r}, but it should be a choice among {self.n}.")
        into[0][...] = int(index) - self.start

    def read(self, leaves: list[np.ndarray]) -> Any:
        return int(leaves[0]) + self.start

    def nest(self, leaves: list[Any]) -> Any:
        return leaves[0]


class Numbers(Codec):
    """An array of numbers.

    An image (bytes, colours last) is given with its colours first. `low` and `high` are the bounds that
    Comity sees; where the environment's own differ from number to number, they are -1 and 1, and values are
    scaled between both.
    """

    def __init__(
        self, shape: tuple[int, ...], low: np.ndarray, high: np.ndarray, kind: np.dtype[Any], acts: bool
    ) -> None:
        self.image = kind == np.uint8 and len(shape) == 3 and shape[2] in (1, 3, 4)
        self.own_shape, self.kind = shape, kind
        self.shape = (shape[2], *shape[:2]) if self.image else shape
        near = np.all(np.isfinite(low) & np.isfinite(high) & (np.abs(low) + np.abs(high) < FARTHEST))
        bounded = bool(near) and low.size > 0
        even = bounded and len(np.unique(low)) == 1 and len(np.unique(high)) == 1
        self.scaled = acts and bounded and not even
        self.own_low, self.own_high = low.astype(np.float32), high.astype(np.float32)
        if even:
            self.low, self.high = float(low.flat[0]), float(high.flat[0])
        else:
            self.low, self.high = (-1.0, 1.0) if self.scaled else (-math.inf, math.inf)

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return (Leaf(self.shape, "float32"),)

    def write(self, value: Any, into: list[np.ndarray], path: str) -> None:
        array = np.asarray(value)
        if array.shape != self.own_shape:
            raise ComityError(
                f"{path} has the shape {array.shape}, but its space says {self.own_shape}: one of both must "
                f"change."
            )
        into[0][...] = np.moveaxis(array, 2, 0) if self.image else array
        if not np.isfinite(into[0]).all():
            raise ComityError(f"{path} holds a number that is not finite.")

    def read(self, leaves: list[np.ndarray]) -> Any:
        array = np.moveaxis(leaves[0], 0, 2) if self.image else leaves[0]
        if self.scaled:
            array = self.own_low + (array + 1.0) / 2.0 * (self.own_high - self.own_low)
        return np.clip(array, self.own_low, self.own_high).astype(self.kind)

    def nest(self, leaves: list[Any]) -> Any:
        return leaves[0]


class Parts(Codec):
    """Several values together, by name or by place."""

    def __init__(self, parts: list[Codec], names: tuple[str, ...] = (), joined: bool = False) -> None:
        self.parts, self.names = parts, names
        self.joined = joined  # whether the environment has one array of all parts (MultiDiscrete)

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return tuple(leaf for part in self.parts for leaf in part.leaves)

    def write(self, value: Any, into: list[np.ndarray], path: str) -> None:
        if self.names and (not isinstance(value, dict) or set(value) != set(self.names)):
            raise ComityError(f"{path} should be a dictionary with {', '.join(self.names)}.")
        values = [value[name] for name in self.names] if self.names else list(value)
        if len(values) != len(self.parts):
            raise ComityError(f"{path} has {len(values)} parts, but its space has {len(self.parts)}.")
        labels = self.names or tuple(str(i) for i in range(len(values)))
        for part, item, own, label in zip(self.parts, values, self._cut(into), labels, strict=True):
            part.write(item, own, f"{path}[{label}]")

    def read(self, leaves: list[np.ndarray]) -> Any:
        values = [part.read(own) for part, own in zip(self.parts, self._cut(leaves), strict=True)]
        if self.joined:
            return np.asarray(values)
        return dict(zip(self.names, values, strict=True)) if self.names else tuple(values)

    def nest(self, leaves: list[Any]) -> Any:
        return tuple(part.nest(own) for part, own in zip(self.parts, self._cut(leaves), strict=True))

    def _cut(self, leaves: list[Any]) -> list[list[Any]]:
        cut, first = [], 0
        for part in self.parts:
            last = first + len(part.leaves)
            cut.append(leaves[first:last])
            first = last
        return cut


class WithMask(Codec):
    """What is seen, and which choices are legal."""

    def __init__(self, seen: Codec, choices: int) -> None:
        self.seen, self.choices = seen, choices

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return (*self.seen.leaves, Leaf((self.choices,), "bool"))

    def write(self, value: Any, into: list[np.ndarray], path: str) -> None:
        if not isinstance(value, dict) or not {MASK, SEEN} <= set(value):
            raise ComityError(f"{path} should be a dictionary with {SEEN} and {MASK}.")
        self.seen.write(value[SEEN], into[:-1], f"{path}[{SEEN}]")
        legal = np.asarray(value[MASK])
        if legal.shape != (self.choices,):
            raise ComityError(
                f"{path}[{MASK}] has the shape {legal.shape}, but there are {self.choices} choices."
            )
        # Who has no legal choice is out of the game or waits: any action will do.
        into[-1][...] = legal != 0 if legal.any() else True

    def read(self, leaves: list[np.ndarray]) -> Any:
        return {SEEN: self.seen.read(leaves[:-1]), MASK: leaves[-1].astype(np.int8)}

    def nest(self, leaves: list[Any]) -> Any:
        return self.seen.nest(leaves[:-1]), leaves[-1]


def codec(space: Any, path: str, acts: bool = False) -> Codec:
    """The codec of a Gymnasium space; `acts` for spaces of actions, `path` names the space in errors."""
    from gymnasium import spaces as gym

    if isinstance(space, gym.Discrete):
        return Choice(int(space.n), int(space.start))
    if isinstance(space, gym.MultiDiscrete) and space.nvec.ndim == 1:
        starts = np.broadcast_to(getattr(space, "start", 0), space.nvec.shape)
        pairs = zip(space.nvec, starts, strict=True)
        return Parts([Choice(int(n), int(start)) for n, start in pairs], joined=True)
    if isinstance(space, gym.MultiBinary):
        if not acts:
            return Numbers(space.shape, np.zeros(space.shape), np.ones(space.shape), space.dtype, False)
        if len(space.shape) == 1:
            return Parts([Choice(2)] * space.shape[0], joined=True)
    if isinstance(space, gym.Box) and (not acts or np.issubdtype(space.dtype, np.floating)):
        return Numbers(space.shape, space.low, space.high, space.dtype, acts)
    if isinstance(space, gym.Tuple):
        return Parts([codec(part, f"{path}[{i}]", acts) for i, part in enumerate(space.spaces)])
    if isinstance(space, gym.Dict):
        inside = dict(space.spaces)
        if not acts and {MASK, SEEN} <= set(inside):
            choices = math.prod(inside[MASK].shape or ())
            return WithMask(codec(inside[SEEN], f"{path}[{SEEN}]"), choices)
        names = tuple(sorted(inside))
        return Parts([codec(inside[name], f"{path}[{name}]", acts) for name in names], names)
    raise ComityError(
        f"{path} is a {type(space).__name__} space, which is not supported: there are Discrete, "
        f"MultiDiscrete, MultiBinary, Box, Tuple and Dict (actions: no Box of whole numbers)."
    )
