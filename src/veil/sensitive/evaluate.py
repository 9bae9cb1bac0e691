"""Measure lists: what they are worth, and what they expose."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from veil.core.errors import InputError
from veil.corpus.collection import Judgements
from veil.sensitive.measures import measure
from veil.sensitive.measures.judged import Judged, Pool, Prices
from veil.sensitive.measures.ncs_dcg import unclipped
from veil.sensitive.reading import Run, prices_of, read_lists
from veil.sensitive.scores import Scores

USUAL = ("nCS-DCG@10", "nDCG-visible@10", "SENS@10", "TERN@10", "CS-DCG@10")


def evaluate(
    run: Run,
    qrels: Judgements,
    labels: Mapping[str, int],
    measures: Sequence[str] | str = USUAL,
    cost: float = 12.0,
    penalty: float = 1.0,
    pool: Pool = "collection",
    decay: float = 1.0,
) -> Scores:
    """Return ``{measure: {query: value}}``, with the empty list beside (`Scores.empty`).

    >>> scores = evaluate({"q": []}, {"q": {"a": 2}}, {"a": 0, "b": 1}, ["nCS-DCG@5"])
    >>> scores["nCS-DCG@5"], scores.empty["nCS-DCG@5"]
    ({'q': 0.8}, {'q': 0.8})

    Parameters
    ----------
    run
        Ids of the documents shown for each query, best first; a judged query without a list
        counts as an empty one, a query without judgements is left out and counted.
    qrels, labels
        Grades per query and document; 0 or 1 for every document of the collection.
    measures
        ``CS-DCG``, ``nCS-DCG``, ``TERN``, ``SENS``, ``nDCG-visible``, each with ``@k``.
    cost, decay
        C of the first sensitive document shown; each further one costs `decay` times the one
        before.
    penalty
        M of TERN and SENS.
    pool
        Lists of which documents nCS-DCG is placed among: the whole "collection", or "judged".
    """
    prices = prices_of(cost, penalty, pool, decay)
    names = [measures] if isinstance(measures, str) else list(measures)
    chosen = {name: measure(name) for name in names}
    judged = {query: grades for query, grades in qrels.items() if grades}
    if not judged:
        raise InputError("There must be judgements of at least one query.")
    depths = {depth for _, _, depth in chosen.values()}
    lists = {depth: read_lists(run, judged, labels, depth) for depth in depths}
    nothing = {depth: emptied(own) for depth, own in lists.items()}
    values, empty = (
        {
            name: _by_query(among[depth], function(among[depth], prices))
            for name, (_, function, depth) in chosen.items()
        }
        for among in (lists, nothing)
    )
    counts = {"without judgements": sum(query not in judged for query in run)}
    for name, (known, _, depth) in chosen.items():
        if known == "nCS-DCG":
            counts |= _odd(lists[depth], prices)
        if known == "nDCG-visible":
            left = sum(math.isnan(value) for value in values[name].values())
            counts["without a visible relevant document"] = left
    says = (
        f"gain 2^grade - 1, discount 1/log2(rank + 1), cost {prices.cost:g}"
        f"{f' decaying by {decay:g}' if decay != 1 else ''}, penalty {prices.penalty:g},"
        f" best and worst over the {'collection' if pool == 'collection' else 'judged documents'}"
    )
    return Scores(values, empty, counts, says)


def emptied(judged: Judged) -> Judged:
    """Return the same queries with empty lists."""
    return replace(
        judged,
        lists=((),) * len(judged.queries),
        grades=np.zeros_like(judged.grades),
        sensitive=np.zeros_like(judged.sensitive),
    )


def _by_query(judged: Judged, values: np.ndarray) -> dict[str, float]:
    return dict(zip(judged.queries, values.tolist(), strict=True))


def _odd(judged: Judged, prices: Prices) -> dict[str, int]:
    values = unclipped(judged, prices)
    return {
        "with best = worst": int(np.isnan(values).sum()),
        "clipped to [0, 1]": int(((values < 0) | (values > 1)).sum()),
    }
