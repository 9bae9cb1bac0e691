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

_ROOM = 8  # combinations of the terms that are looked at, per candidate that is run


@dataclass(frozen=True, slots=True)
class Candidate:
    """A query: its terms, sorted, and its words in the order of the text."""

    terms: tuple[int, ...]
    words: tuple[str, ...]


def combinations(
    words: Sequence[tuple[str, int]], window: int, longest: int
) -> Iterator[Candidate]:
    """Yield every combination of 1 to `longest` different terms within a window.

    `words` are the words of a text with the number of their term, -1 for one that must not be
    taken but has its place. The combinations come by the place of their words.
    """

    def grow(chosen: tuple[int, ...]) -> Iterator[Candidate]:
        terms = tuple(words[place][1] for place in chosen)
        yield Candidate(tuple(sorted(terms)), tuple(words[place][0] for place in chosen))
        if len(chosen) < longest:
            for place in range(chosen[-1] + 1, min(chosen[0] + window, len(words))):
                if words[place][1] >= 0 and words[place][1] not in terms:
                    yield from grow((*chosen, place))

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
    """Return the `limit` candidates of the texts whose terms weigh most, each once.

    Of the terms, only the heaviest are combined: as many as give eight times `limit` combinations.
    """
    ranked = sorted(weights, key=lambda term: (-weights[term], term))
    heavy = set(ranked[: _enough(len(ranked), longest, limit * _ROOM)])
    found: dict[tuple[int, ...], Candidate] = {}
    for text in texts:
        marked = [(word, term if term in heavy else -1) for word, term in text]
        for each in combinations(marked, window, longest):
            found.setdefault(each.terms, each)
    order = sorted(found, key=lambda terms: (-sum(weights[term] for term in terms), terms))
    return [found[terms] for terms in order[:limit]]


def _enough(terms: int, longest: int, wanted: int) -> int:
    """Return how many terms give at least so many combinations, or all of them."""
    many, count = 0, 0
    while many < terms and count < wanted:
        many += 1
        count, row = 0, 1
        for size in range(1, longest + 1):
            row = row * (many - size + 1) // size
            count += row
    return many


DEPTH = 100  # ranks that count
K1, B = 0.9, 0.4


class OpenedFEA:
    """An index with its BM25 weights; scores are sums over the terms, and ties go by position."""

    def __init__(self, lexical: Lexical) -> None:
        self.lexical = lexical
        self._weights = lexical.weights("bm25", K1, B)

    def postings(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the documents of a term, and what it adds to their scores."""
        start, end = self.lexical.indptr[term : term + 2]
        return self.lexical.docs[start:end], self._weights[start:end]

    def top(self, terms: Sequence[int], k: int) -> Ids:
        """Return the `k` best documents of a query, fewer if fewer hold one of its terms."""
        scores = np.zeros(self.lexical.size)
        for term in terms:
            documents, weights = self.postings(term)
            scores[documents] += weights
        return top(scores, k, above=0.0)

    def weigh(self, terms: Sequence[int], targets: Ids) -> Floats:
        """Return what each term adds to the scores of the targets, summed over these (n,)."""
        total = np.zeros(len(terms))
        wanted = np.sort(targets).astype(np.int32)
        for row, term in enumerate(terms):
            documents, weights = self.postings(term)
            at = np.minimum(np.searchsorted(documents, wanted), len(documents) - 1)
            total[row] = weights[at[documents[at] == wanted]].sum(dtype=np.float64)
        return total

    def ndcg(self, queries: Sequence[Sequence[int]], targets: Ids) -> Floats:
        """Return the nDCG of the targets among the first 100 documents, for each query (n,)."""
        ranks = np.arange(1, max(DEPTH, len(targets)) + 1)
        gains = np.where(ranks <= DEPTH, 1 / np.log2(1 + ranks), 0.0)
        ideal = gains[: len(targets)].sum()
        scores = np.zeros(self.lexical.size)
        found = np.zeros(len(queries))
        for row, terms in enumerate(queries):
            better = self._better(terms, targets, scores)
            found[row] = gains[better[better < DEPTH]].sum() / ideal
        return found

    def _better(self, terms: Sequence[int], targets: Ids, scores: Floats) -> Ids:
        """Count the documents before each target that may count; `scores` stays zero."""
        held = [self.postings(term) for term in terms]
        for documents, weights in held:
            scores[documents] += weights
        own = scores[targets]
        every = np.concatenate([documents for documents, _ in held])
        values = np.empty(len(every))
        end = 0
        for documents, _ in held:
            start, end = end, end + len(documents)
            values[start:end] = scores[documents]
            scores[documents] = 0  # so that no document is counted twice
        least = np.partition(values, -DEPTH)[-DEPTH] if len(values) > DEPTH else 0.0
        counts = (own > 0) & (own >= least)
        places, own = targets[counts, None], own[counts, None]
        near = values >= own.min(initial=np.inf)
        values, every = values[near], every[near]
        before = (values > own) | ((values == own) & (every < places))
        better: Ids = before.sum(axis=1)
        return better

    def pmi(self, queries: Sequence[Sequence[int]], targets: Ids) -> Floats:
        """Return the log of how much more often all terms occur in the targets than anywhere."""
        wanted = np.sort(targets)
        found = np.full(len(queries), -np.inf)
        for row, terms in enumerate(queries):
            both = self.postings(terms[0])[0]
            for term in terms[1:]:
                both = np.intersect1d(both, self.postings(term)[0], assume_unique=True)
            hits = int(np.isin(both, wanted).sum())
            if hits:
                share = hits * self.lexical.size / (len(both) * len(targets))
                found[row] = np.log(share)
        return found


_PHRASE = 3  # words of the text that are looked up together
Words = list[tuple[str, int]]  # the words of a document, and the number of their term


class FEA(QueryMechanism):
    r"""Ask for the documents that the text would find, in other words of these documents.

    The target documents T are the first of a local BM25 search (k1 = 0.9, b = 0.4) with the text.
    Candidates are the combinations of 1 to `longest` words within a window of a target document
    without its stop words. Each is run on the local index, and scored by where the targets are
    among its first 100 documents:

    .. math:: nDCG = DCG/ideal, \quad DCG = \sum d \in targets: 1/\log(1 + rank(d)), \quad
       ideal = \sum i = 1 \dots |targets|: 1/\log(1 + i)

    No candidate has a word that is in the text, or is a synonym, hyponym or hypernym of one in it.

    **Nothing is proved**: see `guarantee`.

    References
    ----------
    Fröbe, Schmidt, Hagen. Efficient Query Obfuscation with Keyqueries. WI-IAT 2021.
    For ``score='pmi'``: Arampatzis, Drosatos, Efraimidis. Versatile Query Scrambling for Private
    Web Search. Information Retrieval Journal 18, 2015. doi:10.1007/s10791-015-9256-0

    Notes
    -----
    All targets count the same. Only the candidates whose terms weigh most in the targets are run
    (`candidates`). Words are compared by index term and by the forms of `veil.corpus.wordnet`;
    also neighbouring words of the text are looked up together ("heart attack"). Each word of a
    synonym is excluded; of a hyponym or hypernym of several words, a candidate that holds all of
    them. Of equal candidates the shorter comes first, then the alphabet decides. ``pmi`` is the
    logarithm of n |R and T| / (|R| |T|), with R the documents, out of n, that hold all terms of
    the candidate.
    """

    name: ClassVar[str] = "fea"
    paper: ClassVar[str] = "Fröbe et al., 2021"
    family: ClassVar[str] = "Heuristics"
    needs: ClassVar[frozenset[str]] = frozenset({"wordnet"})

    window: Annotated[int, Field(ge=3, le=64, description="words in a window", examples=[12])] = 12
    longest: Annotated[
        int, Field(ge=1, le=4, description="most words in a query", examples=[3])
    ] = 3
    targets: Annotated[
        int, Field(ge=1, le=100, description="documents that the queries aim at", examples=[10])
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
        Field(ge=10, le=1_000_000, description="candidates that are run", examples=[3000]),
    ] = 3000

    @property
    def guarantee(self) -> Guarantee:
        """Nothing: see the caveat."""
        return Guarantee(
            "none",
            unit="query",
            caveat="Nothing is proved: the queries are a fixed function of the text and of the"
            " local collection, so that an engine that has the collection can find the documents"
            " they aim at, and from these the text; their words come from the collection, which"
            " must be public.",
        )

    def bind(self) -> "KeyqueryIndex":
        """Open the local collection with its index, and WordNet."""
        return KeyqueryIndex(self, load_collection(self.index), wordnet())


class KeyqueryIndex:
    """FEA with its collection and its dictionary."""

    def __init__(self, mechanism: FEA, collection: Collection, thesaurus: Thesaurus) -> None:
        self._mechanism = mechanism
        self._documents = collection.documents
        self._thesaurus = thesaurus
        self._runner = OpenedFEA(collection.lexical())
        self._terms = self._runner.lexical.terms

    def scramble(self, text: str, size: int) -> QueryRelease:
        """Return the candidates that find the targets best."""
        asked = [word for word in words_of(text) if word not in STOP_WORDS]
        targets = self._runner.top(self._runner.lexical.ids(text), self._mechanism.targets)
        texts = [self._words(int(target)) for target in targets]
        forbidden = _Forbidden(self._thesaurus, asked)
        terms = self._allowed(texts, forbidden)
        weights = self._runner.weigh(terms, targets)
        found = candidates(
            texts,
            dict(zip(terms, weights.tolist(), strict=True)),
            self._mechanism.window,
            self._mechanism.longest,
            self._mechanism.candidates,
        )
        left = [each for each in found if not forbidden.phrase(self._spelt(each))]
        queries = [each.terms for each in left]
        run = self._runner.ndcg if self._mechanism.score == "ndcg" else self._runner.pmi
        scores = run(queries, targets)
        ranked = sorted(
            (-score, len(each.words), " ".join(each.words))
            for score, each in zip(scores.tolist(), left, strict=True)
            if np.isfinite(score) and (score > 0 or self._mechanism.score == "pmi")
        )
        return QueryRelease(tuple(query for _, _, query in ranked[:size]), (), len(asked))

    def _words(self, target: int) -> Words:
        """Return the words of a document that are no stop words, with their terms.

        A rule of underscores counts as a word of the index; it has its place, and is not sent.
        """
        found = words_of(self._documents.passages[target])
        return [
            (word, self._terms.get(term, -1) if is_word(word) else -1)
            for word in found
            if word not in STOP_WORDS and (term := term_of(word))
        ]

    def _allowed(self, texts: list[Words], forbidden: "_Forbidden") -> list[int]:
        """Return the terms that may be sent; one bad spelling rules a term out."""
        bad: set[int] = set()
        spellings = {each for text in texts for each in text}
        for word, term in spellings:
            if term < 0 or forbidden.word(word):
                bad.add(term)
        return sorted({term for _, term in spellings} - bad)

    def _spelt(self, candidate: Candidate) -> frozenset[str]:
        return frozenset(map(term_of, candidate.words))


class _Forbidden:
    """What a candidate must not hold: words of the text, and words related to them."""

    def __init__(self, thesaurus: Thesaurus, asked: list[str]) -> None:
        self._secret = Secret(thesaurus, asked)
        self._terms = {term_of(word) for word in asked}
        self._phrases: set[frozenset[str]] = set()
        for name in _looked_up(asked):
            for synonym in thesaurus.synonyms(name):
                self._terms.update(analyse(synonym))
            for relative in thesaurus.hypernyms(name) | thesaurus.hyponyms(name):
                self._phrases.add(frozenset(analyse(relative)))
        self._terms.update(*(phrase for phrase in self._phrases if len(phrase) == 1))
        self._phrases = {phrase for phrase in self._phrases if len(phrase) > 1}

    def word(self, word: str) -> bool:
        """Tell whether a word must not be in any candidate."""
        return term_of(word) in self._terms or self._secret.tells(word)

    def phrase(self, terms: frozenset[str]) -> bool:
        """Tell whether terms hold all of a relative of several words."""
        return any(phrase <= terms for phrase in self._phrases)


def _looked_up(asked: list[str]) -> set[str]:
    """Return the words, and what neighbouring words may be together."""
    return {
        " ".join(asked[start : start + count])
        for count in range(1, _PHRASE + 1)
        for start in range(len(asked) - count + 1)
    }
