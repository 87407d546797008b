"""Scripted players of the signalling game: those who share a convention, and those who babble."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray as Key
from jaxtyping import PyTree

from comity.agents.scripted.base import Scripted
from comity.core import spaces
from comity.core.errors import ComityError
from comity.core.game import Seat
from comity.core.spaces import Discrete, Space


class Part(eqx.Module):
    """What a player knows of its seat: whether it speaks, and its choices."""

    speaks: bool = eqx.field(static=True)
    action: Space = eqx.field(static=True)


class _Signaller(Scripted):
    """What both share."""

    def check_seat(self, seat: Seat) -> None:
        if seat.role not in ("speaker", "listener"):
            raise ComityError(f"The seat {seat.name!r} is no speaker and no listener.")

    def read_seat(self, seat: Seat) -> Part:
        return Part(seat.role == "speaker", seat.action)


class Convention(_Signaller):
    """The first symbol names the first attribute's value, and so on, as far as both reach: a best protocol
    for one."""

    def rule(self, params: Part, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        parts = params.action if isinstance(params.action, tuple) else (params.action,)
        seen = obs if isinstance(obs, tuple) else (obs,)
        chosen = []
        for i, part in enumerate(parts):
            assert isinstance(part, Discrete)
            heard = seen[i] if i < len(seen) else jnp.int32(0)
            number = heard if params.speaks else heard - 1  # the listener sees 0 for nothing
            chosen.append(jnp.maximum(number, 0) % part.n)
        return (tuple(chosen) if isinstance(params.action, tuple) else chosen[0]), carry


class Babbler(_Signaller):
    """Says and guesses anything: messages without meaning."""

    def rule(self, params: Part, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        return jax.tree.map(lambda x: x.astype(jnp.int32), spaces.sample(params.action, key)), carry
