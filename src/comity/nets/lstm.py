"""A long short-term memory between dense layers (Hochreiter and Schmidhuber, 1997)."""

from jaxtyping import PRNGKeyArray as Key

from comity.nets.lstm_cell import LSTMCell
from comity.nets.recurrent import RecurrentNetwork


class LSTM(RecurrentNetwork):
    """A long short-term memory between dense layers (Hochreiter and Schmidhuber, 1997)."""

    def core(self, inputs: int, key: Key) -> LSTMCell:
        return LSTMCell(inputs, self.width, key, self.precision)
