"""FEA: the keyqueries of Fröbe, Schmidt and Hagen."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.corpus.catalogue import Collection, load_collection
from veil.corpus.lexical import Lexical, analyse, term_of, top, words_of
from veil.corpus.tokens import STOP_WORDS
from veil.corpus.wordnet import Thesaurus, wordnet
from veil.text.mechanisms.mechanism import QueryMechanism, QueryRelease
from veil.text.mechanisms.queries._secret import Secret
from veil.text.vectors.embeddings import is_word

_COMBINATIONS = 8  # combinations of terms to consider, per candidate that is run


@dataclass(frozen=True, slots=True)
class Candidate:
    """A query: its terms, sorted, and its words in the order of the document."""

    terms: tuple[int, ...]
    words: tuple[str, ...]


def combinations(
    words: Sequence[tuple[str, int]], window: int, longest: int
) -> Iterator[Candidate]:
    """Yield every combination of 1 to `longest` different terms within a window.

    `words` are the words of a text with the number of their term, or -1 for a word that must not
    be used but takes up a position. The combinations are in the order of their words' positions.
    """

    def grow(positions: tuple[int, ...]) -> Iterator[Candidate]:
        terms = tuple(words[i][1] for i in positions)
        yield Candidate(tuple(sorted(terms)), tuple(words[i][0] for i in positions))
        if len(positions) < longest:
            for i in range(positions[-1] + 1, min(positions[0] + window, len(words))):
                if words[i][1] >= 0 and words[i][1] not in terms:
                    yield from grow((*positions, i))

    for first, (_, term) in enumerate(words):
        if term >= 0:
            yield from grow((first,))


def candidates(
    texts: Sequence[Sequence[tuple[str, int]]],
    weights: Mapping[int, float],
    window: int,
    longest: int,
    limit: int,
) -> list[Candidate]:
    """Return the `limit` distinct candidates in the texts with the largest term weights.

    Only the heaviest terms are combined: as many as give at least eight times `limit`
    combinations.
    """
    ranked = sorted(weights, key=lambda term: (-weights[term], term))
    heavy = set(ranked[: _terms_needed(len(ranked), longest, limit * _COMBINATIONS)])
    distinct: dict[tuple[int, ...], Candidate] = {}
    for text in texts:
        marked = [(word, term if term in heavy else -1) for word, term in text]
        for candidate in combinations(marked, window, longest):
            distinct.setdefault(candidate.terms, candidate)
    order = sorted(distinct, key=lambda terms: (-sum(weights[term] for term in terms), terms))
    return [distinct[terms] for terms in order[:limit]]


def _terms_needed(terms: int, longest: int, combinations: int) -> int:
    """Return the number of terms that gives at least this many combinations, at most `terms`."""
    number, count = 0, 0
    while number < terms and count < combinations:
        number += 1
        count, binomial = 0, 1
        for size in range(1, longest + 1):
            binomial = binomial * (number - size + 1) // size
            count += binomial
    return number


DEPTH = 100  # ranks that count
K1, B = 0.9, 0.4


class OpenedFEA:
    """An index with BM25 weights. Scores are sums over terms, and ties are broken by position."""

    def __init__(self, lexical: Lexical) -> None:
        self.lexical = lexical
        self._weights = lexical.weights("bm25", K1, B)

    def postings(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the documents of a term, and the scores that it adds to them."""
        start, end = self.lexical.indptr[term : term + 2]
        return self.lexical.docs[start:end], self._weights[start:end]

    def top(self, terms: Sequence[int], k: int) -> Ids:
        """Return the `k` best documents of a query, fewer if fewer contain one of its terms."""
        scores = np.zeros(self.lexical.size)
        for term in terms:
            documents, weights = self.postings(term)
            scores[documents] += weights
        return top(scores, k, above=0.0)

    def weigh(self, terms: Sequence[int], targets: Ids) -> Floats:
        """Return the score (n,) that each term adds to the targets, summed over the targets."""
        total = np.zeros(len(terms))
        ordered = np.sort(targets).astype(np.int32)
        for row, term in enumerate(terms):
            documents, weights = self.postings(term)
            at = np.minimum(np.searchsorted(documents, ordered), len(documents) - 1)
            total[row] = weights[at[documents[at] == ordered]].sum(dtype=np.float64)
        return total

    def ndcg(self, queries: Sequence[Sequence[int]], targets: Ids) -> Floats:
        """Return the nDCG (n,) of the targets among the first 100 documents of each query."""
        ranks = np.arange(1, max(DEPTH, len(targets)) + 1)
        gains = np.where(ranks <= DEPTH, 1 / np.log2(1 + ranks), 0.0)
        ideal = gains[: len(targets)].sum()
        scores = np.zeros(self.lexical.size)
        values = np.zeros(len(queries))
        for row, terms in enumerate(queries):
            better = self._better(terms, targets, scores)
            values[row] = gains[better[better < DEPTH]].sum() / ideal
        return values

    def _better(self, terms: Sequence[int], targets: Ids, scores: Floats) -> Ids:
        """Return the number of documents before each target that can be in the first 100.

        `scores` is a buffer of zeros, and is zero again at the end.
        """
        postings = [self.postings(term) for term in terms]
        for documents, weights in postings:
            scores[documents] += weights
        own = scores[targets]
        every = np.concatenate([documents for documents, _ in postings])
        values = np.empty(len(every))
        end = 0
        for documents, _ in postings:
            start, end = end, end + len(documents)
            values[start:end] = scores[documents]
            scores[documents] = 0  # so that no document is counted twice
        least = np.partition(values, -DEPTH)[-DEPTH] if len(values) > DEPTH else 0.0
        counts = (own > 0) & (own >= least)
        positions, own = targets[counts, None], own[counts, None]
        rivals = values >= own.min(initial=np.inf)
        values, every = values[rivals], every[rivals]
        before = (values > own) | ((values == own) & (every < positions))
        better: Ids = before.sum(axis=1)
        return better

    def pmi(self, queries: Sequence[Sequence[int]], targets: Ids) -> Floats:
        """Return the pointwise mutual information (n,) of the terms of a query and the targets."""
        ordered = np.sort(targets)
        values = np.full(len(queries), -np.inf)
        for row, terms in enumerate(queries):
            matching = self.postings(terms[0])[0]
            for term in terms[1:]:
                matching = np.intersect1d(matching, self.postings(term)[0], assume_unique=True)
            hits = int(np.isin(matching, ordered).sum())
            if hits:
                ratio = hits * self.lexical.size / (len(matching) * len(targets))
                values[row] = np.log(ratio)
        return values


_PHRASE = 3  # words of the text that are looked up together
Words = list[tuple[str, int]]  # the words of a document, and the number of their term


class FEA(QueryMechanism):
    r"""Search for the documents that the text would find, with other words of these documents.

    The target documents T are the first results of a local BM25 search (k1 = 0.9, b = 0.4) for the
    text. Candidates are the combinations of 1 to `longest` words within a window of a target
    document without its stop words. Each is run on the local index, and scored by the ranks of the
    targets among its first 100 documents:

    .. math:: nDCG = DCG/ideal, \quad DCG = \sum d \in targets: 1/\log(1 + rank(d)), \quad
       ideal = \sum i = 1 \dots |targets|: 1/\log(1 + i)

    No candidate has a word of the text, or a synonym, hyponym or hypernym of one.

    **Nothing is proved**: see `guarantee`.

    References
    ----------
    Fröbe, Schmidt, Hagen. Efficient Query Obfuscation with Keyqueries. WI-IAT 2021.
    For ``score='pmi'``: Arampatzis, Drosatos, Efraimidis. Versatile Query Scrambling for Private
    Web Search. Information Retrieval Journal 18, 2015. doi:10.1007/s10791-015-9256-0

    Notes
    -----
    All targets have equal weight. Only the candidates with the largest term weights in the targets
    are run (`candidates`). Words are compared by index term and by the forms of
    `veil.corpus.wordnet`, and neighbouring words of the text are looked up together, too ("heart
    attack"). Every word of a synonym is excluded. For a hyponym or hypernym of several words, a
    candidate with all of them is excluded. Ties go to the shorter candidate, then to alphabetical
    order. ``pmi`` is the logarithm of n |R and T| / (|R| |T|), where R are the documents, out of
    n, that contain all terms of the candidate.
    """

    name: ClassVar[str] = "fea"
    paper: ClassVar[str] = "Fröbe et al., 2021"
    family: ClassVar[str] = "Heuristics"
    needs: ClassVar[frozenset[str]] = frozenset({"wordnet"})

    window: Annotated[int, Field(ge=3, le=64, description="words in a window", examples=[12])] = 12
    longest: Annotated[
        int, Field(ge=1, le=4, description="maximum number of words in a query", examples=[3])
    ] = 3
    targets: Annotated[
        int,
        Field(ge=1, le=100, description="documents that the queries should find", examples=[10]),
    ] = 10
    index: Annotated[
        str,
        Field(
            min_length=1,
            description="local collection: a name, or a folder written by 'veil index'; its words"
            " are sent, so it must be public",
            examples=["icd10cm"],
        ),
    ] = "icd10cm"
    score: Annotated[
        Literal["ndcg", "pmi"],
        Field(description="nDCG of the targets, or pointwise mutual information with them"),
    ] = "ndcg"
    candidates: Annotated[
        int,
        Field(ge=10, le=1_000_000, description="number of candidates to run", examples=[3000]),
    ] = 3000

    @property
    def guarantee(self) -> Guarantee:
        """No guarantee: see the caveat."""
        return Guarantee(
            "none",
            unit="query",
            caveat="Nothing is proved: the queries are a fixed function of the text and of the"
            " local collection. An engine that has the collection can find the target documents,"
            " and from these the text. The words of the queries come from the collection, which"
            " must be public.",
        )

    def bind(self) -> "KeyqueryIndex":
        """Open the local collection with its index, and WordNet."""
        return KeyqueryIndex(self, load_collection(self.index), wordnet())


class KeyqueryIndex:
    """FEA with its collection and dictionary."""

    def __init__(self, mechanism: FEA, collection: Collection, thesaurus: Thesaurus) -> None:
        self._mechanism = mechanism
        self._documents = collection.documents
        self._thesaurus = thesaurus
        self._runner = OpenedFEA(collection.lexical())
        self._terms = self._runner.lexical.terms

    def scramble(self, text: str, size: int) -> QueryRelease:
        """Return the candidates that find the targets best."""
        words = [word for word in words_of(text) if word not in STOP_WORDS]
        targets = self._runner.top(self._runner.lexical.ids(text), self._mechanism.targets)
        texts = [self._words(int(target)) for target in targets]
        forbidden = _Forbidden(self._thesaurus, words)
        terms = self._allowed(texts, forbidden)
        weights = self._runner.weigh(terms, targets)
        allowed = [
            candidate
            for candidate in candidates(
                texts,
                dict(zip(terms, weights.tolist(), strict=True)),
                self._mechanism.window,
                self._mechanism.longest,
                self._mechanism.candidates,
            )
            if not forbidden.has_phrase(frozenset(map(term_of, candidate.words)))
        ]
        run = self._runner.ndcg if self._mechanism.score == "ndcg" else self._runner.pmi
        scores = run([candidate.terms for candidate in allowed], targets)
        ranked = sorted(
            (-score, len(candidate.words), " ".join(candidate.words))
            for score, candidate in zip(scores.tolist(), allowed, strict=True)
            if np.isfinite(score) and (score > 0 or self._mechanism.score == "pmi")
        )
        return QueryRelease(tuple(query for _, _, query in ranked[:size]), (), len(words))

    def _words(self, target: int) -> Words:
        """Return the words of a document without stop words, with their terms.

        A run of underscores counts as a word of the index. It takes up a position, but is not
        sent.
        """
        return [
            (word, self._terms.get(term, -1) if is_word(word) else -1)
            for word in words_of(self._documents.passages[target])
            if word not in STOP_WORDS and (term := term_of(word))
        ]

    def _allowed(self, texts: list[Words], forbidden: "_Forbidden") -> list[int]:
        """Return the terms that may be sent. One forbidden spelling rules out a term."""
        bad: set[int] = set()
        spellings = {spelling for text in texts for spelling in text}
        for word, term in spellings:
            if term < 0 or forbidden.has_word(word):
                bad.add(term)
        return sorted({term for _, term in spellings} - bad)


class _Forbidden:
    """Words that a candidate must not contain: words of the text, and related words."""

    def __init__(self, thesaurus: Thesaurus, words: list[str]) -> None:
        self._secret = Secret(thesaurus, words)
        self._terms = {term_of(word) for word in words}
        self._phrases: set[frozenset[str]] = set()
        for name in _phrases(words):
            for synonym in thesaurus.synonyms(name):
                self._terms.update(analyse(synonym))
            for relative in thesaurus.hypernyms(name) | thesaurus.hyponyms(name):
                self._phrases.add(frozenset(analyse(relative)))
        self._terms.update(*(phrase for phrase in self._phrases if len(phrase) == 1))
        self._phrases = {phrase for phrase in self._phrases if len(phrase) > 1}

    def has_word(self, word: str) -> bool:
        """Return whether a word must not be in any candidate."""
        return term_of(word) in self._terms or self._secret.reveals(word)

    def has_phrase(self, terms: frozenset[str]) -> bool:
        """Return whether terms contain all words of a related phrase."""
        return any(phrase <= terms for phrase in self._phrases)


def _phrases(words: list[str]) -> set[str]:
    """Return the words, and all phrases of neighbouring words."""
    return {
        " ".join(words[start : start + count])
        for count in range(1, _PHRASE + 1)
        for start in range(len(words) - count + 1)
    }
