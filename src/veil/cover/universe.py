"""Candidate texts: the public texts among which queries are looked up."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.formatting import brief, printable
from veil.core.types import Ids
from veil.corpus.catalogue import load_collection
from veil.corpus.collection import Documents
from veil.corpus.icd10cm import NAMES
from veil.corpus.logs import MAX_COUNT, read_counted, read_log
from veil.corpus.tokens import check_text, lookup_form
from veil.corpus.wordnet import glosses
from veil.cover.popularity import POPULARITIES, Popularity, estimate_counts
from veil.data.arrays import Strings, StringsBuilder
from veil.data.fetch import Report, no_progress

Part = Literal["passages", "titles", "queries", "log"]
PARTS: tuple[Part, ...] = get_args(Part)
BUILT_IN = (*NAMES, "wordnet")
MAX_TEXTS = 5_000_000
_MAX_CHARS = 100_000  # of one text
NOUNS = 40_000  # of WordNet's 82,000 nouns; two processors encode so many in a minute
_TITLE = 10  # words of a passage used as its missing title


@brief("name", "texts")
@dataclass(frozen=True, eq=False)
class Universe:
    """Distinct public texts in order of first appearance, with their counts.

    With the popularity ``words``, the counts are estimated from the public frequencies of the
    words in the texts.
    """

    name: str
    texts: Strings
    counts: Ids
    popularity: Popularity = "counts"

    @classmethod
    def of(
        cls,
        texts: Iterable[str] | Mapping[str, int],
        name: str = "texts",
        *,
        counted: bool = True,
    ) -> "Universe":
        """Return the distinct texts with their counts; a mapping has the counts as values.

        Texts without a letter or digit are left out. With ``counted=False`` each text counts once:
        how often a title occurs says nothing about how often it is searched.

        Texts that differ only in case, white space or character forms count as one, spelt as first
        seen. Control characters become spaces, because engines reject them, and invisible
        characters are removed: all texts of a group must be sendable.
        """
        if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
            raise InputError("The universe must be a list of texts, a mapping or a name.")
        pairs = texts.items() if isinstance(texts, Mapping) else ((text, 1) for text in texts)
        universe = cls.of_pairs(pairs, name)
        return universe if counted else replace(universe, counts=np.ones_like(universe.counts))

    @classmethod
    def of_pairs(cls, pairs: Iterable[tuple[str, int]], name: str = "texts") -> "Universe":
        """Return the distinct texts of pairs, with their counts added up; see `of`."""
        counts: dict[str, int] = {}
        spelt = StringsBuilder()
        letters = False
        for number, (text, count) in enumerate(pairs, start=1):
            if number > MAX_TEXTS:
                raise InputError(
                    f"A universe must have at most {MAX_TEXTS:,} texts. Take a sample."
                )
            where = f"Text {number:,} of the universe"
            key = lookup_form(check_text(text, where, _MAX_CHARS))
            _check_count(count, where)
            if not any(map(str.isalnum, key)):
                continue
            if key not in counts:
                counts[key] = 0
                spelt.add(" ".join(printable(text).split()))
                letters = letters or any(map(str.isalpha, key))
            counts[key] += int(count)
        if not counts:
            raise InputError(
                "The universe must have texts with letters or digits. Try public texts, such as"
                " a catalogue."
            )
        if not letters:
            raise InputError(
                "The texts of the universe must not all be numbers. Pass texts, or name the"
                " column of a table with the texts 'query' or 'text'."
            )
        return cls(name, spelt.done(), np.fromiter(counts.values(), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.texts)

    def estimated(self, names: Callable[[str], Sequence[str]] | None = None) -> "Universe":
        """Return the same texts with counts estimated from the frequencies of their words.

        `names` returns what people would type for a text; by default, the text itself.
        """
        spelt = ((text,) if names is None else names(text) for text in self.texts)
        return replace(self, counts=estimate_counts(spelt), popularity="words")

    def sampled(self, share: float) -> "Universe":
        """Return an evenly spaced sample that has this share of the texts."""
        if not 0 < share <= 1:
            raise ParameterError(
                f"The share of a universe must be a number > 0, at most 1. Got {share:g} instead."
            )
        if share == 1:
            return self
        universe = self.evenly(max(1, round(len(self) * share)))
        return replace(universe, name=f"{self.name}, a share of {share:g}")

    def evenly(self, wanted: int) -> "Universe":
        """Return `wanted` evenly spaced texts."""
        if wanted >= len(self):
            return self
        places = np.arange(wanted) * len(self) // wanted
        texts = Strings.of(self.texts[int(i)] for i in places)
        return replace(self, texts=texts, counts=self.counts[places])


def read_universe(
    source: str | Path,
    part: Part | None = None,
    sample: float = 1.0,
    report: Report = no_progress,
    popularity: Popularity | None = None,
) -> Universe:
    """Read candidate texts by name or path.

    ``icd10cm`` has the terms of the classification, ``wordnet`` 40,000 of its nouns with their
    definitions. A collection (a folder, an index, ``irds:ID``) has its ``passages``, its
    ``titles`` (the first ten words if a title is missing), its ``queries`` or its ``log``;
    passages by default. A file has queries, one per line or in a table, unless `part` says it has
    documents; a table may have a column ``count``. Repeated texts are counted.

    With the `popularity` ``words``, counts are estimated from word frequencies instead. This is
    the default for ``icd10cm`` and ``wordnet``, which have no counts.
    """
    if popularity is not None and popularity not in POPULARITIES:
        raise ParameterError(
            f"The popularity of a universe must be one of: {', '.join(POPULARITIES)}."
        )
    universe = _read(source, part, report)
    usual = "words" if str(source) in BUILT_IN and part in (None, "log") else "counts"
    if (popularity or usual) == "words":
        universe = universe.estimated(names_of if str(source) == "wordnet" else None)
    return universe.sampled(sample)


def names_of(gloss: str) -> list[str]:
    """Return the names in front of a WordNet gloss.

    >>> names_of("skin cancer, cutis: a growth")
    ['skin cancer', 'cutis']
    """
    return gloss.partition(": ")[0].split(", ")


def _read(source: str | Path, part: Part | None, report: Report) -> Universe:
    if part is not None and part not in PARTS:
        raise ParameterError(f"The part of a universe must be one of: {', '.join(PARTS)}.")
    name = str(source)
    if not name.strip():
        raise InputError("A universe must have a name: icd10cm, wordnet, a collection or a file.")
    if name == "wordnet":
        if part is not None:
            raise ParameterError(
                "wordnet must not have a 'part', because it has only one. Leave it out."
            )
        nouns = Universe.of(glosses(report), "wordnet", counted=False)
        return nouns.evenly(min(NOUNS, len(nouns)))
    path = Path(source)
    shown = name if name in NAMES or name.startswith("irds:") else path.name
    if part is None and path.is_file():
        return Universe.of_pairs(read_counted(path), shown)
    section: Part = part or ("log" if name in NAMES else "passages")
    texts = _of_collection(source, section, report)
    label = shown if name in NAMES and section == "log" else f"{shown}, {section}"
    counted = section in ("queries", "log")
    return Universe.of(texts, label, counted=counted)


def _check_count(count: object, where: str) -> None:
    whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
    if not whole or not 1 <= count <= MAX_COUNT:  # type: ignore[operator]  # a number
        raise InputError(f"{where} must have an integer from 1 to {MAX_COUNT:,} as its count.")


def titles_of(documents: Documents) -> Iterator[str]:
    """Yield the title of each document, or its first words if it has no title."""
    for title, text in zip(documents.titles, documents.texts, strict=True):
        yield title or " ".join(text.split()[:_TITLE])


def _of_collection(source: str | Path, part: Part, report: Report) -> Iterable[str]:
    if part in ("queries", "log") and str(source).startswith("irds:"):
        return read_log(str(source))
    collection = load_collection(source, report)
    documents = collection.documents
    if part == "passages":
        return (text[:_MAX_CHARS] for text in documents.passages)
    if part == "titles":
        return titles_of(documents)
    texts = collection.queries.values() if part == "queries" else collection.log
    if not texts:
        raise InputError(
            f"The collection {collection.name} has no {part}. Try its passages or titles."
        )
    return texts
