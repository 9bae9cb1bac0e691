"""Find what is personal in a text, replace it, and leave the rest to a mechanism."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, get_args

from veil.core.errors import ParameterError
from veil.core.registry import did_you_mean
from veil.corpus.tokens import Token, tokens
from veil.text.redact.presidio import PresidioFinder
from veil.text.redact.pseudonyms import Pseudonyms
from veil.text.redact.recognisers import RECOGNISERS
from veil.text.redact.span import NormalisedText, Place, Span, without_overlaps

_MARK = r"[_|\\]"  # which separate groups next to a digit
_MARKS = re.compile(rf"(?<=[^\W_]){_MARK}(?=\d)|(?<=\d){_MARK}(?=[^\W_])", re.ASCII)
_RANKS = {kind: rank for rank, kind in enumerate(RECOGNISERS)}
_HOLE = "\0"  # no digit, no letter, and nothing that stands between the digits of a number


class Patterns:
    """Finds e-mail and IP addresses, cards, accounts, telephone and national numbers, and dates.

    Names of people and places have no shape: they are not found.
    """

    kinds = tuple(RECOGNISERS)

    def spans(self, text: str) -> list[Span]:
        """Return what was found, in order.

        Each recogniser looks at the whole text, and at what those before it left of it: a number
        that a date stands beside is longer than it should be in the one, and cut in the other
        where a date was seen in the middle of it. They look at the plain text, at the same with
        hyphens for underscores and bars next to digits, and at the text as it stands, where a
        dash of print may separate two things.
        """
        plain = NormalisedText(text)
        spans = []
        for view in dict.fromkeys((plain.text, _MARKS.sub("-", plain.text))):
            spans += [Span(*plain.place((s.start, s.end)), s.kind) for s in _spans_of(view)]
        if plain.text != text:
            for kind, find in RECOGNISERS.items():
                spans += [Span(start, end, kind) for start, end in find(text)]
        return without_overlaps(sorted(spans, key=lambda span: _RANKS[span.kind]))


def _spans_of(text: str) -> list[Span]:
    left, spans = text, list[Span]()
    for kind, find in RECOGNISERS.items():
        places = [*find(text), *(find(left) if spans else ())]
        spans += [Span(start, end, kind) for start, end in places]
        left = _without(left, places)
    return spans


def _without(text: str, places: Sequence[Place]) -> str:
    """Return a text with holes."""
    if not places:
        return text
    characters = list(text)
    for start, end in places:
        characters[start:end] = _HOLE * (end - start)
    return "".join(characters)


By = Literal["patterns", "presidio"]
LEAST = 0.35  # how sure Presidio must be; below it takes every word for a driving licence
FOUND = (
    "What was recognised as personal data was replaced first: its kind and place are visible,"
    " nothing is bounded between a text with it and one without, and what was not recognised went"
    " through the mechanism like any word."
)
LINKED = (
    "The same personal data has the same pseudonym everywhere: texts that share it can be told to,"
    " also those of other runs with the same map."
)


class PersonalDataFinder(Protocol):
    """Finds personal data in a text."""

    def spans(self, text: str) -> list[Span]:
        """Return what was found, in order, no two overlapping."""
        ...


@dataclass(frozen=True)
class Redactor:
    """Who looks for personal data, and what stands in its place.

    Attributes
    ----------
    by
        ``patterns``: shapes and checksums, on this machine, without a model; ``presidio``: the
        detectors of Presidio (extra ``pii``), and the names that a `model` of spaCy finds.
    pseudonyms
        None for the kind alone, as ``[EMAIL]``; else the same text is the same pseudonym
        everywhere, as ``[EMAIL-x2k7...]``, and can be put back by who has the map.
    """

    by: By = "patterns"
    pseudonyms: Pseudonyms | None = None
    model: str = ""

    def __post_init__(self) -> None:
        if self.by not in get_args(By):
            raise ParameterError(
                "The 'redact' argument must be 'patterns' or 'presidio'."
                + did_you_mean(str(self.by)[:40], get_args(By))
            )
        if self.model and self.by != "presidio":
            raise ParameterError("A model finds names for 'presidio' alone; leave it out.")

    @cached_property
    def _detector(self) -> PersonalDataFinder:
        return Patterns() if self.by == "patterns" else _Presidio(PresidioFinder(self.model))

    def __getstate__(self) -> dict[str, object]:
        """Hand workers the choices; each makes its own detector."""
        return {"by": self.by, "pseudonyms": self.pseudonyms, "model": self.model}

    @property
    def told(self) -> tuple[str, ...]:
        """What no bound covers because of this, a sentence each."""
        return (FOUND,) if self.pseudonyms is None else (FOUND, LINKED)

    def spans(self, text: str, words: Sequence[Token] | None = None) -> list[Span]:
        """Return where personal data stands; a word that is cut by it belongs to it as a whole."""
        found = tokens(text) if words is None else words
        spans = []
        for span in self._detector.spans(text):
            first = bisect_right(found, span.start, key=_end)
            last = bisect_left(found, span.end, key=_start) - 1
            start = min(span.start, found[first].start) if first <= last else span.start
            end = max(span.end, found[last].end) if first <= last else span.end
            spans.append(Span(start, end, span.kind))
        return without_overlaps(spans)

    def note(self, text: str) -> None:
        """Remember the pseudonyms of a text that others protect."""
        for span in self.spans(text):
            self.stand_in(text, span)

    def stand_in(self, text: str, span: Span) -> str:
        """Return what is written in the place of a span."""
        if self.pseudonyms is None:
            return f"[{span.kind}]"
        return self.pseudonyms.name(span.kind, text[span.start : span.end])


def _start(word: Token) -> int:
    return word.start


def _end(word: Token) -> int:
    return word.end


class _Presidio:
    """Presidio with a bound on how unsure it may be."""

    def __init__(self, detector: PresidioFinder) -> None:
        self._detector = detector

    def spans(self, text: str) -> list[Span]:
        """Return what Presidio finds."""
        return self._detector.spans(text, LEAST)


def redactor_of(redact: str | Redactor | None) -> Redactor | None:
    """Return a redactor by the name of who looks, or as it is."""
    if redact is None or isinstance(redact, Redactor):
        return redact
    return Redactor(by=redact)  # type: ignore[arg-type]  # checked there, with a sentence
