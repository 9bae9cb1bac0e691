"""Collections with sensitive documents: from a folder, by labels, or by words."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError, ParameterError
from veil.core.formatting import brief
from veil.core.types import Ids
from veil.corpus.catalogue import load_collection
from veil.corpus.collection import Collection
from veil.data.fetch import Report, no_progress
from veil.data.lines import suffix_of
from veil.data.rows import DelimitedLayout, Header, Row, read_rows, read_table

_WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> list[str]:
    """Return the runs of letters and digits of a text, in lower case.

    >>> words_of("HIV-positive, e-mail_me")
    ['hiv', 'positive', 'e', 'mail', 'me']
    """
    return _WORD.findall(text.lower())


def without(text: str, hidden: frozenset[str]) -> str:
    """Return a text with its hidden words blanked.

    >>> without("An HIV test", frozenset({"hiv"}))
    'An   test'
    """
    if not hidden:
        return text
    return _WORD.sub(lambda match: " " if match[0].lower() in hidden else match[0], text)


Labels = NDArray[np.int8]
Metadata = Mapping[str, str | float]


def _none() -> Labels:
    return np.empty(0, dtype=np.int8)


@brief("name", "documents", "queries")
@dataclass(frozen=True, eq=False)
class SensitiveCollection(Collection):
    """Documents, queries and judgements, with a label of sensitivity per document.

    The labels are the ground truth of a test collection: measures and training use them, but no
    mechanism reads them for a list.

    Attributes
    ----------
    sensitive
        (n,) in document order: 1 sensitive, 0 not, -1 without a label.
    topics
        Topic of each query. Queries of one topic are averaged first, and whole topics are left
        out of training.
    metadata
        Per document, in order, the metadata besides title and text (date, from, recipients).
    hidden
        Words that determined the labels (`simulate`): no classifier may see them.
    """

    sensitive: Labels = field(default_factory=_none)
    topics: Mapping[str, str] = field(default_factory=dict)
    metadata: tuple[Metadata, ...] = ()
    hidden: frozenset[str] = frozenset()

    @cached_property
    def labels(self) -> dict[str, int]:
        """Label of each document by its id, in the form that `evaluate` takes."""
        return dict(zip(self.documents.ids, self.sensitive.tolist(), strict=True))

    @cached_property
    def places(self) -> dict[str, int]:
        """Position of each document by its id."""
        return {name: place for place, name in enumerate(self.documents.ids)}

    def topic(self, query: str) -> str:
        """Return the topic of a query, which defaults to the query."""
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
        """Return the positions of labelled documents."""
        return np.flatnonzero(self.sensitive >= 0)


_VALUES = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}


def read_labels(path: Path, ids: Sequence[str], *, partial: bool = False) -> Labels:
    """Return the label (n,) of each document; `partial` allows missing labels, which are -1.

    Only the columns ``id`` and ``sensitive`` are read: categories that explain a label would
    reveal it to a classifier.
    """
    layout = (
        DelimitedLayout("\t", quotes=False) if suffix_of(path) == ".tsv" else DelimitedLayout()
    )
    _, rows = read_table(path, ("id", "sensitive"), layout)
    places = {name: place for place, name in enumerate(ids)}
    labels = np.full(len(places), -1, dtype=np.int8)
    for row in rows:
        name, value = row.values
        place = places.get(name)
        if place is None:
            raise InputError(
                f"{row.where(path.name)} names a document that is not in the collection. Remove"
                " the row."
            )
        if labels[place] >= 0:
            raise InputError(f"{row.where(path.name)} labels a document twice. Remove the row.")
        if value.strip().lower() not in _VALUES:
            raise InputError(f"{row.where(path.name)} must have label 0 or 1. Correct it.")
        labels[place] = _VALUES[value.strip().lower()]
    missing = int((labels < 0).sum())
    if missing and not partial:
        raise InputError(
            f"{path.name} must label every document. Got {missing:,} of {len(labels):,} without"
            " a label. Complete it."
        )
    return labels


_KEYS = ("date", "from", "recipients")
_ID = ("id", "_id")


def load(
    path: str | Path, sensitivity: str | Path | None = None, report: Report = no_progress
) -> SensitiveCollection:
    """Return the collection of docs.jsonl, queries.jsonl, qrels.txt, sensitivity.tsv in a folder.

    Every document needs a label. A query may have a ``topic``, a document a ``date``, a ``from``
    and a number of ``recipients``. `sensitivity` is the path of the labels if they are elsewhere.
    """
    folder = Path(path)
    file = folder / "sensitivity.tsv" if sensitivity is None else Path(sensitivity)
    if not file.is_file():
        raise InputError(
            f"The file {file.name} with the labels of the documents does not exist. Name another,"
            " or create labels with sensitive.simulate."
        )
    collection = load_collection(folder, report)
    return with_labels(collection, folder, read_labels(file, collection.documents.ids))


def with_labels(collection: Collection, folder: Path, labels: Labels) -> SensitiveCollection:
    """Return a collection with labels, and with topics and metadata from its folder or file."""
    same = {entry.name: getattr(collection, entry.name) for entry in fields(Collection)}
    inside = folder.is_dir()
    docs = folder / "docs.jsonl" if inside else folder
    queries = folder / "queries.jsonl"
    topics = {
        str(row.values[0] if row.values[0] is not None else row.values[1]): str(row.values[2])
        for row in (_rows(queries, (*_ID, "topic")) if inside else ())
        if row.values[2] is not None
    }
    metadata = tuple(_metadata(row.values[2:]) for row in _rows(docs, (*_ID, *_KEYS)))
    if len(metadata) != len(collection.documents) or not any(metadata):
        metadata = ()
    return SensitiveCollection(**same, sensitive=labels, topics=topics, metadata=metadata)


def _rows(path: Path, names: Sequence[str]) -> Iterator[Row[Any]]:
    """Yield columns of JSON lines, with None for missing values; nothing for other files."""
    if path.suffix not in (".jsonl", ".ndjson") or not path.is_file():
        return iter(())
    return read_rows(path, _picks(names))


def _picks(names: Sequence[str]) -> Callable[[Header], list[int]]:
    return lambda header: [header.find((name,)) for name in names]


def _metadata(values: Sequence[object]) -> Metadata:
    return {
        key: value
        for key, value in zip(_KEYS, values, strict=True)
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    }


# As in OHSUMED experiments, where diseases of the urogenital system counted as sensitive.
TERMS = tuple(
    """
    hiv aids syphilis gonorrhea gonorrhoea chlamydia herpes papillomavirus hpv abortion pregnancy
    pregnant contraceptive contraception prostate prostatic testis testicular ovary ovarian uterine
    uterus vagina vaginal erectile sexual sexually infertility fertility menstrual menopause
    menopausal urogenital urinary genital gender transgender
    """.split()
)


def simulate(collection: Collection, terms: Iterable[str] = TERMS) -> SensitiveCollection:
    """Label a document sensitive if a term occurs in its title or text, as a word in any case.

    The terms become `hidden`: a classifier that saw them would only learn the list.

    Notes
    -----
    Such labels are noise-free and lexical. They show how mechanisms compare, and little about how
    well real sensitivity is recognised.
    """
    if isinstance(terms, str):
        raise ParameterError("The terms must be a list of words. Got a string instead.")
    hidden = frozenset(str(term).strip().lower() for term in terms)
    if not hidden or not all(words_of(term) == [term] for term in hidden):
        raise ParameterError("The terms must be one or more single words.")
    labels = np.array(
        [not hidden.isdisjoint(words_of(text)) for text in collection.documents.passages],
        dtype=np.int8,
    )
    if isinstance(collection, SensitiveCollection):
        return replace(collection, sensitive=labels, hidden=hidden)
    same = {entry.name: getattr(collection, entry.name) for entry in fields(Collection)}
    return SensitiveCollection(**same, sensitive=labels, hidden=hidden)
