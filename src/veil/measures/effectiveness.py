"""How well a search answers, query by query, as ir_measures computes it.

A query with an empty list counts 0. A query of which no relevant document is known cannot be
judged: its values are nan, and it is left out of every mean.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from veil.core.errors import InputError, MissingExtraError
from veil.core.types import Floats
from veil.corpus.collection import Judgements


def effectiveness(
    judgements: Judgements, names: Sequence[str], lists: Sequence[Sequence[str]]
) -> dict[str, Floats]:
    """Return ``nDCG@10`` and ``recall@100``, each (n,), of one list of documents per query.

    `names` are the queries that the lists answer, in order; a list is best first.
    """
    measures = _library()
    named = {"nDCG@10": measures.nDCG @ 10, "recall@100": measures.R @ 100}
    return _calculate(measures, named, judgements, names, lists)


def ndcg(
    judgements: Judgements, names: Sequence[str], lists: Sequence[Sequence[str]], k: int
) -> Floats:
    """Return nDCG@k (n,) of one list of documents per query, best first."""
    measures = _library()
    return _calculate(measures, {"nDCG": measures.nDCG @ k}, judgements, names, lists)["nDCG"]


def pooled_recall(
    judgements: Judgements, names: Sequence[str], pools: Sequence[Collection[str]]
) -> Floats:
    """Return the share (n,) of the relevant documents that are anywhere in the pool of a query."""
    measures = _library()
    depth = max((len(pool) for pool in pools), default=0)
    named = {"recall": measures.R @ max(1, depth)}
    lists = [sorted(pool) for pool in pools]  # the order is of no account, and repeatable
    return _calculate(measures, named, judgements, names, lists)["recall"]


def _library() -> Any:  # noqa: ANN401 - ir_measures has no types
    try:
        import ir_measures
    except ImportError:
        raise MissingExtraError(
            "Measuring needs ir_measures: pip install 'veil[measure]'."
        ) from None
    return ir_measures


def _calculate(
    measures: Any,  # noqa: ANN401
    named: Mapping[str, Any],
    judgements: Judgements,
    names: Sequence[str],
    lists: Sequence[Sequence[str]],
) -> dict[str, Floats]:
    _check(names, lists)
    judged = {
        name: dict(judgements[name])
        for name in names
        if any(grade > 0 for grade in judgements.get(name, {}).values())
    }
    out = {label: np.full(len(names), np.nan) for label in named}
    place = {name: i for i, name in enumerate(names)}
    for name in judged:
        for values in out.values():
            values[place[name]] = 0
    run = {
        name: {item: -float(rank) for rank, item in enumerate(found)}
        for name, found in zip(names, lists, strict=True)
        if found and name in judged
    }
    if run:
        label_of = {measure: label for label, measure in named.items()}
        for value in measures.iter_calc(list(named.values()), judged, run):
            out[label_of[value.measure]][place[value.query_id]] = value.value
    return out


def _check(names: Sequence[str], lists: Sequence[Sequence[str]]) -> None:
    if len(names) != len(lists):
        raise InputError(
            f"There are {len(names)} queries, but {len(lists)} lists of answers; give one each."
        )
    if len(set(names)) != len(names):
        raise InputError("Two queries have the same name; each needs one of its own.")
    for number, found in enumerate(lists):
        if isinstance(found, str):
            raise InputError("The answers to a query are a list of names of documents.")
        if len(set(found)) != len(found):
            raise InputError(f"List {number + 1} of {len(lists)} names a document twice.")
