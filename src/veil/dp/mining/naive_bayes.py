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
    """A naive Bayes classifier.

    `prior` (labels,) has the log shares of the labels, and `tables`, (labels, values) per feature,
    the log shares of each value among the rows of a label.
    """

    labels: Array
    prior: Floats
    tables: tuple[Floats, ...]
    cost: Guarantee
    seeded: bool = False

    def predict(self, X: object) -> Array:  # noqa: N803 - the letter of the literature
        """Return the most likely label of each row of codes (n, features)."""
        features = codes(X, [table.shape[1] for table in self.tables])
        scores = np.tile(self.prior, (len(features), 1))
        for table, column in zip(self.tables, features.T, strict=True):
            scores += table.T[column]
        labels: Array = self.labels[np.argmax(scores, axis=1)]
        return labels


def naive_bayes(
    X: object,  # noqa: N803 - the letter of the literature
    y: object,
    epsilon: float,
    sizes: Sequence[int],
    *,
    classes: Sequence[object] | None = None,
    rng: Randomness = None,
) -> NaiveBayes:
    r"""Train a naive Bayes classifier from noisy counts.

    It counts rows per label, and per label and value of each feature. A row counts once in each of
    these features + 1 tables, so all tables are one query of L1 sensitivity features + 1, answered
    by `geometric`: epsilon/(features + 1) per table. After the noise, negative counts become 0,
    and 1 is added to each.

    Proved: epsilon-DP, for codes, sizes and classes that are public.

    Parameters
    ----------
    X
        Codes (n, features): integers from 0. Use `veil.dp.bins` for other numbers.
    y
        The label of each row.
    epsilon
        Cost of the whole model.
    sizes
        Public number of values of each feature.
    classes
        All labels, which are public. By default the labels in the data are treated as public.
    rng
        None for fresh randomness from the operating system. A seed or a generator is for
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
    features = codes(X, values)
    places, labels, caveat = label_codes(y, len(features), classes)
    counts = tallies(features, places, values, len(labels))
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


def tallies(features: Ids, places: Ids, sizes: Sequence[int], labels: int) -> list[Ids]:
    """Return the counts per label, then per label and value of each feature, flattened.

    Adding or removing a row changes one number of each table by 1.
    """
    counts = [np.bincount(places, minlength=labels).astype(np.int64)]
    for size, column in zip(sizes, features.T, strict=True):
        cells = np.bincount(places * size + column, minlength=labels * size)
        counts.append(cells.astype(np.int64))
    return counts


def _sizes(sizes: Sequence[int]) -> list[int]:
    array = np.asarray(sizes)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not len(array):
        raise ParameterError("The 'sizes' argument must be one integer per feature.")
    for size in array:
        count("sizes", size)
    if int(array.sum()) > 2**24:
        raise InputError("The features have too many values in total. Use fewer bins.")
    return [int(size) for size in array]
