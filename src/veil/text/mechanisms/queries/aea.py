"""AEA: the query scrambler of Arampatzis, Efraimidis and Drosatos."""

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.guarantee import Guarantee
from veil.corpus.tokens import MASK, STOP_WORDS, Kind, bare_parts, tagger, tokens, without_clitic
from veil.corpus.wordnet import Closeness, Thesaurus, wordnet
from veil.text.mechanisms.mechanism import QueryMechanism, QueryRelease
from veil.text.mechanisms.queries._secret import BREAK, Secret


def best_first(slots: Sequence[Sequence[float]]) -> Iterator[tuple[int, ...]]:
    """Yield combinations of one index per slot, by decreasing product of values, then by index.

    The values of a slot must be non-increasing and in [0, 1]. Each combination is reached from
    exactly one other: the one whose last non-zero index is smaller by one. Only a heap of the next
    combinations is kept in memory.

    >>> list(best_first([[1.0, 0.5], [1.0, 0.2]]))
    [(0, 0), (1, 0), (0, 1), (1, 1)]
    """
    if not all(slots):
        return
    start = (0,) * len(slots)
    heap = [(-_product(slots, start), start, 0)]
    while heap:
        _, indices, last = heapq.heappop(heap)
        yield indices
        for slot in range(last, len(slots)):
            index = indices[slot] + 1
            if index < len(slots[slot]):
                following = (*indices[:slot], index, *indices[slot + 1 :])
                heapq.heappush(heap, (-_product(slots, following), following, slot))


def _product(slots: Sequence[Sequence[float]], indices: tuple[int, ...]) -> float:
    return math.prod(values[index] for values, index in zip(slots, indices, strict=True))


_CONTENT = ("NN", "VB", "JJ")
_MAX_TRIED = 100  # combinations tried per requested query; only duplicates are skipped


class AEA(QueryMechanism):
    r"""Replace every noun, verb and adjective by a less specific word from WordNet.

    The candidates of a term are its synonyms, its hypernyms up to `level` steps, and its holonyms,
    each with its semantic closeness to the term. A query has one candidate for each term. Queries
    are ranked by the product of the closenesses.

    .. math:: s(v) = \prod i: c(w_i, v_i)

    **Nothing is proved**: see `guarantee`.

    References
    ----------
    Arampatzis, Efraimidis, Drosatos. A query scrambler for search privacy on the internet.
    Information Retrieval 16, 2013. doi:10.1007/s10791-012-9212-1

    Notes
    -----
    Queries are words in lower case, separated by spaces, because punctuation and case would reveal
    something about the text. Function words stay. `unknown` decides about any other word without
    candidates (names, numbers, adverbs, words that WordNet does not have). With
    ``originals='remove'`` no candidate contains a form of a content word of the text: the same
    word, stem or base form, even inside a compound. To compare with published variants, which keep
    both, use ``AEA(originals='allow', unknown='keep')``. In the published variants for TREC DL
    2019, level 3, 84 % of the replacements are among the candidates of one sense, and 90 % among
    those of all senses, which are three times as many.
    """

    name: ClassVar[str] = "aea"
    paper: ClassVar[str] = "Arampatzis et al., 2013"
    family: ClassVar[str] = "Heuristics"
    needs: ClassVar[frozenset[str]] = frozenset({"wordnet"})

    level: Annotated[
        int,
        Field(
            ge=1,
            le=20,
            description="steps up the hierarchy of hypernyms",
            examples=[3],
            json_schema_extra=PRIVATE,
        ),
    ] = 3
    senses: Annotated[
        int,
        Field(
            ge=0,
            le=100,
            description="senses of a word to use, the most frequent first; 0: all",
        ),
    ] = 1
    closeness: Annotated[
        Closeness, Field(description="path (1 / number of steps) or wup (Wu and Palmer)")
    ] = "path"
    originals: Annotated[
        Literal["remove", "allow"],
        Field(description="whether a query may contain some of the original words"),
    ] = "remove"
    unknown: Annotated[
        Literal["drop", "mask", "keep"],
        Field(description="what happens to a word without candidates"),
    ] = "drop"

    @property
    def guarantee(self) -> Guarantee:
        """No guarantee: see the caveat."""
        originals = " Words of the text may be among them." * (
            self.originals == "allow" or self.unknown == "keep"
        )
        return Guarantee(
            "none",
            unit="query",
            caveat="Nothing is proved: the queries are a fixed function of the text and of a"
            " public dictionary. An engine can search for texts that give the queries it sees, and"
            f" often finds one. Function words are left unchanged.{originals}",
        )

    def bind(self) -> "OpenedAEA":
        """Open WordNet and the tagger."""
        return OpenedAEA(self, wordnet())


@dataclass(frozen=True, slots=True)
class _Term:
    """A word to replace: its candidates, closest first, with their closenesses."""

    words: tuple[str, ...]
    values: tuple[float, ...]


class OpenedAEA:
    """AEA with its dictionary."""

    def __init__(self, mechanism: AEA, thesaurus: Thesaurus) -> None:
        self._mechanism = mechanism
        self._thesaurus = thesaurus
        self._tag = tagger()

    def scramble(self, text: str, size: int) -> QueryRelease:
        """Return the best combinations of candidates."""
        words = [text[t.start : t.end] for t in tokens(text)]
        kinds = [token.kind for token in tokens(text)]
        content = [not _is_function(word, kind) for word, kind in zip(words, kinds, strict=True)]
        secret = Secret(
            self._thesaurus, [word for word, hides in zip(words, content, strict=True) if hides]
        )
        layout: list[str | _Term] = []
        passed: list[str] = []
        protected = 0
        for word, kind, tag, hides in zip(words, kinds, self._tags(words), content, strict=True):
            if hides:
                pieces = self._pieces(word, tag if kind is Kind.WORD else "", secret)
                unchanged = [p for p in pieces if isinstance(p, str) and p != MASK]
                passed += unchanged
                protected += not unchanged
                layout += pieces
            else:
                passed.append(word)
                layout.append(word.lower())
        terms = [piece for piece in layout if isinstance(piece, _Term)]
        return QueryRelease(tuple(self._queries(layout, terms, size)), tuple(passed), protected)

    def _queries(self, layout: list[str | _Term], terms: list[_Term], size: int) -> Iterator[str]:
        """Yield the distinct queries of the best combinations, or nothing if there is no term."""
        if not terms:
            return
        original = [0] * len(terms) if self._mechanism.originals == "allow" else None
        queries: set[str] = set()
        for indices in islice(best_first([term.values for term in terms]), size * _MAX_TRIED):
            if list(indices) == original:
                continue
            words = iter(term.words[i] for term, i in zip(terms, indices, strict=True))
            query = " ".join(piece if isinstance(piece, str) else next(words) for piece in layout)
            if query not in queries:
                queries.add(query)
                yield query
            if len(queries) == size:
                return

    def _pieces(self, word: str, tag: str, secret: Secret) -> list[str | _Term]:
        """Look up the whole word, then the parts between its hyphens; else apply `unknown`."""
        whole = without_clitic(word.lower())
        if term := self._term(whole, tag, secret):
            return [term]
        parts = bare_parts(word)
        if len(parts) > 1:
            return [piece for part in parts for piece in self._pieces(part, tag, secret)]
        policy = self._mechanism.unknown
        return [] if policy == "drop" else [MASK if policy == "mask" else word.lower()]

    def _term(self, word: str, tag: str, secret: Secret) -> _Term | None:
        """Return a word with its candidates, or None if it has no candidate."""
        if not tag.startswith(_CONTENT):
            return None
        options = self._mechanism
        related = self._thesaurus.related(
            word, tag, options.level, options.closeness, options.senses
        )
        allow = options.originals == "allow"
        forbidden = Secret(self._thesaurus, [word]) if allow else secret
        usable = {name: value for name, value in related.items() if not forbidden.reveals(name)}
        if not usable:
            return None
        ranked = sorted(usable.items(), key=lambda item: (-item[1], item[0]))
        if allow:  # the word itself comes first, so that the text is the first combination
            ranked = [(word, 1.0), *ranked]
        names, values = zip(*ranked, strict=True)
        return _Term(tuple(" ".join(BREAK.split(name)).strip() for name in names), values)

    def _tags(self, words: list[str]) -> list[str]:
        """Tag the words, with odd spellings replaced: a tagger may split or misread those."""
        if not words:
            return []
        spellings = [word if word.replace("-", "").isalpha() else "thing" for word in words]
        tags = self._tag(spellings)
        return tags if len(tags) == len(words) else ["NN"] * len(words)


def _is_function(word: str, kind: Kind) -> bool:
    return kind is Kind.WORD and (
        word.lower() in STOP_WORDS or without_clitic(word.lower()) in STOP_WORDS
    )
