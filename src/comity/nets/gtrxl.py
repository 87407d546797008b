"""GTrXL: a gated transformer that looks back over some steps (Parisotto et al., 2020, arXiv:1910.06764)."""

from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import require
from comity.nets.gated_transformer import GatedTransformer
from comity.nets.layered import DEEPEST, WIDEST
from comity.nets.recurrent import RecurrentNetwork


class GTrXL(RecurrentNetwork):
    """Blocks of gated attention over a window of earlier steps, between dense layers."""

    blocks: int = 1  # blocks of attention
    heads: int = 4  # heads of each block
    context: int = 32  # how many earlier steps are looked back at

    def __check_init__(self) -> None:
        for name, most in (("blocks", DEEPEST), ("heads", WIDEST), ("context", WIDEST)):
            count = getattr(self, name)
            require(1 <= count <= most, f"network.{name}", count, f"between 1 and {most:,}")
        fits = self.width % self.heads == 0
        require(fits, "network.heads", self.heads, f"a divisor of network.width, which is {self.width}")

    def core(self, inputs: int, key: Key) -> GatedTransformer:
        sizes = self.width, self.blocks, self.heads, self.context
        return GatedTransformer(inputs, *sizes, key, self.precision)
