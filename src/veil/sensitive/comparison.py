"""Strategies side by side, with the empty list."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from veil.core.types import Floats
from veil.measures.estimate import Estimate
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.evaluate import evaluate
from veil.sensitive.rank import rank
from veil.sensitive.scores import Scores, by_topic
from veil.sensitive.shown import Shown

EMPTY = "empty list"


@dataclass(frozen=True, eq=False)
class Line:
    """What one strategy is worth, and what it shows that it should not.

    Attributes
    ----------
    value, skill, visible
        nCS-DCG, its skill beside the empty list, and nDCG over what may be shown.
    share, any_shown
        Sensitive documents among those shown; queries with at least one.
    shown, judged
        Documents per query; how many of them were judged (others count as not relevant).
    topics
        (t,) nCS-DCG of each topic, for paired comparisons.
    """

    spec: str
    value: Estimate
    skill: Estimate
    visible: Estimate
    share: float
    any_shown: float
    shown: float
    judged: float
    topics: Floats
    notes: tuple[str, ...] = ()
    says: str = ""


def compare(
    collection: SensitiveCollection,
    strategies: Sequence[str],
    p: ArrayLike,
    k: int = 10,
    cost: float = 12.0,
) -> list[Line]:
    """Return a line per strategy, the empty list last."""
    lines = []
    for spec in strategies:
        lists = rank(collection, spec, p, k)
        lines.append(line_of(collection, spec, lists, k, cost))
    nothing = {query: list[str]() for query in collection.queries}
    return [*lines, _line(collection, EMPTY, nothing, k, cost, ())]


def line_of(collection: SensitiveCollection, spec: str, lists: Shown, k: int, cost: float) -> Line:
    """Return the line of lists that a strategy made."""
    run = lists.run(list(collection.queries))
    return _line(collection, spec, run, k, cost, lists.notes)


def _line(
    collection: SensitiveCollection,
    spec: str,
    run: dict[str, list[str]],
    k: int,
    cost: float,
    notes: tuple[str, ...],
) -> Line:
    names = [f"nCS-DCG@{k}", f"nDCG-visible@{k}"]
    scores: Scores = evaluate(run, collection.judgements, collection.labels, names, cost)
    summary = scores.summary(names[0], collection.topics)
    flags = [[collection.labels[name] for name in shown] for shown in run.values()]
    judged = [
        sum(name in collection.judgements.get(query, {}) for name in shown)
        for query, shown in run.items()
    ]
    documents = sum(map(len, flags))
    return Line(
        spec=spec,
        value=summary.value,
        skill=summary.skill,
        visible=scores.summary(names[1], collection.topics).value,
        share=sum(map(sum, flags)) / max(1, documents),
        any_shown=float(np.mean([any(one) for one in flags])),
        shown=documents / max(1, len(flags)),
        judged=sum(judged) / max(1, documents),
        topics=by_topic(scores[names[0]], collection.topics),
        notes=notes,
        says=scores.says,
    )
