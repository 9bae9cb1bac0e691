"""Which source a mechanism has."""

from veil.core.errors import ParameterError
from veil.proxy.ledger.ledger import Ledger
from veil.proxy.sources.groups import Groups
from veil.proxy.sources.queries import OfQueries
from veil.proxy.sources.source import Line, Priced
from veil.proxy.sources.words import OfWords
from veil.search.pipeline import Words
from veil.text.mechanisms.mechanism import TextMechanism, WordMechanism
from veil.text.mechanisms.queries.cover import Cover
from veil.text.vectors.embeddings import Embeddings


def source_of(
    query: str,
    mechanism: TextMechanism,
    space: Embeddings | None,
    size: int,
    ledger: Ledger,
    words: Words,
    line: Line,
) -> Priced:
    """Return what makes variants of a query; what was released of it is looked up now."""
    if isinstance(mechanism, Cover):
        return Groups(query, mechanism, ledger, line)
    if not isinstance(mechanism, WordMechanism):
        return OfQueries(query, mechanism, size, ledger, words)
    if space is None:
        raise ParameterError(f"{mechanism.name} replaces words and needs word vectors.")
    return OfWords(query, mechanism, space, ledger, words)
