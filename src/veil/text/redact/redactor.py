"""Find personal data in a text, by patterns or Presidio, and replace it."""

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

_MARK = r"[_|\\]"  # separates groups of digits
_MARKS = re.compile(rf"(?<=[^\W_]){_MARK}(?=\d)|(?<=\d){_MARK}(?=[^\W_])", re.ASCII)
_RANKS = {kind: rank for rank, kind in enumerate(RECOGNISERS)}
_HOLE = "\0"  # neither digit nor letter nor a separator within a number


class Patterns:
    """Finds e-mail and IP addresses, cards, accounts, telephone and national numbers, and dates.

    It cannot find names of people and places, which have no pattern.
    """

    kinds = tuple(RECOGNISERS)

    def spans(self, text: str) -> list[Span]:
        """Return the spans of personal data, in order.

        Each recogniser reads the whole text, and the text without the matches of the recognisers
        before it: a date next to a number may be mistaken for part of it, and a date matched
        inside a number would split it. They read the normalised text, the same with hyphens for
        underscores and bars next to digits, and the original, in which a typographic dash may
        separate two items.
        """
        normalised = NormalisedText(text)
        spans = []
        for view in dict.fromkeys((normalised.text, _MARKS.sub("-", normalised.text))):
            spans += [Span(*normalised.place((s.start, s.end)), s.kind) for s in _spans_of(view)]
        if normalised.text != text:
            for kind, find in RECOGNISERS.items():
                spans += [Span(start, end, kind) for start, end in find(text)]
        return without_overlaps(sorted(spans, key=lambda span: _RANKS[span.kind]))


def _spans_of(text: str) -> list[Span]:
    rest, spans = text, list[Span]()
    for kind, find in RECOGNISERS.items():
        places = [*find(text), *(find(rest) if spans else ())]
        spans += [Span(start, end, kind) for start, end in places]
        rest = _without(rest, places)
    return spans


def _without(text: str, places: Sequence[Place]) -> str:
    if not places:
        return text
    characters = list(text)
    for start, end in places:
        characters[start:end] = _HOLE * (end - start)
    return "".join(characters)


By = Literal["patterns", "presidio"]
LEAST = 0.35  # lowest score of Presidio; below it every word is a driving licence
FOUND = (
    "Recognised personal data was replaced first: its kind and position are visible, and there is"
    " no bound between a text with it and one without. Unrecognised personal data went through the"
    " mechanism like any word."
)
LINKED = (
    "The same personal data has the same pseudonym everywhere, so texts that share it can be"
    " linked, also across runs with the same map."
)


class PersonalDataFinder(Protocol):
    """Finds personal data in a text."""

    def spans(self, text: str) -> list[Span]:
        """Return the spans of personal data, in order and without overlaps."""
        ...


@dataclass(frozen=True)
class Redactor:
    """A detector of personal data, and the form of the replacements.

    Attributes
    ----------
    by
        ``patterns`` (regular expressions and checksums, without a model) or ``presidio`` (the
        detectors of Presidio, extra ``pii``). Both run locally.
    pseudonyms
        None to write the kind only, such as ``[EMAIL]``. Otherwise equal data gets the same
        pseudonym everywhere, such as ``[EMAIL-x2k7...]``, which the owner of the map can undo.
    model
        A spaCy model, with which Presidio also finds names.
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
            raise ParameterError("A 'model' needs redact='presidio'. Leave it out.")

    @cached_property
    def _detector(self) -> PersonalDataFinder:
        return Patterns() if self.by == "patterns" else _Presidio(PresidioFinder(self.model))

    def __getstate__(self) -> dict[str, object]:
        """Return the parameters: each worker creates its own detector."""
        return {"by": self.by, "pseudonyms": self.pseudonyms, "model": self.model}

    @property
    def told(self) -> tuple[str, ...]:
        """Limits of the guarantee that result from redaction."""
        return (FOUND,) if self.pseudonyms is None else (FOUND, LINKED)

    def spans(self, text: str, words: Sequence[Token] | None = None) -> list[Span]:
        """Return the spans of personal data, widened to whole words."""
        tokenised = tokens(text) if words is None else words
        spans = []
        for span in self._detector.spans(text):
            first = bisect_right(tokenised, span.start, key=_end)
            last = bisect_left(tokenised, span.end, key=_start) - 1
            start = min(span.start, tokenised[first].start) if first <= last else span.start
            end = max(span.end, tokenised[last].end) if first <= last else span.end
            spans.append(Span(start, end, span.kind))
        return without_overlaps(spans)

    def note(self, text: str) -> None:
        """Add the pseudonyms of a text to the map without replacing them."""
        for span in self.spans(text):
            self.stand_in(text, span)

    def stand_in(self, text: str, span: Span) -> str:
        """Return the replacement of a span."""
        if self.pseudonyms is None:
            return f"[{span.kind}]"
        return self.pseudonyms.name(span.kind, text[span.start : span.end])


def _start(word: Token) -> int:
    return word.start


def _end(word: Token) -> int:
    return word.end


class _Presidio:
    """Presidio with a lower limit on its scores."""

    def __init__(self, detector: PresidioFinder) -> None:
        self._detector = detector

    def spans(self, text: str) -> list[Span]:
        """Return the spans that Presidio finds."""
        return self._detector.spans(text, LEAST)


def redactor_of(redact: str | Redactor | None) -> Redactor | None:
    """Return a redactor by the name of its detector; a `Redactor` is returned unchanged."""
    if redact is None or isinstance(redact, Redactor):
        return redact
    return Redactor(by=redact)  # type: ignore[arg-type]  # checked there
