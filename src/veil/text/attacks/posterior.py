"""The likelihood of each query of a log given a release, for mechanisms with a distribution."""

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Protocol

import numpy as np

from veil.core.errors import ParameterError
from veil.core.types import Floats, Ids
from veil.data.fetch import Report, no_progress
from veil.data.memo import Memo
from veil.encoders.catalogue import encoder
from veil.text.attack import Attack, EncoderAttack, Scene
from veil.text.attacks.likelihood import Likelihood, Surrogate, WordLikelihoods, likelihood
from veil.text.attacks.likelihood_boxes import CandidateLikelihood
from veil.text.attacks.likelihood_exponential import (
    ExponentialLikelihood,
    Normalisers,
    prepare_normalisers,
)
from veil.text.attacks.shapes import Shape, ShapeReader, chunks, reader, space_of, word_mechanism
from veil.text.log import LogGroups, QueryLog
from veil.text.mechanisms.mechanism import QueryMechanism, WordMechanism, table_of
from veil.text.mechanisms.words.kernels import CandidateKernel, ExponentialKernel
from veil.text.vectors.embeddings import Embeddings


class LetterCase(StrEnum):
    """How a piece of a text is capitalised."""

    LOWER = "lower"
    TITLE = "title"
    UPPER = "upper"
    MIXED = "mixed"


Cases = tuple[LetterCase, ...]


def cases_of(variants: Sequence[Sequence[str]]) -> Cases:
    """Return the most common capitalisation of each piece in variants split at white space.

    >>> [str(case) for case in cases_of([["Skin", "cancer", "(HIV)"]])]
    ['title', 'lower', 'upper']
    """
    columns = zip(*variants, strict=True)
    return tuple(Counter(map(_shown, column)).most_common(1)[0][0] for column in columns)


def cased(pieces: Sequence[str], cases: Cases) -> str:
    """Return a text in the given capitalisation. Pieces with mixed case stay unchanged.

    >>> cased(["bone", "Marrow"], (LetterCase.UPPER, LetterCase.LOWER))
    'BONE marrow'
    """
    return " ".join(map(_as, pieces, cases))


def _shown(piece: str) -> LetterCase:
    letters = [letter for letter in piece if letter.isalpha()]
    upper = [letter.isupper() for letter in letters]
    if not any(upper):
        return LetterCase.LOWER
    if upper[0] and not any(upper[1:]):
        return LetterCase.TITLE
    return LetterCase.UPPER if all(upper) else LetterCase.MIXED


def _as(piece: str, case: LetterCase) -> str:
    if case is LetterCase.MIXED:
        return piece
    if case is LetterCase.UPPER:
        return piece.upper()
    small = piece.lower()
    if case is LetterCase.LOWER:
        return small
    first = next((at for at, letter in enumerate(small) if letter.isalpha()), 0)
    return small[:first] + small[first : first + 1].upper() + small[first + 1 :]


_MIN_CACHE = 256 * 2**20  # bytes, at least
_CACHE_PER_QUERY = 256  # bytes per query of the log, if that is more
_GROUP_BYTES = 600  # of a group without its arrays
_PIECE_BYTES = 80  # of each piece of a shape

_ByShape = dict[Shape, tuple[list[tuple[int, ...]], list[int]]]  # words and positions by shape


@dataclass(frozen=True, slots=True)
class _Group:
    """Queries of one shape: their words (m, slots), -1: unknown, and positions in the log."""

    shape: Shape
    ids: Ids
    places: Ids


@dataclass(frozen=True, slots=True)
class _Read:
    """The queries of one length, read in one capitalisation, and their known words."""

    groups: list[_Group]
    known: Ids
    nbytes: int


@dataclass(frozen=True, eq=False)
class ShapedLog:
    """The queries of a log by shape, read on demand in the capitalisation of the variants.

    The words that a mechanism keeps may depend on capitals, which stay visible. A query of the log
    is therefore read as if it had the capitals of the variants. The cache is bounded, because
    there are as many capitalisations as ways to type a text.
    """

    log: QueryLog
    reader: ShapeReader
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @classmethod
    def of(cls, log: QueryLog, reader: ShapeReader) -> "ShapedLog":
        """Return the log as read by `reader`, once per log and reader."""
        key = ("shaped", id(reader.space), reader.select)
        shaped = log.memo.get(key)  # references the embeddings, so that their id cannot be reused
        if not isinstance(shaped, ShapedLog):
            shaped = cls(log, reader)
            log.memo[key] = shaped
        return shaped

    @cached_property
    def _cache(self) -> Memo:
        return Memo(max(_MIN_CACHE, _CACHE_PER_QUERY * len(self.log)))

    def scores(
        self, row: tuple[str, ...], law: Likelihood, report: Report = no_progress
    ) -> Floats:
        """Return the log-likelihood of every query (N,) given variants; -inf: impossible."""
        variants = chunks(row)
        if not variants:
            return np.zeros(len(self.log))
        (read,) = self._read([cases_of(variants)], report)
        law.prepare(read.known, report)
        return self._weigh(variants, read.groups, read.known, law, len(self.log))

    def scores_beside(self, row: tuple[str, ...], law: Likelihood, more: Sequence[str]) -> Floats:
        """Return the same (N + m,) for the log with m more queries appended.

        Nothing that depends on these queries or on the variants is written to disk.
        """
        size = len(self.log) + len(more)
        variants = chunks(row)
        if not variants:
            return np.zeros(size)
        cases = cases_of(variants)
        (read,) = self._read([cases], no_progress)
        groups = self._group([cases], enumerate(more, start=len(self.log)))[cases].groups
        known = np.union1d(read.known, _known_words(groups))
        return self._weigh(variants, [*read.groups, *groups], known, law, size)

    def words(self, texts: Iterable[str], report: Report = no_progress) -> Ids:
        """Return the words of all queries that may be compared with variants of these texts."""
        shown = dict.fromkeys(cases_of([text.split()]) for text in texts)
        return _union([read.known for read in self._read(shown, report)])

    def vocabulary(self) -> Ids:
        """Return all words of the log that the vectors know, in any capitalisation."""
        pieces = {piece for text in self.log.texts for piece in text.split()}
        read = ShapeReader(self.reader.space, "all").many()
        numbers = {
            number
            for piece in pieces
            for case in LetterCase
            for number in read(cased([piece], (case,))).ids
        }
        return np.array(sorted(numbers - {-1}), dtype=np.int64)

    def read_usual(self, report: Report = no_progress) -> None:
        """Read the log in advance in lower case and with a capital first letter."""
        lengths = sorted({len(text.split()) for text in self.log.texts})
        small = [(LetterCase.LOWER,) * length for length in lengths]
        self._read([*small, *((LetterCase.TITLE, *cases[1:]) for cases in small)], report)

    def _weigh(
        self,
        variants: list[list[str]],
        groups: list[_Group],
        known: Ids,
        law: Likelihood,
        size: int,
    ) -> Floats:
        out = np.full(size, -np.inf)
        seen = [self.reader.seen(group.shape, variants) for group in groups]
        likelihoods = WordLikelihoods.of(law, self.reader.space, known, _words(seen))
        unread = [np.inf if words is None else np.count_nonzero(words < 0) for words in seen]
        least = min(unread, default=np.inf)
        for group, words, odd in zip(groups, seen, unread, strict=True):
            # "(skin)" fits the shape of a word but is not one: another shape explains it better
            if words is not None and odd == least:
                total = np.zeros(len(group.places))
                for slot in range(words.shape[1]):
                    total += likelihoods.at(words[:, slot], group.ids[:, slot])
                out[group.places] = total
        return out

    def _read(self, requests: Iterable[Cases], report: Report) -> list[_Read]:
        """Return the log read in each of these capitalisations, with one pass for all new ones."""
        cached = {cases: self._cache.get(cases, _Read) for cases in requests}
        if None in cached.values():
            with self._lock:  # a second thread finds the result in the cache
                cached = {cases: self._cache.get(cases, _Read) for cases in cached}
                new = [cases for cases, read in cached.items() if read is None]
                report("reading the log", 0, 0)
                added = self._group(new, enumerate(self.log.texts)) if new else {}
                for cases, read in added.items():
                    self._cache.put(cases, read)
            return [read or added[cases] for cases, read in cached.items()]
        return [read for read in cached.values() if read is not None]

    def _group(
        self, requests: Iterable[Cases], texts: Iterable[tuple[int, str]]
    ) -> dict[Cases, _Read]:
        """Read texts in several capitalisations, and group them by shape."""
        by_cases: dict[Cases, _ByShape] = {cases: {} for cases in requests}
        by_length: dict[int, list[Cases]] = {}
        for cases in by_cases:
            by_length.setdefault(len(cases), []).append(cases)
        read = self.reader.many()
        for position, text in texts:
            pieces = text.split()
            for cases in by_length.get(len(pieces), ()):
                reading = read(cased(pieces, cases))
                ids, positions = by_cases[cases].setdefault(reading.shape, ([], []))
                ids.append(reading.ids)
                positions.append(position)
        return {cases: _pack(cases, shapes) for cases, shapes in by_cases.items()}


def _pack(cases: Cases, shapes: _ByShape) -> _Read:
    groups = [
        _Group(
            shape,
            np.array(ids, dtype=np.int64).reshape(len(places), len(ids[0])),
            np.array(places, dtype=np.int64),
        )
        for shape, (ids, places) in shapes.items()
    ]
    known = _known_words(groups)
    arrays = known.nbytes + sum(group.ids.nbytes + group.places.nbytes for group in groups)
    pieces = (len(groups) + 1) * len(cases)  # of the shapes, and of the key
    return _Read(groups, known, arrays + len(groups) * _GROUP_BYTES + pieces * _PIECE_BYTES)


def _known_words(groups: list[_Group]) -> Ids:
    """Return the distinct words of groups that the vectors know."""
    ids = _union([group.ids for group in groups])
    return ids[ids >= 0]


def _words(seen: Iterable[Ids | None]) -> Ids:
    """Return the distinct known words in arrays of words seen."""
    ids = _union([words for words in seen if words is not None])
    return ids[ids >= 0]


def _union(arrays: Sequence[Ids]) -> Ids:
    """Return the distinct numbers of some arrays, sorted."""
    if not arrays:
        return np.empty(0, dtype=np.int64)
    return np.unique(np.concatenate([array.ravel() for array in arrays]))


class QueryPosterior(Protocol):
    """The likelihoods of the queries of a log for an attacker who knows the mechanism."""

    @property
    def rounding(self) -> float:
        """Largest relative difference of two scores that are equal."""
        ...

    def scores(self, row: tuple[str, ...], report: Report = no_progress) -> Floats:
        """Return the log-likelihood of every query (N,) given variants; -inf: impossible."""
        ...


def query_posterior(
    scene: Scene,
    log: QueryLog,
    name: str,
    surrogate: Surrogate = "simulated",
    select: str = "",
    report: Report = no_progress,
) -> QueryPosterior:
    """Return the likelihoods of a log under the mechanism of a scene, for the attack `name`."""
    if isinstance(scene.mechanism, QueryMechanism):
        table = table_of(scene.mechanism)
        if table is None:
            raise ParameterError(
                f"The {name} attacker needs a mechanism with a law, but {scene.mechanism.name}"
                " rewrites whole queries by rules; use the rerun or the inference attacker."
            )
        return LogGroups.of(log, table, report)
    mechanism, space = word_mechanism(scene, name), space_of(scene, name)
    shaped = ShapedLog.of(log, reader(mechanism, space, select))
    return _ByWord(shaped, likelihood(mechanism, space, surrogate))


@dataclass(frozen=True, eq=False)
class _ByWord:
    """Likelihoods for word mechanisms: words keep their slots, and each has a distribution."""

    log: ShapedLog
    law: Likelihood

    @property
    def rounding(self) -> float:
        return self.law.rounding

    def scores(self, row: tuple[str, ...], report: Report = no_progress) -> Floats:
        return self.log.scores(row, self.law, report)


def add_prior(scores: Floats, prior: Floats) -> Floats:
    """Add likelihood and prior (N,). If no query fits, return only the prior."""
    return prior if np.isneginf(scores).all() else scores + prior


def prepare(
    attacker: Attack,
    mechanisms: Sequence[WordMechanism],
    originals: Sequence[str],
    log: QueryLog | None = None,
    space: Embeddings | None = None,
    report: Report = no_progress,
) -> None:
    """Prepare the data that an attack needs against these mechanisms, with all processors.

    These are the vectors of the log, the nearest words of all words (wbb, custext), and the
    normalisers of the words of the log (santext, tem), where all slopes share one pass.
    `originals` are the texts behind the variants; only their lengths and capitals are used.
    """
    if isinstance(attacker, EncoderAttack) and "log" in attacker.needs and log is not None:
        log.vectors(encoder(attacker.encoder, report), report)
    if "mechanism" not in attacker.needs or space is None:
        return
    normalisers = _laws(mechanisms, space, report)
    if log is not None and "log" in attacker.needs:
        for select, laws in normalisers.items():
            read = reader(mechanisms[0], space, getattr(attacker, "select", "") or select)
            prepare_normalisers(laws, ShapedLog.of(log, read).words(originals, report), report)


def _laws(
    mechanisms: Sequence[WordMechanism], space: Embeddings, report: Report
) -> dict[str, list[Normalisers]]:
    """Prepare the tables of candidates; return the normalisers to compute, by selection."""
    normalisers: dict[str, list[Normalisers]] = {}
    for mechanism in mechanisms:
        if isinstance(
            mechanism.bind(space), CandidateKernel | ExponentialKernel
        ):  # no model is learned here
            law = likelihood(mechanism, space)
            if isinstance(law, CandidateLikelihood):
                law.prepare(np.empty(0, dtype=np.int64), report)
            if isinstance(law, ExponentialLikelihood):
                normalisers.setdefault(mechanism.select, []).append(law.known)
    return normalisers
