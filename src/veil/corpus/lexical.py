"""An inverted index: analysis of texts, postings, weights, and selection of the best documents.

One index serves every weighting. With tf the count of term t in document d, df its number of
documents, n all documents and L the number of terms in a document:

``bm25``
    ln(1 + (n - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * L / mean L)), as in Lucene.
``tfidf``
    w(t, d) * ln(1 + n / df), where w(t, d) = (1 + ln tf) * ln(1 + n / df), scaled to unit length
    for each document. The sum over the terms of a query is the cosine of the two vectors times the
    length of the query vector.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.core.types import Ids, Singles
from veil.data.arrays import Array, Strings, open_arrays, save_arrays
from veil.data.fetch import Report, no_progress
from veil.data.memo import private_cache

ANALYSER = 2  # increase it when the output of `analyse` changes, so that saved indexes are rebuilt
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_POSSESSIVE = re.compile(r"['’＇]s$")
LUCENE_STOP_WORDS = frozenset(
    """
    a an and are as at be but by for if in into is it no not of on or such that the their then
    there these they this to was will with
    """.split()
)


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, without possessive endings.

    Mechanisms send these words. Index terms come from `tokens_of`, which also keeps "1.5" and
    "u.s" whole.

    >>> words_of("Crohn's disease, type-2")
    ['crohn', 'disease', 'type', '2']
    """
    words: list[str] = _WORD.findall(text.lower())
    if "'" in text or "’" in text:
        return [_POSSESSIVE.sub("", word) for word in words]
    return words


def _token_patterns() -> tuple[str, str]:
    """Return regular expressions for the tokens of Lucene's StandardTokenizer: ASCII, any text.

    Tokens are the words of UAX #29, single characters of Chinese or Hiragana, emoji, and runs of
    Thai, Lao, Khmer or Burmese. Runs of underscores match without a group, so they are skipped in
    one step.
    """
    # A character includes the marks, format characters and joiners after it (rule WB4).
    x = r"[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*+"
    # The cedilla became a letter only after Lucene's version of Unicode.
    letter = rf"[[\p{{WB=ALetter}}\p{{WB=Hebrew_Letter}}]--¸]{x}"
    hebrew = rf"\p{{WB=Hebrew_Letter}}{x}"
    digit = rf"[\p{{WB=Numeric}}０-９]{x}"
    katakana = rf"\p{{WB=Katakana}}{x}"
    joiner = rf"(?:\p{{WB=ExtendNumLet}}{x})"
    either = "\\p{WB=MidNumLet}'"
    in_word = rf"[\p{{WB=MidLetter}}:{either}]{x}"
    in_number = rf"[\p{{WB=MidNum}}{either}]{x}"
    run = (
        rf"(?:{katakana}(?:{joiner}*{katakana})*"
        rf"|(?:{hebrew}(?:'{x}|\"{x}{hebrew})"
        rf"|{digit}(?:(?:{joiner}*|{in_number}){digit})*"
        rf"|{letter}(?:(?:{joiner}*|{in_word}){letter})*)+)"
    )
    picture = rf"\p{{Extended_Pictographic}}{x}"
    flag = rf"[\U0001F1E6-\U0001F1FF]{x}"
    kinds = (
        rf"{joiner}*+{run}(?:{joiner}++{run})*{joiner}*+",
        rf"{flag}{flag}",
        rf"[#*]\p{{WB=Extend}}*\u20e3{x}",
        rf"\u200d*+{picture}(?:(?<=\u200d){picture})*",
        rf"(?:\p{{LB=Complex_Context}}{x})+",
        rf"[\p{{Script=Han}}\p{{Script=Hiragana}}]{x}",
    )
    in_ascii = r"_*+[a-z0-9](?:[a-z0-9_]|(?<=[a-z])[.:'](?=[a-z])|(?<=[0-9])[.,;'](?=[0-9]))*+"
    return rf"({in_ascii})|_++", rf"({'|'.join(kinds)})|{joiner}++"


_ASCII_TOKEN, _TOKEN = _token_patterns()
_ASCII = re.compile(_ASCII_TOKEN)
_JAVA_LOWER = {ord("İ"): "i", ord("Σ"): "σ"}  # letter by letter, regardless of the next letter
_MAX_TOKEN = 255


@cache
def _any_token() -> Any:  # noqa: ANN401 - the library has no types
    import regex  # 0.2 s to compile, and few texts need it

    return regex.compile(_TOKEN, regex.V1)


def tokens_of(text: str) -> list[str]:
    """Return the tokens of a text, like Lucene's EnglishAnalyzer before stop word removal.

    >>> tokens_of("The U.S. spent 1.5% on Crohn's disease, type-2")
    ['the', 'u.s', 'spent', '1.5', 'on', 'crohn', 'disease', 'type', '2']
    """
    if text.isascii():
        text, pattern = text.lower(), _ASCII
    else:
        text, pattern = text.translate(_JAVA_LOWER).lower(), _any_token()
    tokens = [token for token in pattern.findall(text) if token]
    if any(len(token) > _MAX_TOKEN for token in tokens):
        tokens = list(_short_tokens(text, pattern))
    if "'" in text or "’" in text or "＇" in text:
        return [_POSSESSIVE.sub("", token) for token in tokens]
    return tokens


def _short_tokens(text: str, pattern: Any) -> Iterator[str]:  # noqa: ANN401
    """Yield tokens of at most 255 characters. The rest of a longer token is another token."""
    position = 0
    while match := pattern.search(text, position):
        token = match[1] or ""
        position = match.start() + _MAX_TOKEN if len(token) > _MAX_TOKEN else match.end()
        if token:
            yield token[:_MAX_TOKEN]


@cache
def _stemmer() -> Callable[[str], str]:
    """Return the stemmer of Porter's own program, which Lucene ports.

    It differs from his paper and does not change words of two letters. NLTK's implementation
    takes seconds for a word of 255 times "y", because it classifies all earlier letters again for
    every letter. Documents and answers of engines may contain such words.
    """
    from nltk.stem.porter import PorterStemmer  # NLTK takes a second to load

    class Porter(PorterStemmer):  # type: ignore[misc]
        def _is_consonant(self, word: str, i: int) -> bool:
            return _consonants(word[: i + 1])[i] == "c"

        def _measure(self, stem: str) -> int:
            return _consonants(stem).count("vc")

    return cast(Callable[[str], str], Porter(Porter.MARTIN_EXTENSIONS).stem)


def _consonants(word: str) -> str:
    """Return c or v for each letter: consonant or vowel. "y" is a vowel after a consonant.

    >>> _consonants("syzygy")
    'cvcvcv'
    """
    out, consonant = "", False
    for letter in word:
        consonant = letter not in "aeiou" and not (letter == "y" and consonant)
        out += "c" if consonant else "v"
    return out


@lru_cache(maxsize=2**18)
def _shared_stem(word: str) -> str:
    return _stemmer()(word)


def _stem(word: str) -> str:
    """Return the stem of a word, from a cache, because NLTK takes 20 microseconds.

    Work with private caches has its own cache: see `veil.data.memo`.
    """
    stems: dict[str, str] | None = private_cache("stems", dict)
    if stems is None:
        return _shared_stem(word)
    result = stems.get(word)
    if result is None:
        result = stems[word] = _stemmer()(word)
    return result


def head_of(word: str) -> str:
    """Return the prefix that a word shares with its term, unless the term is one letter; y is i.

    >>> head_of("ays"), head_of(term_of("ays"))
    ('ai', 'ai')
    """
    return word[:2].replace("y", "i")


def term_of(word: str) -> str:
    """Return the index term of a lower-case word, or "" for a stop word or underscores."""
    if word in LUCENE_STOP_WORDS or not word.strip("_"):
        return ""
    return _stem(word) if len(word) <= _MAX_TOKEN else _stem(word[:_MAX_TOKEN])


def analyse(text: str) -> list[str]:
    """Return the index terms of a text, in order, like Lucene's EnglishAnalyzer.

    >>> analyse("The treatments of skin cancers in anthropology")
    ['treatment', 'skin', 'cancer', 'anthropolog']
    """
    return [term for token in tokens_of(text) if (term := term_of(token))]


class Analyser:
    """Converts texts to term numbers. Every spelling is stemmed once."""

    def __init__(self) -> None:
        self.terms: dict[str, int] = {}
        self._spellings: dict[str, int] = {}

    def ids(self, texts: Iterable[str]) -> tuple[NDArray[np.int32], Ids]:
        """Return the terms of all texts in one array, and the start of each text (n + 1,)."""
        chunks: list[NDArray[np.int32]] = []
        ends = [0]
        spellings = self._spellings
        for text in texts:
            numbers = [spellings.get(word) or self._learn(word) for word in tokens_of(text)]
            chunk = np.array([number - 1 for number in numbers if number > 0], dtype=np.int32)
            chunks.append(chunk)
            ends.append(ends[-1] + len(chunk))
        flat = np.concatenate(chunks) if chunks else np.empty(0, dtype=np.int32)
        return flat, np.array(ends, dtype=np.int64)

    def _learn(self, word: str) -> int:
        """Return the number of a spelling's term plus one, or -1 for a stop word."""
        term = term_of(word)
        number = self.terms.setdefault(term, len(self.terms)) + 1 if term else -1
        self._spellings[word] = number
        return number


Scheme = Literal["bm25", "tfidf"]
_KIND, _VERSION = "veil-lexical", ANALYSER
_REPORT_EVERY = 20_000
_MAX_DOCUMENTS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Lexical:
    """Postings by term: ``indptr[t]:indptr[t + 1]`` for term t, in document order."""

    spelt: Strings  # terms, by number
    indptr: Ids  # (V + 1,)
    docs: NDArray[np.int32]  # (postings,)
    counts: NDArray[np.int32]  # (postings,)
    lengths: NDArray[np.int32]  # (n,) terms per document

    @property
    def size(self) -> int:
        """Number of documents."""
        return len(self.lengths)

    @cached_property
    def terms(self) -> Mapping[str, int]:
        """The number of each term."""
        return {term: number for number, term in enumerate(self.spelt)}

    def ids(self, text: str) -> list[int]:
        """Return the terms of a text that occur in the index."""
        terms = self.terms
        return [terms[term] for term in analyse(text) if term in terms]

    @cached_property
    def frequencies(self) -> Ids:
        """Number of documents of each term (V,)."""
        return np.diff(self.indptr)

    def weights(self, scheme: Scheme, k1: float = 1.2, b: float = 0.75) -> Singles:
        """Return the weight of each posting in the score of its document (postings,)."""
        count = self.counts.astype(np.float64)
        share = np.asarray(self.frequencies, dtype=np.float64)
        if scheme == "bm25":
            idf = np.log1p((self.size - share + 0.5) / (share + 0.5))
            mean = max(float(self.lengths.mean()), 1e-9)
            long = k1 * (1 - b + b * self.lengths[self.docs] / mean)
            weights = np.repeat(idf, self.frequencies) * count / (count + long)
        else:
            idf = np.log1p(self.size / np.maximum(share, 1))
            weights = np.repeat(idf, self.frequencies) * (1 + np.log(count))
            norms = np.sqrt(np.bincount(self.docs, weights**2, minlength=self.size))
            weights /= np.maximum(norms, 1e-12)[self.docs]
            weights *= np.repeat(idf, self.frequencies)  # the query's factor
        return weights.astype(np.float32)

    def save(self, folder: Path, documents: str) -> None:
        """Write the index to a new folder. `documents` is the digest of the indexed documents."""
        arrays: dict[str, Array] = self.spelt.arrays("term") | {
            "indptr": self.indptr,
            "docs": self.docs,
            "counts": self.counts,
            "lengths": self.lengths,
        }
        save_arrays(folder, _KIND, _VERSION, arrays, {"documents": documents})


def open_lexical(folder: Path, documents: str) -> Lexical | None:
    """Return a saved index, or None if it is damaged or belongs to other documents."""
    saved = open_arrays(folder, _KIND, _VERSION)
    if saved is None or saved[1].get("documents") != documents:
        return None
    arrays = saved[0]
    try:
        parts = [arrays[name] for name in ("indptr", "docs", "counts", "lengths")]
        return Lexical(Strings.from_arrays(arrays, "term"), *parts)
    except LookupError:
        return None


def build_lexical(texts: Sequence[str], report: Report = no_progress) -> Lexical:
    """Return the inverted index of texts."""
    if not 0 < len(texts) <= _MAX_DOCUMENTS:
        raise InputError(
            f"An index must have from 1 to {_MAX_DOCUMENTS:,} documents. Got {len(texts):,}"
            " instead."
        )
    analyser = Analyser()
    flat, starts = analyser.ids(_reported(texts, report))
    lengths = np.diff(starts)
    report("sorting the index", 0, 0)
    # One number per occurrence, term first. After sorting, runs of equal numbers are the counts.
    keys = flat.astype(np.int64)
    keys *= len(texts)
    keys += np.repeat(np.arange(len(texts)), lengths)
    keys.sort()
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.diff(first, append=len(keys)).astype(np.int32)
    terms, docs = np.divmod(keys[first], len(texts))
    indptr = np.searchsorted(terms, np.arange(len(analyser.terms) + 1))
    return Lexical(
        Strings.of(analyser.terms),
        indptr.astype(np.int64),
        docs.astype(np.int32),
        counts,
        lengths.astype(np.int32),
    )


def _reported(texts: Sequence[str], report: Report) -> Iterator[str]:
    for number, text in enumerate(texts):
        if number % _REPORT_EVERY == 0:
            report("indexing", number, len(texts))
        yield text


def top(scores: NDArray[np.floating], k: int, above: float = -np.inf) -> Ids:
    """Return the positions of the `k` highest scores above `above`, best first.

    Ties are in the order of their positions.

    >>> top(np.array([1.0, 3.0, 0.0, 3.0, 2.0]), 3, above=0.0).tolist()
    [1, 3, 4]
    """
    positions = np.flatnonzero(scores > above)
    if len(positions) > k:
        values = scores[positions]
        edge = np.partition(values, len(values) - k)[len(values) - k]
        better = positions[values > edge]
        positions = np.concatenate([better, positions[values == edge][: k - len(better)]])
        positions.sort()
    order: Ids = positions[np.argsort(-scores[positions], kind="stable")]
    return order
