"""Answer the queries of a collection for a searcher who is not cleared."""

import numpy as np
from numpy.typing import ArrayLike

from veil.core.errors import ParameterError
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.inputs import check_k, probabilities_of
from veil.sensitive.mechanism import Answer, Mechanism, Scene, Shown
from veil.sensitive.mechanisms import mechanism as strategy_of


def rank(
    collection: SensitiveCollection,
    strategy: str | Mechanism,
    p: ArrayLike | None,
    k: int = 10,
) -> Shown:
    """Return one list of at most `k` documents per query, in the order of the queries.

    Parameters
    ----------
    strategy
        As ``postfilter(threshold=0.1)``.
    p
        (n,) how likely each document is sensitive, in document order: 1 and 0 are what a human
        says, nan is not known. Documents with 1 or nan are withheld by every strategy. None is for
        ``relevance`` alone, which then withholds nothing.

    Notes
    -----
    Strategies that learn (joint, trained demotion, the optimum's gains) are cross-fitted both
    ways: the model that scores a document for a topic was fitted without that topic and without
    that document, its copies, and all others of its fold. `Shown.notes` says so. Ties are broken
    by document order; nothing is drawn.
    """
    chosen, k = strategy_of(strategy), check_k(k)
    searcher = chosen.open(scene_of(collection, chosen, p))
    answers = [
        searcher.answer(text, k, collection.topic(name))
        for name, text in collection.queries.items()
    ]
    return _shown(collection, answers, k, chosen, searcher.notes)


def scene_of(collection: SensitiveCollection, strategy: Mechanism, p: ArrayLike | None) -> Scene:
    """Return what a strategy works on; only relevance can do without probabilities."""
    n = len(collection.documents)
    if p is not None:
        return Scene(collection, probabilities_of(p, n))
    if strategy.name != "relevance":
        raise ParameterError(
            f"The {strategy.name} strategy needs the probability of each document;"
            " sensitive.cross_validate gives them."
        )
    return Scene(collection, np.zeros(n))


def _shown(
    collection: SensitiveCollection,
    answers: list[Answer],
    k: int,
    chosen: Mechanism,
    notes: tuple[str, ...],
) -> Shown:
    used = sorted({place for answer in answers for place in answer.positions.tolist()})
    numbers = {place: number for number, place in enumerate(used)}
    index = np.full((len(answers), k), -1, dtype=np.int64)
    scores = np.full((len(answers), k), -np.inf)
    for row, answer in enumerate(answers):
        own = [numbers[place] for place in answer.positions.tolist()]
        index[row, : len(own)] = own
        scores[row, : len(own)] = answer.scores
    return Shown(
        items=tuple(collection.documents.ids[place] for place in used),
        index=index,
        scores=scores,
        mechanism=str(chosen),
        cost=chosen.guarantee,
        notes=notes,
    )
