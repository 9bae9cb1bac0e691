"""Measure lists: their utility, and what they expose."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from veil.core.errors import InputError
from veil.core.estimate import Estimate, bootstrap, interval, resamples
from veil.core.types import Floats
from veil.corpus.collection import Judgements
from veil.sensitive.inputs import Run, prices_of, read_lists
from veil.sensitive.measures import Judged, Pool, Prices, extremes, measure, unclipped_ncs_dcg


def bounds(
    grades: Mapping[str, int],
    labels: Mapping[str, int],
    k: int,
    cost: float,
    pool: Pool = "collection",
    decay: float = 1.0,
) -> tuple[float, float]:
    """Return the best and the worst CS-DCG over all lists of 0 to k distinct documents.

    `grades` has the judged documents of one query, `labels` 0 or 1 for the whole collection.

    >>> bounds({"a": 2}, {"a": 0, "b": 1}, k=5, cost=12.0)
    (3.0, -12.0)
    """
    prices = prices_of(cost, 0.0, pool, decay)
    judged = read_lists({}, {"query": grades}, labels, k)
    best, worst = extremes(judged, prices)
    return float(best[0]), float(worst[0])


@dataclass(frozen=True, slots=True)
class Summary:
    """The mean of a measure over topics, the same of the empty list, and the skill.

    skill = (value - empty)/(1 - empty): 0 is as good as showing nothing, below 0 is worse. It is
    nan of CS-DCG, which has no common highest value.
    """

    value: Estimate
    empty: Estimate
    skill: Estimate


class Scores(dict[str, dict[str, float]]):
    """Values as ``{measure: {query: value}}``.

    Attributes
    ----------
    empty
        The same for empty lists: what showing nothing is worth.
    counts
        How many queries were left out or changed, and why.
    says
        Cost, gain, base and pool of the values: without them they cannot be compared.
    """

    def __init__(
        self,
        values: Mapping[str, dict[str, float]],
        empty: Mapping[str, dict[str, float]],
        counts: Mapping[str, int],
        says: str,
    ) -> None:
        super().__init__(values)
        self.empty, self.counts, self.says = dict(empty), dict(counts), says

    def summary(self, measure: str, topics: Mapping[str, str] | None = None) -> Summary:
        """Return means over topics: the queries of one are averaged first.

        The interval is the bootstrap's over topics; without `topics` each query is one.
        """
        values, empty = (by_topic(one[measure], topics) for one in (self, self.empty))
        return Summary(bootstrap(values), bootstrap(empty), _skill(measure, values, empty))


def by_topic(values: Mapping[str, float], topics: Mapping[str, str] | None) -> Floats:
    """Return the mean of each topic, in the order of topics; queries that cannot count are out."""
    means: dict[str, list[float]] = {}
    for query, value in values.items():
        if not np.isnan(value):
            means.setdefault(query if topics is None else topics.get(query, query), []).append(
                value
            )
    return np.array([np.mean(own) for own in means.values()])


def _skill(measure: str, values: Floats, empty: Floats) -> Estimate:
    if measure.upper().startswith("CS") or empty.mean() >= 1:
        return Estimate(np.nan, np.nan, np.nan, len(values))
    drawn = np.concatenate(list(resamples(len(values))))
    means, nothing = values[drawn].mean(axis=1), empty[drawn].mean(axis=1)
    resampled = (means - nothing) / np.maximum(1 - nothing, 1e-12)
    value = float((values.mean() - empty.mean()) / (1 - empty.mean()))
    return interval(value, resampled, len(values))


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
    nothing = {depth: empty_lists(own) for depth, own in lists.items()}
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


def empty_lists(judged: Judged) -> Judged:
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
    values = unclipped_ncs_dcg(judged, prices)
    return {
        "with best = worst": int(np.isnan(values).sum()),
        "clipped to [0, 1]": int(((values < 0) | (values > 1)).sum()),
    }
