"""Effectiveness of a search per query, computed by ir_measures.

A query with an empty result list scores 0. A query without known relevant documents cannot be
judged: its values are nan, and every mean leaves it out.
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
    """Return ``nDCG@10`` and ``recall@100``, each (n,), for one list of documents per query.

    `names` are the ids of the queries, in the order of the lists. Each list is best first.
    """
    measures = _library()
    metrics = {"nDCG@10": measures.nDCG @ 10, "recall@100": measures.R @ 100}
    return _calculate(measures, metrics, judgements, names, lists)


def ndcg(
    judgements: Judgements, names: Sequence[str], lists: Sequence[Sequence[str]], k: int
) -> Floats:
    """Return nDCG@k (n,) for one list of documents per query, best first."""
    measures = _library()
    return _calculate(measures, {"nDCG": measures.nDCG @ k}, judgements, names, lists)["nDCG"]


def pooled_recall(
    judgements: Judgements, names: Sequence[str], pools: Sequence[Collection[str]]
) -> Floats:
    """Return the share (n,) of a query's relevant documents that are anywhere in its pool."""
    measures = _library()
    depth = max((len(pool) for pool in pools), default=0)
    metrics = {"recall": measures.R @ max(1, depth)}
    lists = [sorted(pool) for pool in pools]  # any order gives the same recall
    return _calculate(measures, metrics, judgements, names, lists)["recall"]


def _library() -> Any:  # noqa: ANN401 - ir_measures has no types
    try:
        import ir_measures
    except ImportError:
        raise MissingExtraError(
            "Search measures need ir_measures: pip install 'veil[measure]'."
        ) from None
    return ir_measures


def _calculate(
    measures: Any,  # noqa: ANN401
    metrics: Mapping[str, Any],
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
    out = {label: np.full(len(names), np.nan) for label in metrics}
    index = {name: i for i, name in enumerate(names)}
    for name in judged:
        for values in out.values():
            values[index[name]] = 0
    run = {
        name: {item: -float(rank) for rank, item in enumerate(items)}
        for name, items in zip(names, lists, strict=True)
        if items and name in judged
    }
    if run:
        label_of = {metric: label for label, metric in metrics.items()}
        for value in measures.iter_calc(list(metrics.values()), judged, run):
            out[label_of[value.measure]][index[value.query_id]] = value.value
    return out


def _check(names: Sequence[str], lists: Sequence[Sequence[str]]) -> None:
    if len(names) != len(lists):
        raise InputError(
            f"Each query needs one result list. Got {len(names)} queries and {len(lists)} lists."
        )
    if len(set(names)) != len(names):
        raise InputError("Query names must be distinct. Two queries have the same name.")
    for number, items in enumerate(lists):
        if isinstance(items, str):
            raise InputError("The results of a query must be a list of document names.")
        if len(set(items)) != len(items):
            raise InputError(f"List {number + 1} of {len(lists)} names a document twice.")
