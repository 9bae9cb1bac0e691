"""Collections of which some documents are sensitive: from a folder, by labels, or by words."""

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
    """Blank the hidden words of a text.

    >>> without("An HIV test", frozenset({"hiv"}))
    'An   test'
    """
    if not hidden:
        return text
    return _WORD.sub(lambda found: " " if found[0].lower() in hidden else found[0], text)


Labels = NDArray[np.int8]
Metadata = Mapping[str, str | float]


def _none() -> Labels:
    return np.empty(0, dtype=np.int8)


@brief("name", "documents", "queries")
@dataclass(frozen=True, eq=False)
class SensitiveCollection(Collection):
    """Documents, queries and judgements, with a label of sensitivity per document.

    The labels are the truth of a test collection: measures and training use them, no mechanism
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


_VALUES = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}


def read_labels(path: Path, ids: Sequence[str], *, partial: bool = False) -> Labels:
    """Return the label (n,) of each document; `partial` allows some without one, which get -1.

    Only the columns ``id`` and ``sensitive`` are read: categories that explain a label would
    give it away to a classifier.
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
                f"{row.where(path.name)} names a document that the collection does not have;"
                " remove it."
            )
        if labels[place] >= 0:
            raise InputError(f"{row.where(path.name)} gives a document a second label; remove it.")
        if value.strip().lower() not in _VALUES:
            raise InputError(f"{row.where(path.name)} has a label other than 0 or 1; repair it.")
        labels[place] = _VALUES[value.strip().lower()]
    missing = int((labels < 0).sum())
    if missing and not partial:
        raise InputError(
            f"{missing:,} of {len(labels):,} documents have no label in {path.name}; a test"
            " collection needs one for each."
        )
    return labels


_KEYS = ("date", "from", "recipients")
_ID = ("id", "_id")


def load(
    path: str | Path, sensitivity: str | Path | None = None, report: Report = no_progress
) -> SensitiveCollection:
    """Read docs.jsonl, queries.jsonl, qrels.txt and sensitivity.tsv of a folder.

    Every document needs a label. A query may have a ``topic``, a document a ``date``, a ``from``
    and a number of ``recipients``. `sensitivity` names the labels if they lie elsewhere.
    """
    folder = Path(path)
    file = folder / "sensitivity.tsv" if sensitivity is None else Path(sensitivity)
    if not file.is_file():
        raise InputError(
            f"There is no file {file.name} with the labels of the documents; name one, or make"
            " labels with sensitive.simulate."
        )
    collection = load_collection(folder, report)
    return with_labels(collection, folder, read_labels(file, collection.documents.ids))


def with_labels(collection: Collection, folder: Path, labels: Labels) -> SensitiveCollection:
    """Put labels, topics and metadata to a collection that was read of a folder or a file."""
    same = {one.name: getattr(collection, one.name) for one in fields(Collection)}
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
    """Yield columns of JSON lines, None where one is missing; nothing of another kind of file."""
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


# In the manner of OHSUMED, where diseases of the urogenital system were taken as sensitive.
TERMS = tuple(
    """
    hiv aids syphilis gonorrhea gonorrhoea chlamydia herpes papillomavirus hpv abortion pregnancy
    pregnant contraceptive contraception prostate prostatic testis testicular ovary ovarian uterine
    uterus vagina vaginal erectile sexual sexually infertility fertility menstrual menopause
    menopausal urogenital urinary genital gender transgender
    """.split()
)


def simulate(collection: Collection, terms: Iterable[str] = TERMS) -> SensitiveCollection:
    """Call a document sensitive when a term occurs in its title or text, as a word in any case.

    The terms are kept as `hidden`: a classifier that saw them would learn the list and no more.

    Notes
    -----
    Such labels are noise-free and lexical. What is measured on them says how mechanisms compare,
    and little about how well real sensitivity is recognised.
    """
    if isinstance(terms, str):
        raise ParameterError("The terms must be a list of words, not one text.")
    hidden = frozenset(str(term).strip().lower() for term in terms)
    if not hidden or not all(words_of(term) == [term] for term in hidden):
        raise ParameterError("The terms must be at least one, and single words each.")
    labels = np.array(
        [not hidden.isdisjoint(words_of(text)) for text in collection.documents.passages],
        dtype=np.int8,
    )
    if isinstance(collection, SensitiveCollection):
        return replace(collection, sensitive=labels, hidden=hidden)
    same = {one.name: getattr(collection, one.name) for one in fields(Collection)}
    return SensitiveCollection(**same, sensitive=labels, hidden=hidden)
