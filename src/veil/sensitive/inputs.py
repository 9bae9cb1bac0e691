"""Validation of runs, judgements, labels and probabilities."""

import math
from collections.abc import Collection, Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats
from veil.corpus.collection import Judgements
from veil.sensitive.measures import Judged, Pool, Prices


def probabilities_of(values: ArrayLike, n: int) -> Floats:
    """Return probabilities (n,); documents with nan, a missing one, are withheld."""
    try:
        p = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("Probabilities must be a row of numbers.") from None
    if p.shape != (n,):
        raise InputError(f"There must be one probability for each of {n:,} documents.")
    if ((p < 0) | (p > 1)).any():
        raise InputError("A probability must be a number from 0 to 1.")
    return p


Run = Mapping[str, Sequence[str]]
_MOST = 1_000  # maximum depth of a list
_POOLS = ("collection", "judged")
_LABELS = frozenset((0, 1))
_HIGHEST = 50  # highest grade with an exact gain 2^grade - 1
_GRADES = frozenset(range(-_HIGHEST, _HIGHEST + 1))  # negative grades are not relevant


def prices_of(cost: float, penalty: float, pool: Pool, decay: float) -> Prices:
    """Return the prices of sensitive documents, or raise."""
    for name, value in (("cost", cost), ("penalty", penalty)):
        if not (_is_number(value) and value >= 0):
            raise ParameterError(f"The '{name}' argument must be a finite number >= 0.")
    if not (_is_number(decay) and 0 <= decay <= 1):
        raise ParameterError("The 'decay' argument must be a number from 0 to 1.")
    if pool not in _POOLS:
        raise ParameterError("The 'pool' argument must be 'collection' or 'judged'.")
    return Prices(float(cost), float(penalty), pool, float(decay))


def check_k(k: int) -> int:
    """Return the depth of a list, or raise unless it is an integer from 1 on."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= _MOST:
        raise ParameterError(f"The 'k' argument must be an integer from 1 to {_MOST:,}.")
    return int(k)


def check_query(query: str) -> str:
    """Return a query, or raise unless it contains a letter or a digit to match."""
    if not isinstance(query, str) or not any(map(str.isalnum, query)):
        raise InputError("A query must contain a letter or a digit. Add a word.")
    return query


def check_labels(labels: Mapping[str, int]) -> None:
    """Raise unless every label is 0 or 1."""
    if not _are(labels.values(), _LABELS):
        raise InputError("Each document must have label 0 or 1. Correct the others.")


def _are(values: Collection[object], allowed: frozenset[int]) -> bool:
    """Return whether all values are numbers and allowed."""
    numbers = all(
        issubclass(kind, int | float | np.number | np.bool_) for kind in set(map(type, values))
    )
    return numbers and set(values) <= allowed


def read_lists(run: Run, qrels: Judgements, labels: Mapping[str, int], k: int) -> Judged:
    """Return arrays of the first `k` documents of each judged query.

    A query without a list has an empty list. A document without a label, or twice in a list,
    raises: unlabelled documents must not count as harmless.
    """
    k = check_k(k)
    check_labels(labels)
    if not all(_are(judged.values(), _GRADES) for judged in qrels.values()):
        raise InputError(
            f"A grade must be an integer of at most {_HIGHEST}. Correct the judgements."
        )
    queries = tuple(qrels)
    lists = tuple(_list(run.get(query, ())) for query in queries)
    grades = np.zeros((len(queries), k))
    sensitive = np.zeros((len(queries), k), dtype=np.bool_)
    sizes = np.zeros((len(queries), 2), dtype=np.int64)
    hot, cold, relevant = [], [], []
    try:
        for row, (query, shown) in enumerate(zip(queries, lists, strict=True)):
            judged = qrels[query]
            flags = [labels[name] for name in shown]
            sensitive[row, : len(flags)] = flags[:k]
            grades[row, : len(flags)] = [max(0, judged.get(name, 0)) for name in shown[:k]]
            among = sum(map(labels.__getitem__, judged))
            sizes[row] = among, len(judged) - among
            positive = {name: grade for name, grade in judged.items() if grade > 0}
            relevant.append(positive)
            hot.append(_grades(positive, labels, 1))
            cold.append(_grades(positive, labels, 0))
    except KeyError:
        raise InputError(
            "Every document of the run and of the judgements must have a label. Label the whole"
            " collection with 0 or 1."
        ) from None
    among = sum(labels.values())
    return Judged(
        k=k,
        queries=queries,
        lists=lists,
        grades=grades,
        sensitive=sensitive,
        hot=tuple(hot),
        cold=tuple(cold),
        sizes=sizes,
        total=(among, len(labels) - among),
        relevant=tuple(relevant),
        labels=labels,
    )


def _grades(relevant: Mapping[str, int], labels: Mapping[str, int], kind: int) -> list[int]:
    """Return the sorted grades of the documents with label `kind`, best first."""
    return sorted(
        (grade for name, grade in relevant.items() if labels[name] == kind), reverse=True
    )


def _list(shown: Sequence[str]) -> Sequence[str]:
    names = None if isinstance(shown, str) or not hasattr(shown, "__len__") else list(shown)
    if names is None or not all(isinstance(name, Hashable) for name in names):
        raise InputError("The answers to a query must be a list of document ids.")
    if len(set(names)) != len(names):
        raise InputError("A list of the run must not repeat a document. Remove the repetition.")
    return names


def _is_number(value: object) -> bool:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return number and math.isfinite(value)  # type: ignore[arg-type]
