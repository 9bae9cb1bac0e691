"""TF-IDF over a local collection."""

from typing import ClassVar

from veil.corpus.collection import Collection
from veil.data.fetch import Report, silent
from veil.search.engines.local._lexical import LexicalEngine
from veil.search.engines.local._local import LocalSpec


class TfIdf(LocalSpec):
    r"""Rank by the cosine of TF-IDF vectors, over English stems.

    .. math:: w(t, d) = (1 + \ln tf) \ln(1 + n/df)

    A query's terms weigh :math:`\ln(1 + n/df)` for each occurrence. Documents are scaled to unit
    length, the query is not: that would change no order.

    References
    ----------
    Salton and Buckley. Term-weighting approaches in automatic text retrieval. IP&M 1988.
    """

    name: ClassVar[str] = "tfidf"

    def open(self, collection: Collection | None = None, report: Report = silent) -> LexicalEngine:
        """Build the inverted index, or open the one kept with the collection."""
        chosen = self.chosen(collection)
        lexical = chosen.lexical(report)
        return LexicalEngine(chosen, lexical, lexical.weights("tfidf"))
