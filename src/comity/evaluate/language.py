r"""Whether messages mean something, and what: measures of emergent language, from what was said and done.

Arrays of whole numbers: meanings [sample, attribute], messages [sample, symbol]. Information is in bits.

- Mutual information: I(X; Y) = H(X) + H(Y) - H(X, Y), of whole meanings and whole messages.
- Positional disentanglement: the mean over places j of (I(a1; s_j) - I(a2; s_j)) / H(s_j), with a1 and a2 the
  attributes of which the symbol at place j says most (Chaabouni et al., 2020, arXiv:2004.09124).
- Bag-of-symbols disentanglement: the same for how often each symbol occurs, whatever its place.
- Topographic similarity: Spearman's correlation of distances between meanings (Hamming) and between messages
  (Levenshtein) (Brighton and Kirby, 2006).
- Speaker consistency: I(message; own action) / H(message).
- Instantaneous coordination: I(message of one; action of the other), in the same step or the next (Jaques et
  al., 2019; Lowe et al., 2019, arXiv:1903.05168).
- Causal influence: what other messages would have made a listener do, the mean over messages m of
  KL(pi(. | m) || mean over m' of pi(. | m')); 0 if the listener does not listen.

Entropies of samples are too small by about (values - 1) / (2 ln 2 samples) each, so that information between
independent things is above 0 in small samples: `shuffled` says how much.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

from comity.core.errors import ComityError, require

Rows = Int[np.ndarray, "_ _"]  # [sample, part]
MOST_PAIRS = 2_000_000  # whose distances are compared


def entropy(values: Rows) -> float:
    """H(X) in bits, of the shares of each different row."""
    _, counts = np.unique(_rows(values, "values"), axis=0, return_counts=True)
    shares = counts / counts.sum()
    return float(-(shares * np.log2(shares)).sum()) + 0.0


def mutual_information(first: Rows, second: Rows) -> float:
    """I(X; Y) in bits."""
    a, b = _pair(first, second)
    return max(0.0, entropy(a) + entropy(b) - entropy(np.concatenate([a, b], axis=1)))


def shuffled(
    measure: Callable[[Rows, Rows], float], first: Rows, second: Rows, samples: int = 20, seed: int = 0
) -> float:
    """The mean of a measure where who said what is drawn by lot: what it shows of nothing at all."""
    require(samples >= 1, "samples", samples, "at least 1")
    a, b = _pair(first, second)
    rng = np.random.default_rng(seed)
    return float(np.mean([measure(a, b[rng.permutation(len(b))]) for _ in range(samples)]))


def positional_disentanglement(meanings: Rows, messages: Rows) -> float:
    """Whether each place of a message speaks of one attribute; places that never change are left out."""
    a, b = _pair(meanings, messages)
    return _disentanglement(a, b)


def bag_of_symbols_disentanglement(meanings: Rows, messages: Rows, vocabulary: int | None = None) -> float:
    """Whether each symbol, wherever it stands, speaks of one attribute."""
    a, b = _pair(meanings, messages)
    count = int(b.max(initial=0)) + 1 if vocabulary is None else vocabulary
    require(
        int(b.max(initial=0)) < count, "vocabulary", count, f"above the largest symbol, {b.max(initial=0)}"
    )
    return _disentanglement(a, (b[:, :, None] == np.arange(count)).sum(axis=1))


def _disentanglement(meanings: Rows, parts: Rows) -> float:
    gaps = []
    for j in range(parts.shape[1]):
        own = parts[:, j : j + 1]
        spread = entropy(own)
        if spread == 0:
            continue
        said = sorted(mutual_information(meanings[:, i : i + 1], own) for i in range(meanings.shape[1]))
        second = said[-2] if len(said) > 1 else 0.0
        gaps.append((said[-1] - second) / spread)
    return float(np.mean(gaps)) if gaps else 0.0


def topographic_similarity(meanings: Rows, messages: Rows, end: int | None = None) -> float:
    """Whether like meanings have like messages; 0 where all are alike. Nothing after the symbol `end` counts.

    Give every meaning once: of many samples, a part is enough, since all pairs are compared.
    """
    a, b = _pair(meanings, messages)
    count = len(a)
    if count * (count - 1) // 2 > MOST_PAIRS:
        raise ComityError(
            f"{count:,} samples make {count * (count - 1) // 2:,} pairs, more than {MOST_PAIRS:,}: some of "
            f"them, or each meaning once, would work."
        )
    require(count >= 3, "samples", count, "at least 3")
    words = [_until(row, end) for row in b]
    first, second = np.triu_indices(count, 1)
    far = (a[first] != a[second]).sum(axis=1)
    apart = np.array([edit_distance(words[i], words[j]) for i, j in zip(first, second, strict=True)])
    if np.ptp(far) == 0 or np.ptp(apart) == 0:
        return 0.0
    return float(stats.spearmanr(far, apart).statistic)


def edit_distance(first: tuple[int, ...], second: tuple[int, ...]) -> int:
    """Levenshtein's: the fewest symbols to put in, take out or exchange."""
    row = list(range(len(second) + 1))
    for i, symbol in enumerate(first, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(second, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (symbol != other))
    return row[-1]


def _until(message: np.ndarray, end: int | None) -> tuple[int, ...]:
    symbols = tuple(message.tolist())
    return symbols[: symbols.index(end)] if end in symbols else symbols


def speaker_consistency(messages: Rows, actions: Rows) -> float:
    """What a speaker's messages say of its own actions, as a share of what they could: 0 to 1."""
    spread = entropy(messages)
    return mutual_information(messages, actions) / spread if spread > 0 else 0.0


def instantaneous_coordination(messages: Rows, actions: Rows) -> float:
    """Bits that one seat's messages share with what another does."""
    return mutual_information(messages, actions)


def causal_influence(
    probabilities: Float[np.ndarray, "sample message action"],
    said: Float[np.ndarray, "sample message"] | None = None,
) -> float:
    """Bits by which messages move a listener: entry [s, m] is how it would act in situation s had it heard m.

    `said` is how likely each message was; evenly by default. Interventions, not correlations: a listener that
    acts by what it sees itself has 0, however well that fits what is said.
    """
    table = np.asarray(probabilities, dtype=np.float64)
    fits = table.ndim == 3 and table.size > 0 and bool(np.allclose(table.sum(axis=2), 1.0, atol=1e-4))
    require(fits, "probabilities", table.shape, "[sample, message, action], each row summing to 1")
    weights = np.full(table.shape[:2], 1.0 / table.shape[1]) if said is None else np.asarray(said)
    require(weights.shape == table.shape[:2], "said", weights.shape, f"of the shape {table.shape[:2]}")
    mean = (weights[:, :, None] * table).sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        surprise = np.where(table > 0, table * np.log2(table / mean), 0.0).sum(axis=2)
    return float((weights * surprise).sum(axis=1).mean())


def reward_per_bit(reward: float, silent_reward: float, bits: float) -> float:
    """What a bit is worth: what is earned more than in silence, by the bits that were said."""
    require(bits > 0, "bits", bits, "above 0")
    return (reward - silent_reward) / bits


def dictionary(meanings: Rows, messages: Rows) -> dict[tuple[int, ...], dict[tuple[int, ...], float]]:
    """For each meaning the messages that stood for it, and how often, the most frequent first."""
    a, b = _pair(meanings, messages)
    found: dict[tuple[int, ...], dict[tuple[int, ...], float]] = {}
    for meaning in np.unique(a, axis=0):
        words, counts = np.unique(b[(a == meaning).all(axis=1)], axis=0, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        shares = {tuple(words[i].tolist()): float(counts[i] / counts.sum()) for i in order}
        found[tuple(meaning.tolist())] = shares
    return found


def _rows(values: Rows, name: str) -> Rows:
    table = np.asarray(values)
    fits = table.ndim == 2 and table.size > 0 and np.issubdtype(table.dtype, np.integer)
    require(fits, name, f"{table.dtype} of the shape {table.shape}", "whole numbers [sample, part]")
    return table


def _pair(first: Rows, second: Rows) -> tuple[Rows, Rows]:
    a, b = _rows(first, "the first table"), _rows(second, "the second table")
    require(len(a) == len(b), "samples", (len(a), len(b)), "as many in both tables")
    return a, b
