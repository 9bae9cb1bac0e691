"""Plan for each word of a text whether it is replaced, kept, dropped or masked."""

import unicodedata
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from veil.core.errors import ParameterError
from veil.core.formatting import brief
from veil.corpus.tokens import MASK, STOP_WORDS, Case, Kind, Token, case_of, tokens, without_clitic
from veil.text.redact.redactor import Redactor
from veil.text.redact.span import Span
from veil.text.select import Select, selector
from veil.text.vectors.embeddings import Embeddings

Unknown = Literal["random", "drop", "mask", "keep"]
Policy = Literal["replace", "drop", "mask", "keep"]


@brief()
@dataclass(slots=True)
class WordPlan:
    """The layout of a text, in pieces, and the words to replace."""

    pieces: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)  # to replace, spelt as in the text
    ids: list[int] = field(default_factory=list)  # of these words, -1 if unknown
    cases: list[Case] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    redacted: list[str] = field(default_factory=list)  # kinds of personal data

    @property
    def layout(self) -> str:
        """The text with ``%s`` for each word to replace; a literal % is doubled."""
        return "".join(self.pieces)

    def replace(self, word: str, number: int) -> None:
        """Add a slot for a word."""
        self.pieces.append("%s")
        self.words.append(word)
        self.ids.append(number)
        self.cases.append(case_of(word))

    def write(self, text: str) -> None:
        """Add layout or a mask."""
        if text:
            self.pieces.append(text.replace("%", "%%"))

    def keep(self, word: str) -> None:
        """Add a word unchanged, and record it."""
        self.write(word)
        self.kept.append(word)


def _outside(words: Sequence[Token], spans: Sequence[Span]) -> Iterator[Token]:
    """Yield the words outside all spans; both are in order, and no span cuts a word."""
    remaining = deque(spans)
    for word in words:
        while remaining and remaining[0].end <= word.start:
            remaining.popleft()
        if not remaining or word.start < remaining[0].start:
            yield word


def _start(part: tuple[Token | Span, bool]) -> int:
    return part[0].start


class Planner:
    """Plans texts by the caller's choices."""

    def __init__(
        self,
        space: Embeddings,
        select: Select,
        unknown: Unknown,
        policies: Mapping[str, Policy],
        redactor: Redactor | None = None,
    ) -> None:
        self._space = space
        self._redactor = redactor
        self._select = selector(select)
        self._unknown: Unknown = unknown
        if not isinstance(policies, Mapping):
            raise ParameterError("The 'policies' argument must map kinds of words to policies.")
        self._policies = dict(policies)
        if unknown not in get_args(Unknown):
            raise ParameterError(
                f"The 'unknown' argument must be one of {', '.join(get_args(Unknown))}."
                f" Got {unknown!r:.40} instead."
            )
        kinds = [kind.value for kind in Kind if kind is not Kind.WORD]
        for kind, policy in self._policies.items():
            if kind not in kinds or policy not in get_args(Policy):
                raise ParameterError(
                    f"A policy must map one of {', '.join(kinds)} to one of"
                    f" {', '.join(get_args(Policy))}. Got {kind!r:.40}: {policy!r:.40} instead."
                )

    def plan(self, text: str) -> WordPlan:
        """Return the plan of a text."""
        plan = WordPlan()
        words = tokens(text)
        spans = [] if self._redactor is None else self._redactor.spans(text, words)
        outside = list(_outside(words, spans))
        selected = self._select([text[t.start : t.end] for t in outside])
        parts: list[tuple[Token | Span, bool]] = [*zip(outside, selected, strict=True)]
        at = 0
        for part, select in sorted([*parts, *((span, True) for span in spans)], key=_start):
            self._gap(plan, text[at : part.start])
            if isinstance(part, Span):
                self._replace(plan, text, part)
            else:
                self._word(plan, text[part.start : part.end], part, select=select)
            at = part.end
        self._gap(plan, text[at:])
        return plan

    def _replace(self, plan: WordPlan, text: str, span: Span) -> None:
        if self._redactor is not None:
            plan.write(self._redactor.stand_in(text, span))
            plan.redacted.append(span.kind)

    @staticmethod
    def _gap(plan: WordPlan, gap: str) -> None:
        """Write the text between two words; a dropped word leaves one space."""
        if plan.pieces and gap[:1].isspace() and plan.pieces[-1][-1].isspace():
            gap = gap[1:]
        plan.write(gap)

    def _word(self, plan: WordPlan, word: str, token: Token, *, select: bool) -> None:
        policy = self._policies.get(token.kind.value, "replace")
        if policy == "replace":
            for part, number, joiner in self._parts(word, token.kind):
                self._part(plan, part, number, token.kind, select=select)
                plan.write(joiner)
        else:
            self._settle(plan, word, policy)

    def _part(self, plan: WordPlan, word: str, number: int, kind: Kind, *, select: bool) -> None:
        """Keep an unselected word; replace any other, or apply the policy of unknown words."""
        harmless = number >= 0 or word.lower() in STOP_WORDS
        if kind is Kind.WORD and not select and harmless:
            plan.keep(word)
        elif number >= 0 or self._unknown == "random":
            plan.replace(word, number)
        else:
            self._settle(plan, word, self._unknown)

    @staticmethod
    def _settle(plan: WordPlan, word: str, policy: Unknown | Policy) -> None:
        if policy == "keep":
            plan.keep(word)
        elif policy == "mask":
            plan.write(MASK)
        elif policy != "drop":
            raise ParameterError(f"There is no policy {policy!r:.40}.")

    def _parts(self, word: str, kind: Kind) -> list[tuple[str, int, str]]:
        """Split a word into parts as (part, id, joiner after it).

        A word is looked up whole, then without its clitic (patient's, don't), then by the parts
        between hyphens.
        """
        number = self._id(word)
        if number >= 0 or kind in (Kind.EMAIL, Kind.URL):
            return [(word, number, "")]
        if "'" in word or "’" in word:
            number = self._id(without_clitic(word))
            if number >= 0:
                return [(word, number, "")]
        pieces = word.split("-")
        if len(pieces) == 1 or not all(pieces):
            return [(word, -1, "")]
        ends = ["-"] * (len(pieces) - 1) + [""]
        return [(piece, self._id(piece), end) for piece, end in zip(pieces, ends, strict=True)]

    def _id(self, word: str) -> int:
        return self._space.id(word if word.isascii() else unicodedata.normalize("NFC", word))
