"""Documents as a classifier sees them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from veil.core.errors import InputError
from veil.corpus.collection import Document
from veil.sensitive.collection import Metadata, SensitiveCollection
from veil.sensitive.wording import without


class Mail(NamedTuple):
    """Title, text and what else is known of one document, without the words that are hidden."""

    title: str
    text: str
    metadata: Metadata


def mails_of(collection: SensitiveCollection) -> list[Mail]:
    """Return all documents of a collection, without the words that made its labels."""
    documents = collection.documents
    known: Sequence[Metadata] = collection.metadata or ({},) * len(documents)
    return [
        Mail(without(title, collection.hidden), without(text, collection.hidden), own)
        for title, text, own in zip(documents.titles, documents.texts, known, strict=True)
    ]


def mail_of(
    document: Document | Mail | Mapping[str, object] | str, hidden: frozenset[str]
) -> Mail:
    """Return a document that was never seen as a classifier sees it."""
    metadata: Metadata = {}
    if isinstance(document, str):
        title, text = "", document
    elif isinstance(document, Mapping):
        title, text = str(document.get("title", "")), str(document.get("text", ""))
        metadata = {
            key: value for key, value in document.items() if isinstance(value, str | int | float)
        }
    elif isinstance(document, Mail | Document):
        title, text = document.title, document.text
        metadata = document.metadata if isinstance(document, Mail) else {}
    else:
        raise InputError("A document must have a title and a text, or be a text.")
    return Mail(without(title, hidden), without(text, hidden), metadata)
