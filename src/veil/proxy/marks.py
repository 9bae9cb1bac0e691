"""Say of each word of a variant whether it was changed, and why."""

from collections.abc import Iterable, Iterator, Mapping

from veil.corpus.tokens import tokens
from veil.proxy.found import Mark, MarkKind
from veil.proxy.ledger.key import folded


def marks(
    variant: str, own: Iterable[str], kept: Iterable[str] = (), stand_ins: Iterable[str] = ()
) -> tuple[Mark, ...]:
    """Cut a variant into pieces, each with what it is.

    A word is compared with those of the query, wherever it stands: that is what a reader of the
    variant sees. `own` are the query and its words as the vectors spell them, `kept` the words
    that are sent as they are, `stand_ins` those drawn for words that the vectors do not know.
    """
    kinds: dict[str, MarkKind] = dict.fromkeys(_words(stand_ins), "unknown")
    kinds |= dict.fromkeys(_words(own), "same")
    kinds |= dict.fromkeys(_words(kept), "kept")
    return tuple(_pieces(variant, kinds))


def _words(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        for token in tokens(text):
            yield folded(text[token.start : token.end])


def _pieces(variant: str, kinds: Mapping[str, MarkKind]) -> Iterator[Mark]:
    at = 0
    for token in tokens(variant):
        if token.start > at:
            yield Mark(variant[at : token.start], "layout")
        word = variant[token.start : token.end]
        yield Mark(word, kinds.get(folded(word), "changed"))
        at = token.end
    if at < len(variant):
        yield Mark(variant[at:], "layout")
