r"""Naive Bayes from noisy counts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.rng import Randomness, generator
from veil.core.types import Floats, Ids
from veil.dp.inputs import count, positive
from veil.dp.mechanism import Array
from veil.dp.mechanisms.laplace import Geometric
from veil.dp.mining.columns import codes, label_codes


@dataclass(frozen=True, eq=False)
class NaiveBayes:
    """A classifier: the share of each label, and of each value of a feature among its rows.

    `prior` (labels,) and `tables`, (labels, values) for each feature, are logarithms of shares.
    """

    labels: Array
    prior: Floats
    tables: tuple[Floats, ...]
    cost: Guarantee
    seeded: bool = False

    def predict(self, X: object) -> Array:  # noqa: N803 - the letter of the literature
        """Return the likeliest label of each row of codes (n, features)."""
        given = codes(X, [table.shape[1] for table in self.tables])
        scores = np.tile(self.prior, (len(given), 1))
        for table, column in zip(self.tables, given.T, strict=True):
            scores += table.T[column]
        found: Array = self.labels[np.argmax(scores, axis=1)]
        return found


def naive_bayes(
    X: object,  # noqa: N803 - the letter of the literature
    y: object,
    epsilon: float,
    sizes: Sequence[int],
    *,
    classes: Sequence[object] | None = None,
    rng: Randomness = None,
) -> NaiveBayes:
    r"""Learn a naive Bayes classifier from noisy counts.

    The rows of each label are counted, and for each feature those of each label and value. One row
    is counted once in each of these features + 1 tables, so that all of them together are one
    query of L1 sensitivity features + 1, which `geometric` answers: epsilon/(features + 1) for a
    table. Negative counts are cut to 0 and 1 is added to each, after the noise.

    Proved: epsilon-DP, for codes, sizes and classes that are public.

    Parameters
    ----------
    X
        Codes (n, features): whole numbers from 0. Numbers become codes by
        `veil.dp.mining.columns.bins`.
    y
        The label of each row.
    epsilon
        What the whole model costs.
    sizes
        How many values each feature may have, which is public.
    classes
        All labels, which are public. Without them those that occur are treated as public.
    rng
        None for fresh randomness of the operating system. A seed or a generator is for
        experiments: the model is marked as seeded and **not private**.

    References
    ----------
    Vaidya, Shafiq, Basu, Hong. Differentially Private Naive Bayes Classification. WI-IAT 2013.
    doi:10.1109/WI-IAT.2013.80

    Examples
    --------
    >>> model = naive_bayes([[0, 1], [1, 0], [0, 0]], [0, 1, 0], 1e6, sizes=[2, 2], rng=1)
    >>> model.predict([[0, 1], [1, 0]]).tolist()
    [0, 1]
    """
    epsilon = positive("epsilon", epsilon)
    values = _sizes(sizes)
    given = codes(X, values)
    places, labels, caveat = label_codes(y, len(given), classes)
    counts = tallies(given, places, values, len(labels))
    mechanism = Geometric(epsilon=float(epsilon), sensitivity=len(values) + 1)
    noisy = mechanism.draw(np.concatenate(counts), 1, generator(rng))[0]
    parts = np.split(np.maximum(noisy, 0) + 1, np.cumsum([len(part) for part in counts])[:-1])
    shares = [np.log(part.reshape(len(labels), -1)) for part in parts]
    tables = tuple(
        share - np.log(np.exp(share).sum(axis=1, keepdims=True)) for share in shares[1:]
    )
    cost = mechanism.guarantee
    return NaiveBayes(
        labels,
        np.log(parts[0] / parts[0].sum()),
        tables,
        cost.with_caveat(caveat) if caveat else cost,
        rng is not None,
    )


def tallies(given: Ids, places: Ids, sizes: Sequence[int], labels: int) -> list[Ids]:
    """Count rows by label, then by label and value of each feature, each table in one row.

    One row more, or less, changes one number of each table, by 1.
    """
    counts = [np.bincount(places, minlength=labels).astype(np.int64)]
    for size, column in zip(sizes, given.T, strict=True):
        cells = np.bincount(places * size + column, minlength=labels * size)
        counts.append(cells.astype(np.int64))
    return counts


def _sizes(sizes: Sequence[int]) -> list[int]:
    given = np.asarray(sizes)
    if given.ndim != 1 or given.dtype.kind not in "iu" or not len(given):
        raise ParameterError("The 'sizes' argument must be a whole number for each feature.")
    for size in given:
        count("sizes", size)
    if int(given.sum()) > 2**24:
        raise InputError("The features have too many values in all; put them into fewer bins.")
    return [int(size) for size in given]
