"""The tables of networks and of encoders: adding one is a file and a row here."""

from comity.core.registry import Registry, Row

NETWORKS = Registry(
    "network",
    {
        "tabular": Row("comity.nets.tabular:Tabular", "a table with a row for each observation"),
        "mlp": Row("comity.nets.mlp:MLP", "a multi-layer perceptron, without memory"),
        "gru": Row("comity.nets.gru:GRU", "a gated recurrent unit"),
        "lstm": Row("comity.nets.lstm:LSTM", "a long short-term memory"),
        "gtrxl": Row("comity.nets.gtrxl:GTrXL", "a gated transformer that looks back over some steps"),
    },
    group="comity.networks",
)

ENCODERS = Registry(
    "encoder",
    {
        "flat": Row("comity.nets.flat:Flat", "the last observations as one vector"),
        "convolutional": Row("comity.nets.convolutional:Convolutional", "3 x 3 convolutions over planes"),
    },
    group="comity.encoders",
)
