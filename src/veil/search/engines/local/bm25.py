"""BM25 over a local collection."""

from typing import Annotated, ClassVar

from pydantic import Field

from veil.corpus.collection import Collection
from veil.data.fetch import Report, silent
from veil.search.engines.local._lexical import LexicalEngine
from veil.search.engines.local._local import LocalSpec


class BM25(LocalSpec):
    r"""Rank by BM25 as Lucene computes it, over English stems.

    .. math:: s(q, d) = \sum t \in q: \ln(1 + (n - df + 0.5)/(df + 0.5)) \,
              tf/(tf + k1 (1 - b + b L/\bar L))

    References
    ----------
    Robertson and Zaragoza. The Probabilistic Relevance Framework: BM25 and Beyond. FnTIR 2009.
    Lu. BM25S: Orders of magnitude faster lexical search via eager sparse scoring. 2024.
    """

    name: ClassVar[str] = "bm25"

    k1: Annotated[float, Field(ge=0, le=100, description="how soon repetition stops counting")] = (
        1.2
    )
    b: Annotated[float, Field(ge=0, le=1, description="how much long documents lose")] = 0.75

    def open(self, collection: Collection | None = None, report: Report = silent) -> LexicalEngine:
        """Build the inverted index, or open the one kept with the collection."""
        chosen = self.chosen(collection)
        lexical = chosen.lexical(report)
        return LexicalEngine(chosen, lexical, lexical.weights("bm25", self.k1, self.b))
