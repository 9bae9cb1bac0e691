"""Universes: public texts that queries are looked up among."""

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
NOUNS = 40_000  # of WordNet's 82,000: what two processors encode in a minute
_TITLE = 10  # words of a passage without a title that stand for one


@brief("name", "texts")
@dataclass(frozen=True, eq=False)
class Universe:
    """Distinct public texts in the order in which they first came, and how often each did.

    With the popularity ``words`` the counts are not of the texts: they are estimated from the
    public frequencies of their words.
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
        """Fold and count texts; a mapping has the counts. What has no letter is left out.

        Not `counted`, each counts once: how often a title comes is not how often it is asked for.

        Two texts that are looked up as one are one, spelt as it first came: they differ in case,
        white space or forms of a character alone. Control characters become spaces, as engines
        refuse them, and what is not seen is dropped: all texts of a group must be sent.
        """
        if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
            raise InputError("A universe is a list of texts, or the name of one.")
        pairs = texts.items() if isinstance(texts, Mapping) else ((text, 1) for text in texts)
        found = cls.of_pairs(pairs, name)
        return found if counted else replace(found, counts=np.ones_like(found.counts))

    @classmethod
    def of_pairs(cls, pairs: Iterable[tuple[str, int]], name: str = "texts") -> "Universe":
        """Fold texts as `of` does, and add up their counts."""
        counts: dict[str, int] = {}
        spelt = StringsBuilder()
        letters = False
        for number, (text, count) in enumerate(pairs, start=1):
            if number > MAX_TEXTS:
                raise InputError(f"A universe has at most {MAX_TEXTS:,} texts; take a sample.")
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
            raise InputError("The universe is empty: it needs public texts, such as a catalogue.")
        if not letters:
            raise InputError(
                "The texts of the universe are all numbers; give texts, or call the column of a"
                " table that has them 'query' or 'text'."
            )
        return cls(name, spelt.done(), np.fromiter(counts.values(), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.texts)

    def estimated(self, names: Callable[[str], Sequence[str]] | None = None) -> "Universe":
        """Estimate how often each text is asked, in place of the counts that there are.

        `names` gives what people would type for a text: the text itself by default.
        """
        spelt = ((text,) if names is None else names(text) for text in self.texts)
        return replace(self, counts=estimate_counts(spelt), popularity="words")

    def sampled(self, share: float) -> "Universe":
        """Take a share of the texts, evenly."""
        if not 0 < share <= 1:
            raise ParameterError("The share of a universe must be a number > 0, at most 1.")
        if share == 1:
            return self
        found = self.evenly(max(1, round(len(self) * share)))
        return replace(found, name=f"{self.name}, a share of {share:g}")

    def evenly(self, wanted: int) -> "Universe":
        """Take so many texts, from the whole length of it."""
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
    """Read a universe by name or path.

    ``icd10cm`` has the terms of the classification, ``wordnet`` 40,000 of its nouns with what they
    mean. A collection (a folder, an index, ``irds:ID``) has its ``passages``, its ``titles`` (the
    first ten words where there is none), its ``queries`` or its ``log``; passages by default. A
    file holds queries, one per line or in a table, unless `part` says that it holds
    documents; a table may have a column ``count``. Texts that come more often count as often.

    With the `popularity` ``words`` how often a text is asked is estimated from the frequencies of
    its words instead. That is the default for ``icd10cm`` and ``wordnet``, which have no counts.
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
    """Return the names in front of a gloss of WordNet.

    >>> names_of("skin cancer, cutis: a growth")
    ['skin cancer', 'cutis']
    """
    return gloss.partition(": ")[0].split(", ")


def _read(source: str | Path, part: Part | None, report: Report) -> Universe:
    if part is not None and part not in PARTS:
        raise ParameterError(f"The part of a universe must be one of: {', '.join(PARTS)}.")
    name = str(source)
    if not name.strip():
        raise InputError("A universe needs a name: icd10cm, wordnet, a collection or a file.")
    if name == "wordnet":
        if part is not None:
            raise ParameterError("wordnet has one part only; leave the part out.")
        nouns = Universe.of(glosses(report), "wordnet", counted=False)
        return nouns.evenly(min(NOUNS, len(nouns)))
    path = Path(source)
    shown = name if name in NAMES or name.startswith("irds:") else path.name
    if part is None and path.is_file():
        return Universe.of_pairs(read_counted(path), shown)
    chosen: Part = part or ("log" if name in NAMES else "passages")
    texts = _of_collection(source, chosen, report)
    told = shown if name in NAMES and chosen == "log" else f"{shown}, {chosen}"
    asked = chosen in ("queries", "log")
    return Universe.of(texts, told, counted=asked)


def _check_count(count: object, where: str) -> None:
    whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
    if not whole or not 1 <= count <= MAX_COUNT:  # type: ignore[operator]  # it is a number
        raise InputError(
            f"{where} must have a whole number >= 1 as its count, at most {MAX_COUNT:,}."
        )


def titles_of(documents: Documents) -> Iterator[str]:
    """Yield the title of each document, or the first words of one that has none."""
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
    found = collection.queries.values() if part == "queries" else collection.log
    if not found:
        raise InputError(
            f"The collection {collection.name} has no {part}; take its passages or titles."
        )
    return found
