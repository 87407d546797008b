"""What the interaction was worth to me so far: forms of the sum of own past advantages."""

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import equinox as eqx
from jaxtyping import Array, Bool, Float

from comity.core.errors import require
from comity.core.registry import Registry, Row
from comity.core.tunable import Number
from comity.returns.advantages import running_sum
from comity.returns.alignment import Past as Form
from comity.returns.alignment import past_advantages, past_decay

PASTS = Registry(
    "form of the past",
    {
        "discounted": Row(
            "comity.agents.shaping.past:Discounted", "as the game discounts (equations 8 and 10)"
        ),
        "averaged": Row("comity.agents.shaping.past:Averaged", "the mean so far (equation 59)"),
        "separate": Row("comity.agents.shaping.past:Separate", "with a further discount of its own"),
    },
)


class Before(NamedTuple):
    """What an episode came to before the stream began: the sum of past advantages, and its steps."""

    total: Number = 0.0
    age: Number = 0.0


NOTHING = Before()


class Past(eqx.Module):
    """The sum of own past advantages along one stream; it never reaches across the end of an episode."""

    options: ClassVar[Registry] = PASTS
    form: ClassVar[Form]

    @abstractmethod
    def further_discount(self) -> Number:
        """A discount of past advantages beside the game's; 1: none."""

    def __call__(
        self,
        own: Float[Array, " time"],
        ended: Bool[Array, " time"],
        discount: Number,
        before: Before = NOTHING,
    ) -> Float[Array, " time"]:
        """What came before each step."""
        return past_advantages(own, ended, discount, self.form, self.further_discount(), *before)

    def total_after(
        self, own: Float[Array, " time"], ended: Bool[Array, " time"], discount: Number, before: Before
    ) -> Float[Array, ""]:
        """The sum after the last step: what the next stream starts with."""
        decay = past_decay(discount, self.form, self.further_discount())
        return running_sum(own, ended, decay, before.total)[0]


class Discounted(Past):
    r""":math:`\gamma\sum_{k<t}\gamma^{t-k}A_k` (equations 8 and 10 of the paper)."""

    form: ClassVar[Form] = "discounted"

    def further_discount(self) -> Number:
        return 1.0


class Averaged(Past):
    r""":math:`\frac{1}{1+t}\sum_{k<t}A_k` (equation 59), t counted from the start of the episode."""

    form: ClassVar[Form] = "averaged"

    def further_discount(self) -> Number:
        return 1.0


class Separate(Past):
    r""":math:`\gamma\sum_{k<t}(\gamma d)^{t-k}A_k`, as in the published runs of the Coin Game."""

    past_discount: float = 0.9  # d, the further discount of past advantages

    form: ClassVar[Form] = "separate"
    tunable: ClassVar[tuple[str, ...]] = ("past_discount",)

    def __check_init__(self) -> None:
        share = self.past_discount
        require(0.0 <= share <= 1.0, "past_discount", share, "between 0 and 1")

    def further_discount(self) -> Number:
        return self.past_discount
