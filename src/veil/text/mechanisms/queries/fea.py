"""FEA: the keyqueries of Fröbe, Schmidt and Hagen."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from veil.core.guarantee import Guarantee
from veil.corpus.lexical import analyse, term_of, words_of
from veil.corpus.sources import Collection, load_collection
from veil.corpus.tokens import STOP_WORDS
from veil.corpus.wordnet import Thesaurus, wordnet
from veil.text.mechanisms.queries._keyqueries import Runner
from veil.text.mechanisms.queries._secret import Secret
from veil.text.mechanisms.queries._windows import Candidate, candidates
from veil.text.mechanisms.queries.mechanism import QueryMechanism, Scrambled
from veil.text.vectors.vocabulary import is_word

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

    def bind(self) -> "Keyqueries":
        """Open the local collection with its index, and WordNet."""
        return Keyqueries(self, load_collection(self.index), wordnet())


class Keyqueries:
    """FEA with its collection and its dictionary."""

    def __init__(self, mechanism: FEA, collection: Collection, thesaurus: Thesaurus) -> None:
        self._mechanism = mechanism
        self._documents = collection.documents
        self._thesaurus = thesaurus
        self._runner = Runner(collection.lexical())
        self._terms = self._runner.lexical.terms

    def scramble(self, text: str, size: int) -> Scrambled:
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
        return Scrambled(tuple(query for _, _, query in ranked[:size]), (), len(asked))

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
