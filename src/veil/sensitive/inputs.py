"""Runs, judgements, labels and probabilities as they are given, checked."""

import math
from collections.abc import Collection, Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats
from veil.corpus.collection import Judgements
from veil.sensitive.measures import Judged, Pool, Prices


def probabilities_of(values: ArrayLike, n: int) -> Floats:
    """Return probabilities (n,); nan is one that is missing, and such a document is withheld."""
    try:
        p = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("Probabilities must be numbers in one row.") from None
    if p.shape != (n,):
        raise InputError(f"There must be one probability for each of {n:,} documents.")
    if ((p < 0) | (p > 1)).any():
        raise InputError("A probability must be a number from 0 to 1.")
    return p


Run = Mapping[str, Sequence[str]]
_MOST = 1_000  # deep enough for any list that somebody reads
_POOLS = ("collection", "judged")
_LABELS = frozenset((0, 1))
_HIGHEST = 50  # grade: its gain 2^grade - 1 is an exact number
_GRADES = frozenset(range(-_HIGHEST, _HIGHEST + 1))  # below 0 is not relevant, too


def prices_of(cost: float, penalty: float, pool: Pool, decay: float) -> Prices:
    """Check what sensitive documents cost."""
    for name, value in (("cost", cost), ("penalty", penalty)):
        if not (_is_number(value) and value >= 0):
            raise ParameterError(f"The '{name}' argument must be a finite number >= 0.")
    if not (_is_number(decay) and 0 <= decay <= 1):
        raise ParameterError("The 'decay' argument must be a number from 0 to 1.")
    if pool not in _POOLS:
        raise ParameterError("The 'pool' argument must be 'collection' or 'judged'.")
    return Prices(float(cost), float(penalty), pool, float(decay))


def check_k(k: int) -> int:
    """Return the depth of a list, which must be a whole number from 1 on."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= _MOST:
        raise ParameterError(f"The 'k' argument must be a whole number from 1 to {_MOST:,}.")
    return int(k)


def check_query(query: str) -> str:
    """Return a query, which must hold a letter or a digit: others match nothing."""
    if not isinstance(query, str) or not any(map(str.isalnum, query)):
        raise InputError("A query must hold a word; say what is looked for.")
    return query


def check_labels(labels: Mapping[str, int]) -> None:
    """Raise unless every label is 0 or 1."""
    if not _are(labels.values(), _LABELS):
        raise InputError("A label must be 0 or 1 for every document; repair the others.")


def _are(values: Collection[object], allowed: frozenset[int]) -> bool:
    """Whether all values are numbers, and among those that are allowed."""
    numbers = all(
        issubclass(kind, int | float | np.number | np.bool_) for kind in set(map(type, values))
    )
    return numbers and set(values) <= allowed


def read_lists(run: Run, qrels: Judgements, labels: Mapping[str, int], k: int) -> Judged:
    """Put the first `k` documents of each judged query into arrays.

    A query without a list has an empty one. A document without a label, or twice in a list, is an
    error: nothing may count as harmless because nobody has said what it is.
    """
    k = check_k(k)
    check_labels(labels)
    if not all(_are(judged.values(), _GRADES) for judged in qrels.values()):
        raise InputError(
            f"A grade must be a whole number of at most {_HIGHEST}; repair the judgements."
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
            known = [labels[name] for name in shown]
            sensitive[row, : len(known)] = known[:k]
            grades[row, : len(known)] = [max(0, judged.get(name, 0)) for name in shown[:k]]
            among = sum(map(labels.__getitem__, judged))
            sizes[row] = among, len(judged) - among
            positive = {name: grade for name, grade in judged.items() if grade > 0}
            relevant.append(positive)
            hot.append(_grades(positive, labels, 1))
            cold.append(_grades(positive, labels, 0))
    except KeyError:
        raise InputError(
            "A document of the run or of the judgements has no label; give 0 or 1 for the whole"
            " collection."
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
    """Return the grades of the documents of one kind, best first."""
    return sorted(
        (grade for name, grade in relevant.items() if labels[name] == kind), reverse=True
    )


def _list(shown: Sequence[str]) -> Sequence[str]:
    names = None if isinstance(shown, str) or not hasattr(shown, "__len__") else list(shown)
    if names is None or not all(isinstance(name, Hashable) for name in names):
        raise InputError("The answers to a query are a list of names of documents.")
    if len(set(names)) != len(names):
        raise InputError("A list of the run names a document twice; each may stand in it once.")
    return names


def _is_number(value: object) -> bool:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return number and math.isfinite(value)  # type: ignore[arg-type]
