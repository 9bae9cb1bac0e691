"""What is withheld changes nothing that prefilter shows; others show no scores."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from tests.sensitive.attacks.rooms import letters, told

from veil import sensitive
from veil.core.types import Floats
from veil.corpus.collection import Document, Documents
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.measures import Flags
from veil.sensitive.mechanism import Answer, Scene

COLLECTION = letters()
P = told(COLLECTION)


def without(collection: SensitiveCollection, withheld: Flags) -> SensitiveCollection:
    """Return a collection in which these documents have never been."""
    retained = np.flatnonzero(~withheld).tolist()
    documents = collection.documents
    rest = [Document(documents.ids[i], documents.titles[i], documents.texts[i]) for i in retained]
    return replace(
        collection, documents=Documents.of(rest), sensitive=collection.sensitive[retained]
    )


def answers(collection: SensitiveCollection, strategy: str, p: Floats) -> Iterator[Answer]:
    """Answer queries of all kinds: long, of single words, of words of withheld documents alone."""
    searcher = sensitive.MECHANISMS.parse(strategy).open(Scene(collection, p))
    queries = [*COLLECTION.queries.values(), *COLLECTION.documents.texts, "nothing of this"]
    queries += [f"common{i}" for i in range(20)] + [f"rare{i}" for i in range(90)]
    for query in queries:
        for k in (1, 10, 1_000):
            yield searcher.answer(query, k)


@pytest.mark.parametrize("threshold", [0.0, 0.05, 0.5, 0.95])
def test_prefilter_answers_as_if_withheld_documents_had_never_been(threshold: float) -> None:
    p = np.where(P > 0.5, P, np.linspace(0, 0.1, len(P)))
    p[3], p[5] = np.nan, 1.0  # nobody knows; a human says so
    withheld = ~(p < min(threshold, 1.0))
    spec = f"prefilter(threshold={threshold})"
    shown = list(answers(COLLECTION, spec, p))
    if withheld.all():
        assert all(len(entry.positions) == entry.total == 0 for entry in shown)
        return
    assert withheld.sum() > 0
    rest = without(COLLECTION, withheld)
    names, others = COLLECTION.documents.ids, rest.documents.ids
    for entry, other in zip(shown, answers(rest, spec, p[~withheld]), strict=True):
        assert [names[i] for i in entry.positions] == [others[i] for i in other.positions]
        assert entry.scores.tobytes() == other.scores.tobytes()
        assert (entry.scores.dtype, entry.total) == (other.scores.dtype, other.total)


@pytest.mark.parametrize(
    "strategy",
    ["relevance()", "postfilter(threshold=0.5)", "postfilter(threshold=0.5, refill=false)",
     "demoted(beta=2)"],
)  # fmt: skip
def test_what_looks_at_everything_shows_ranks_alone_and_totals_of_what_may_be_shown(
    strategy: str,
) -> None:
    p = P.copy()
    p[COLLECTION.sensitive == 1] = 1.0  # a human says so: withheld by every strategy
    rest = without(COLLECTION, p == 1)
    for entry, other in zip(
        answers(COLLECTION, strategy, p), answers(rest, strategy, p[p < 1]), strict=True
    ):
        ranks = 1 / np.arange(1, len(entry.positions) + 1)
        assert entry.scores.tobytes() == ranks.tobytes()
        assert entry.total == other.total
        assert not (COLLECTION.sensitive[entry.positions] == 1).any()
