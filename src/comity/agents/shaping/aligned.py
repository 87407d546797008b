"""What Advantage Alignment and its proximal form share: the alignment term."""

import math
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from comity.agents.critics import Kind
from comity.agents.shaping.actor_critic import Other, ShapingActorCritic
from comity.core.errors import require
from comity.returns.alignment import CASES, Case, Past, alignment, past_advantages


class AlignedAgent(ShapingActorCritic):
    """A policy gradient learner whose advantage is aligned with those of the others."""

    critic: eqx.AbstractVar[Kind]
    critic_trace: eqx.AbstractVar[float]
    value_unit: eqx.AbstractVar[float]
    spread: eqx.AbstractVar[float]
    final_spread: eqx.AbstractVar[float]
    past: eqx.AbstractVar[Past]
    past_discount: eqx.AbstractVar[float]
    without: eqx.AbstractVar[tuple[Case, ...]]
    past_clip: eqx.AbstractVar[float]
    goodwill: eqx.AbstractVar[float]

    def __check_init__(self) -> None:
        for case in self.without:
            require(case in CASES, "without", case, f"one of {', '.join(CASES)}")
        for name in ("past_discount", "critic_trace", "final_spread"):
            share = getattr(self, name)
            require(0.0 <= share <= 1.0, name, share, "between 0 and 1")
        require(self.spread > 0, "spread", self.spread, "above 0")
        require(self.value_unit > 0, "value_unit", self.value_unit, "above 0")
        require(math.isfinite(self.goodwill), "goodwill", self.goodwill, "a finite number")
        if self.critic == "after-state":
            allowed = "own-view or learned with critic after-state"
            require(self.opponent_critic != "given", "opponent_critic", self.opponent_critic, allowed)

    @property
    def critic_kind(self) -> Kind:
        return self.critic

    @property
    def unit(self) -> float:
        return self.value_unit

    @property
    def target_trace(self) -> float:
        return self.critic_trace

    @property
    def spreads(self) -> tuple[float, float]:
        return self.spread, self.final_spread

    def pull(
        self, own: Float[Array, "time stream"], ended: Bool[Array, "time stream"], other: Other
    ) -> tuple[Float[Array, "time stream"], Float[Array, "time stream"]]:
        over_streams = partial(jax.vmap, in_axes=1, out_axes=1)
        so_far = over_streams(
            partial(past_advantages, discount=self.discount, form=self.past, past_discount=self.past_discount)
        )(own, ended)
        if self.past_clip > 0:
            so_far = jnp.clip(so_far, -self.past_clip, self.past_clip)
        so_far = so_far + self.goodwill
        term = over_streams(partial(alignment, without=self.without))(so_far, other.advantage)
        return so_far, term
