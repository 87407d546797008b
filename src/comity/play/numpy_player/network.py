"""Networks one step at a time: dense layers, convolutions, GRU, LSTM, and gated attention over a window."""

import math
from typing import Any

import numpy as np

from .spaces import Space

HIDDEN = -1e9  # the score of what may not be looked at
Array = np.ndarray


class Network:
    """From encoded observations to features, one step at a time; the memory is a list of arrays."""

    def __init__(self, about: dict[str, Any], observation: Space, arrays: dict[str, Array]) -> None:
        self.about = about
        self._own = {
            name.removeprefix("torso/"): x for name, x in arrays.items() if name.startswith("torso/")
        }
        self._rounds = about.get("precision") == "bfloat16"
        if self._rounds:
            self._own = {name: _rounded(x) if _is_factor(name) else x for name, x in self._own.items()}
        self._flat = about["flat"]  # the length of an encoded observation
        self._planes = tuple((observation.get("observation") or observation).get("shape", ()))
        self._core = {"gru": self._gru, "lstm": self._lstm, "gtrxl": self._gtrxl}.get(about.get("core") or "")
        if about.get("core") == "gtrxl":
            self._signal = _signal(about["width"], about["context"])

    def initial(self, count: int | None) -> list[Array]:
        """The memory at the start of an episode: earlier observations, the clock, what the core carries."""
        about, lead = self.about, () if count is None else (count,)
        if about["kind"] == "tabular":
            return []
        shapes: list[tuple[int, ...]] = [(self._flat,)] * about["earlier"] + [()] * about["clock"]
        if about["core"] == "gtrxl":
            window = (about["blocks"], about["context"], about["width"])
            shapes += [window, window, (about["context"],)]
        elif about["core"]:
            shapes += [(about["width"],)] * (2 if about["core"] == "lstm" else 1)
        return [np.zeros((*lead, *shape), np.float32) for shape in shapes]

    def step(self, memory: list[Array], x: Array) -> tuple[Array, list[Array]]:
        """The features of an observation, and the memory after it."""
        about = self.about
        if about["kind"] == "tabular":
            return x, memory
        if about["normalise"]:
            scale = 1 / np.sqrt(self._own["normaliser/variance"] + np.float32(1e-8))
            x = np.clip((x - self._own["normaliser/mean"]) * scale, -10, 10)
        seen = [x, *memory[: about["earlier"]]]
        kept, rest = seen[: about["earlier"]], memory[about["earlier"] :]
        x = self._encoded(seen)
        if about["clock"]:
            clock, *rest = rest
            x = np.concatenate([x, np.stack([np.log1p(clock) / 7, clock / 1000], axis=-1)], axis=-1)
            kept = [*kept, np.asarray(clock + np.float32(1))]
        x = self._dense("layers", about["layers"], x.astype(np.float32))
        if self._core is None:
            return x, kept
        y, carried = self._core(rest, x)
        if about["after"]:
            joined = np.concatenate([y, x], axis=-1) if about["skip"] else y
            y = self._dense("after", about["after"], joined)
        return y, [*kept, *carried]

    def _encoded(self, seen: list[Array]) -> Array:
        about = self.about
        if about["filters"]:
            x = seen[0].reshape((*seen[0].shape[:-1], *self._planes))
            for i in range(about["filters"]):
                x = np.maximum(self._convolution(f"convolutions/{i}", x), 0)
            return x.reshape((*x.shape[:-3], -1))
        parts = seen[: about["stack"]]
        if about["overlaps"]:
            now, before = (x.reshape((*x.shape[:-1], self._planes[0], -1)) for x in seen[:2])
            overlap = now @ np.swapaxes(before, -1, -2)
            parts = [*parts, overlap.reshape((*overlap.shape[:-2], -1))]
        return np.concatenate(parts, axis=-1)

    def _convolution(self, name: str, x: Array) -> Array:
        """A 3 x 3 convolution over planes [..., planes, height, width] with a border of zeros."""
        weight, step = self._own[f"{name}/weight"], self.about["step_size"]
        x = np.pad(_rounded(x) if self._rounds else x, [(0, 0)] * (x.ndim - 2) + [(1, 1), (1, 1)])
        windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(-2, -1))[
            ..., ::step, ::step, :, :
        ]
        rows = np.moveaxis(windows, -5, -3)  # [..., height, width, planes, 3, 3]
        y = rows.reshape((*rows.shape[:-3], -1)) @ weight.reshape(weight.shape[0], -1).T
        return np.moveaxis(y + self._own[f"{name}/bias"], -1, -3)

    def _dense(self, name: str, count: int, x: Array) -> Array:
        for i in range(count):
            x = np.maximum(self._linear(f"{name}/{i}", x), 0)
        return x

    def _linear(self, name: str, x: Array) -> Array:
        y = self._product(x, self._own[f"{name}/weight"])
        bias = self._own.get(f"{name}/bias")
        return y if bias is None else y + bias

    def _product(self, x: Array, weight: Array) -> Array:
        return (_rounded(x) if self._rounds else x) @ weight

    def _gru(self, memory: list[Array], x: Array) -> tuple[Array, list[Array]]:
        (h,) = memory
        size = h.shape[-1]
        projected, u = self._linear("memory/inputs", x), self._product(h, self._own["memory/hidden"])
        gates = _sigmoid(projected[..., : 2 * size] + u[..., : 2 * size])
        past = u[..., 2 * size :] + self._own["memory/candidate_bias"]
        candidate = np.tanh(projected[..., 2 * size :] + gates[..., :size] * past)
        h = candidate + gates[..., size:] * (h - candidate)
        return h, [h]

    def _lstm(self, memory: list[Array], x: Array) -> tuple[Array, list[Array]]:
        h, cell = memory
        u = self._product(h, self._own["memory/hidden"])
        enter, forget, leave, candidate = np.split(self._linear("memory/inputs", x) + u, 4, axis=-1)
        cell = _sigmoid(forget) * cell + _sigmoid(enter) * np.tanh(candidate)
        h = _sigmoid(leave) * np.tanh(cell)
        return h, [h, cell]

    def _gtrxl(self, memory: list[Array], x: Array) -> tuple[Array, list[Array]]:
        """Gated attention over the window of earlier steps, whose keys and values are kept."""
        old_keys, old_values, filled = memory
        x = self._linear("memory/enter", x)
        window = np.concatenate([filled, np.ones_like(filled[..., :1])], axis=-1)
        keys, values = [], []
        for i in range(self.about["blocks"]):
            name = f"memory/blocks/{i}"
            heads = self._own[f"{name}/content_bias"].shape
            query, key, value = np.split(
                self._linear(f"{name}/project", self._norm(f"{name}/norms/0", x)), 3, -1
            )
            key, value = (
                np.concatenate([old[..., i, :, :], new[..., None, :]], axis=-2)
                for old, new in ((old_keys, key), (old_values, value))
            )
            query = query.reshape((*query.shape[:-1], *heads))
            split = [part.reshape((*part.shape[:-1], *heads)) for part in (key, value)]
            distance = self._linear(f"{name}/position", self._signal).reshape((-1, *heads))
            content, position = (query + self._own[f"{name}/{kind}_bias"] for kind in ("content", "position"))
            score = np.einsum("...hd,...jhd->...hj", content, split[0])
            score = (score + np.einsum("...hd,jhd->...hj", position, distance)) / math.sqrt(heads[1])
            share = softmax(np.where(window[..., None, :] > 0, score, np.float32(HIDDEN)))
            seen = np.einsum("...hj,...jhd->...hd", share, split[1]).reshape(x.shape)
            x = self._gate(f"{name}/gates/0", x, np.maximum(self._linear(f"{name}/leave", seen), 0))
            hidden = np.maximum(self._linear(f"{name}/hidden/0", self._norm(f"{name}/norms/1", x)), 0)
            x = self._gate(f"{name}/gates/1", x, np.maximum(self._linear(f"{name}/hidden/1", hidden), 0))
            keys.append(key[..., 1:, :])
            values.append(value[..., 1:, :])
        return x, [np.stack(keys, axis=-3), np.stack(values, axis=-3), window[..., 1:]]

    def _norm(self, name: str, x: Array) -> Array:
        x = x - x.mean(axis=-1, keepdims=True)
        x = x / np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + np.float32(1e-5))
        return x * self._own[f"{name}/scale"] + self._own[f"{name}/shift"]

    def _gate(self, name: str, x: Array, y: Array) -> Array:
        width = x.shape[-1]
        fresh = self._linear(f"{name}/update", y)
        gates = _sigmoid(fresh[..., : 2 * width] + self._linear(f"{name}/past", x))
        reset, opened = gates[..., :width], gates[..., width:]
        candidate = np.tanh(fresh[..., 2 * width :] + self._linear(f"{name}/candidate", reset * x))
        return x + opened * (candidate - x)


def _signal(width: int, context: int) -> Array:
    """Waves of many lengths for the distances `context` to 0."""
    half = (width + 1) // 2
    rate = np.exp(-np.log(np.float32(10000)) * np.arange(half, dtype=np.float32) / half)
    angle = np.arange(context, -1, -1, dtype=np.float32)[:, None] * rate
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)[:, :width]


def _is_factor(name: str) -> bool:
    return name.endswith(("weight", "memory/hidden"))


def _rounded(x: Array) -> Array:
    """The nearest numbers with eight bits of precision, ties to even: bfloat16."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return (bits + 0x7FFF + (bits >> 16 & 1) & np.uint32(0xFFFF0000)).view(np.float32)


def _sigmoid(x: Array) -> Array:
    return np.float32(0.5) * (np.tanh(np.float32(0.5) * x) + np.float32(1))


def softmax(logits: Array) -> Array:
    """Probabilities from unnormalised log-probabilities."""
    likely = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return likely / likely.sum(axis=-1, keepdims=True)
