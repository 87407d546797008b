"""A gated recurrent unit between dense layers (Cho et al., 2014, arXiv:1406.1078)."""

from jaxtyping import PRNGKeyArray as Key

from comity.nets.gru_cell import GRUCell
from comity.nets.recurrent import RecurrentNetwork


class GRU(RecurrentNetwork):
    """A gated recurrent unit between dense layers (Cho et al., 2014, arXiv:1406.1078)."""

    def core(self, inputs: int, key: Key) -> GRUCell:
        return GRUCell(inputs, self.width, key, self.precision)
