"""A collection of which somebody has said what is sensitive."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Ids
from veil.corpus.collection import Collection

Labels = NDArray[np.int8]
Metadata = Mapping[str, str | float]


def _none() -> Labels:
    return np.empty(0, dtype=np.int8)


@dataclass(frozen=True, eq=False)
class SensitiveCollection(Collection):
    """Documents, queries and judgements, with a label of sensitivity per document.

    The labels are the truth of a test collection: measures and training use them, no strategy
    looks at them when it makes a list.

    Attributes
    ----------
    sensitive
        (n,) in document order: 1 sensitive, 0 not, -1 where nobody has said.
    topics
        Topic of each query. Formulations of one topic are averaged first, and whole topics are
        left out when something is learnt.
    metadata
        Per document, in order, what is known beside title and text (date, from, recipients).
    hidden
        Words that made the labels (`simulate`): no classifier may see them.
    """

    sensitive: Labels = field(default_factory=_none)
    topics: Mapping[str, str] = field(default_factory=dict)
    metadata: tuple[Metadata, ...] = ()
    hidden: frozenset[str] = frozenset()

    @cached_property
    def labels(self) -> dict[str, int]:
        """Label of each document by its id, as `evaluate` takes them."""
        return dict(zip(self.documents.ids, self.sensitive.tolist(), strict=True))

    @cached_property
    def places(self) -> dict[str, int]:
        """Position of each document by its id."""
        return {name: place for place, name in enumerate(self.documents.ids)}

    def topic(self, query: str) -> str:
        """Return the topic of a query; one without is a topic of its own."""
        return self.topics.get(query, query)

    @cached_property
    def judged_topics(self) -> dict[str, dict[int, int]]:
        """Grade of each judged document (its position) by topic: the highest of its queries."""
        grades: dict[str, dict[int, int]] = {}
        for query, judged in self.judgements.items():
            own = grades.setdefault(self.topic(query), {})
            for name, grade in judged.items():
                place = self.places.get(name, -1)
                if place >= 0:
                    own[place] = max(grade, own.get(place, grade))
        return grades

    def known(self) -> Ids:
        """Return the positions of documents whose label somebody has given."""
        return np.flatnonzero(self.sensitive >= 0)
