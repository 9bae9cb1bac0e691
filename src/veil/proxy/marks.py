"""Say of each word of a variant whether it was changed, and why."""

from collections.abc import Iterable, Iterator, Mapping

from veil.corpus.text import tokens
from veil.proxy.ledger.key import folded
from veil.proxy.types import Mark, MarkKind
from veil.text.mechanisms.words.draft import Draft


def marks(
    variant: str, query: str, text: Draft | None, stand_ins: Iterable[str] = ()
) -> tuple[Mark, ...]:
    """Cut a variant into pieces, each with what it is.

    A word is compared with those of the query, wherever it stands: that is what a reader of the
    variant sees. `stand_ins` are the words drawn for words that the vectors do not know.
    """
    kinds: dict[str, MarkKind] = dict.fromkeys(_words(stand_ins), "unknown")
    kinds |= dict.fromkeys(_words([query]), "same")
    if text is not None:
        kinds |= dict.fromkeys(_words(text.words), "same")
        kinds |= dict.fromkeys(_words(text.kept), "kept")
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
