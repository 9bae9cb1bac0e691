"""Features of documents: words, people, time, attachments and style."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import getaddresses, parseaddr, parsedate_to_datetime
from typing import Any, Literal, NamedTuple

import numpy as np

from veil.core.errors import InputError, MissingExtraError
from veil.core.formatting import brief
from veil.core.types import Floats, Ids
from veil.corpus.collection import Document
from veil.sensitive.collection import Metadata, SensitiveCollection, without, words_of


@brief()
class Mail(NamedTuple):
    """Title, text and metadata of one document, without hidden words."""

    title: str
    text: str
    metadata: Metadata


def mails_of(collection: SensitiveCollection) -> list[Mail]:
    """Return all documents of a collection, without the words that determined its labels."""
    documents = collection.documents
    metadata: Sequence[Metadata] = collection.metadata or ({},) * len(documents)
    return [
        Mail(without(title, collection.hidden), without(text, collection.hidden), own)
        for title, text, own in zip(documents.titles, documents.texts, metadata, strict=True)
    ]


def mail_of(
    document: Document | Mail | Mapping[str, object] | str, hidden: frozenset[str]
) -> Mail:
    """Return a new document in the form that classifiers take."""
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
        raise InputError("A document must be a string, or have a title and a text.")
    return Mail(without(title, hidden), without(text, hidden), metadata)


ATTACHMENTS = ("attachments", "documents", "sheets", "slides", "pictures", "archives")
_KINDS = (
    ("doc", "docx", "pdf", "rtf", "wpd", "txt"),
    ("xls", "xlsx", "csv"),
    ("ppt", "pptx", "pps"),
    ("jpg", "jpeg", "gif", "bmp", "png", "mpg", "mpeg", "avi", "mp3", "wav"),
    ("zip", "exe", "htm", "html"),
)
_FILE = re.compile(
    rf"[\w\-()&]\.({'|'.join(end for kind in _KINDS for end in kind)})\b", re.IGNORECASE
)


def attachments(mail: Mail) -> list[float]:
    """Return the logarithm of the number of file names, and a flag for each kind of file."""
    endings = [name.lower() for name in _FILE.findall(f"{mail.title}\n{mail.text}")]
    kinds = [float(any(ending in kind for ending in endings)) for kind in _KINDS]
    return [math.log1p(len(endings)), *kinds]


_LINE = r"(?:From|To|Cc|Date): .*"
_HEADS = re.compile(rf"{_LINE}(?:\n{_LINE})*\n\n")


def body_of(text: str) -> str:
    r"""Return a text without mail headers, which differ between copies.

    >>> body_of("From: a@b.org\nDate: Mon, 10 Dec 2001 10:00:00 -0800\n\nHello")
    'Hello'
    """
    match = _HEADS.match(text)
    return text[match.end() :] if match else text


def metadata_of(text: str) -> Metadata:
    r"""Return date, sender and number of recipients, as far as the headers contain them.

    >>> metadata_of("From: A <a@b.org>\nTo: c@d.org, e@d.org\n\nHello")
    {'from': 'a@b.org', 'recipients': 2}
    """
    match = _HEADS.match(text)
    if match is None:
        return {}
    lines = match[0].rstrip("\n").split("\n")
    fields = {name: value for name, _, value in (line.partition(": ") for line in lines)}
    metadata: dict[str, str | float] = {}
    if "Date" in fields:
        metadata["date"] = fields["Date"]
    if sender := parseaddr(fields.get("From", ""))[1]:
        metadata["from"] = sender
    if others := [fields[name] for name in ("To", "Cc") if name in fields]:
        metadata["recipients"] = sum(bool(address) for _, address in getaddresses(others))
    return metadata


Sparse = Any  # scipy has no types
MOST = 60_000  # maximum number of words and word pairs
FEWEST = 2  # minimum number of documents with a word or word pair


def library() -> Any:  # noqa: ANN401 - scikit-learn has no types
    """Return scikit-learn, or raise an error that names its extra."""
    try:
        import sklearn
        import sklearn.feature_extraction.text
        import sklearn.linear_model
        import sklearn.metrics
    except ImportError:
        raise MissingExtraError(
            "Classifiers need scikit-learn and lightgbm: pip install 'veil[ml]'."
        ) from None
    return sklearn


class Vocabulary:
    """Counts words and word pairs that occur in at least two of the given documents."""

    def __init__(self, mails: Sequence[Mail]) -> None:
        text = library().feature_extraction.text
        self._counter = text.CountVectorizer(ngram_range=(1, 2), dtype=np.float32)
        self._texts = [text_of(mail) for mail in mails]

    def learn(self) -> Sparse:
        """Return the counts (n, V) of the documents of the constructor."""
        counts = self._counter.fit_transform(self._texts).tocsc()
        del self._texts
        often = np.flatnonzero(np.diff(counts.indptr) >= FEWEST)
        names = self._counter.get_feature_names_out()[often]
        self._counter.vocabulary_ = {name: place for place, name in enumerate(names)}
        self._counter.fixed_vocabulary_ = True
        return counts[:, often].tocsr()

    def count(self, mails: Sequence[Mail]) -> Sparse:
        """Return the counts (n, V) of other documents."""
        return self._counter.transform([text_of(mail) for mail in mails]).tocsr()


@dataclass(frozen=True, eq=False)
class Weights:
    """The selected columns, and the inverse document frequency of each."""

    columns: Ids
    idf: Floats

    @classmethod
    def of(cls, counts: Sparse, rows: Ids, most: int = MOST) -> "Weights":
        """Return the `most` frequent columns and their weights, both from `rows` only."""
        part = counts[rows]
        documents = np.bincount(part.indices, minlength=part.shape[1])
        often = np.flatnonzero(documents >= FEWEST)
        if len(often) > most:
            total = np.asarray(part.sum(axis=0)).ravel()[often]
            often = np.sort(often[np.argsort(-total, kind="stable")[:most]])
        return cls(often, np.log((1 + len(rows)) / (1 + documents[often])) + 1)

    def apply(self, counts: Sparse) -> Sparse:
        """Return (1 + ln tf) * idf, scaled to unit length over each document."""
        from scipy.sparse import diags_array

        part = counts[:, self.columns].astype(np.float64)
        part.data = 1 + np.log(part.data)
        part = part @ diags_array(self.idf)
        norms = np.sqrt(np.asarray(part.multiply(part).sum(axis=1)).ravel())
        return (diags_array(1 / np.maximum(norms, 1e-12)) @ part).tocsr()


def text_of(mail: Mail) -> str:
    """Return the text to count words in: subject and text."""
    return f"{mail.title}\n{mail.text}"


METADATA = ("recipients", "inside", "reply", "forward")
_REPLY = re.compile(r"^\s*(re|aw|sv)\s*:", re.IGNORECASE)
_FORWARD = re.compile(r"^\s*(fw|fwd)\s*:|-{3,}\s*forwarded by", re.IGNORECASE)


def domain_of(mail: Mail) -> str:
    """Return the sender's domain, or ""."""
    return str(mail.metadata.get("from", "")).lower().rpartition("@")[2]


def organisation(mails: Sequence[Mail]) -> str:
    """Return the most common domain of the senders."""
    domains = Counter(filter(None, map(domain_of, mails)))
    return min(domains, key=lambda domain: (-domains[domain], domain)) if domains else ""


def metadata(mail: Mail, inside: str) -> list[float]:
    """Return log recipients and flags: sender inside the organisation, reply, forward."""
    try:
        recipients = max(0.0, float(mail.metadata.get("recipients", 0)))
    except ValueError:
        recipients = 0.0
    start = f"{mail.title}\n"
    return [
        math.log1p(recipients),
        float(bool(inside) and domain_of(mail) == inside),
        float(_REPLY.search(start) is not None),
        float(_FORWARD.search(start + mail.text[:500]) is not None),
    ]


STYLE = ("length", "!", "?", "$", "digits", "capitals", "first person", "second person")
_FIRST = frozenset("i me my mine myself we us our ours".split())
_SECOND = frozenset("you your yours yourself u ya".split())


def style(mail: Mail) -> list[float]:
    """Return the logarithm of the length, and shares of characters and pronouns."""
    text = f"{mail.title}\n{mail.text}"
    size = max(1, len(text))
    words = words_of(text)
    many = max(1, len(words))
    return [
        math.log(size),
        *(10 * text.count(sign) / size for sign in "!?$"),
        sum(map(str.isdigit, text)) / size,
        sum(map(str.isupper, text)) / size,
        sum(word in _FIRST for word in words) / many,
        sum(word in _SECOND for word in words) / many,
    ]


TIMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "weekend", "hour", "off hours")
_OFFICE = range(8, 18)


def temporal(mail: Mail) -> list[float]:
    """Return weekday, weekend, hour and off-hours (not 8-18); zeros without a date."""
    try:
        when = parsedate_to_datetime(str(mail.metadata["date"]))
    except (KeyError, ValueError, TypeError, IndexError, OverflowError):
        return [0.0] * len(TIMES)
    day = when.weekday()
    days = [float(day == number) for number in range(5)]
    hour = when.hour + when.minute / 60
    return [*days, float(day >= 5), hour / 24, float(when.hour not in _OFFICE)]


Features = Literal["lexical", "context", "all"]


@dataclass(frozen=True, eq=False)
class Numbers:
    """Documents as features for a classifier; either part may be missing.

    Attributes
    ----------
    counts
        (n, V) counts of words and pairs of words.
    context
        (n, d) time, metadata, attachments, style.
    lengths
        (n,) logarithm of the number of characters, for classifiers of words only.
    """

    counts: Sparse | None
    context: Floats | None
    lengths: Floats


class Reader:
    """Converts documents to features, with the vocabulary of the documents of the constructor."""

    def __init__(self, mails: Sequence[Mail], features: Features) -> None:
        lexical, context = features in ("lexical", "all"), features in ("context", "all")
        self._vocabulary = Vocabulary(mails) if lexical else None
        self._inside = organisation(mails) if context else None
        counts = None if self._vocabulary is None else self._vocabulary.learn()
        self.learnt = Numbers(counts, self._context(mails), _lengths(mails))

    def read(self, mails: Sequence[Mail]) -> Numbers:
        """Return the features of other documents."""
        counts = None if self._vocabulary is None else self._vocabulary.count(mails)
        return Numbers(counts, self._context(mails), _lengths(mails))

    def _context(self, mails: Sequence[Mail]) -> Floats | None:
        inside = self._inside
        if inside is None:
            return None
        rows = [
            [*temporal(mail), *metadata(mail, inside), *attachments(mail), *style(mail)]
            for mail in mails
        ]
        return np.array(rows, dtype=np.float64)


def _lengths(mails: Sequence[Mail]) -> Floats:
    return np.log([1.0 + len(mail.title) + len(mail.text) for mail in mails])
