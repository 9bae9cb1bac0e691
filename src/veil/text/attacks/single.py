"""Attack single queries: the log is prepared once, and no query is stored.

A query that the log lacks is appended to it, in memory only. Ranks are those of an attack on a log
with that query (`QueryLog.with_queries`): 1 + the number of other queries with a higher score, and
the number of queries with the same score, itself included.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from veil.core.outcome import rank_with_ties
from veil.core.types import Encoder, Singles
from veil.data.fetch import Report, no_progress
from veil.encoders.catalogue import encoder as open_encoder
from veil.text.attacks.bayes import Bayes
from veil.text.attacks.inference import CentroidCache, ranks, ranks_beside, without_blanks
from veil.text.attacks.likelihood import Likelihood, WordLikelihoods, is_fast, likelihood
from veil.text.attacks.likelihood_exponential import ExponentialLikelihood
from veil.text.attacks.posterior import ShapedLog, add_prior
from veil.text.attacks.shapes import reader, slots_in
from veil.text.log import LogGroups, QueryLog
from veil.text.mechanisms.mechanism import GroupTable, WordMechanism
from veil.text.vectors.distances import in_chunks
from veil.text.vectors.embeddings import Embeddings

_WORDS = 4096  # words whose normalisers are computed before they are stored
_PIECES = 64  # maximum number of pieces of a query, split at white space
_LETTERS = 256  # maximum length of a piece
_JOINED = 8  # maximum number of words in a piece


class Single(Protocol):
    """A prepared attack, which many threads may use at once."""

    def rank(self, query: str, variants: tuple[str, ...]) -> tuple[int, int] | None:
        """Return the rank of a query among those of the log, given its variants, and its ties.

        Returns None if the query is too long. Nothing that depends on the query or its variants is
        written anywhere.
        """
        ...


@dataclass(frozen=True, eq=False)
class SingleInference:
    """The `Inference` attack: cosine to the mean vector of the variants."""

    log: QueryLog
    encoder: Encoder
    vectors: Singles  # (N, d), of the log
    centres: CentroidCache = field(default_factory=CentroidCache, repr=False)

    @classmethod
    def ready(
        cls, log: QueryLog, encoder: str | Encoder, report: Report = no_progress
    ) -> "SingleInference":
        """Encode the log, unless its vectors are on disk."""
        model = open_encoder(encoder, report) if isinstance(encoder, str) else encoder
        log.place("")  # builds the index for finding queries
        return cls(log, model, log.vectors(model, report).vectors)

    def rank(self, query: str, variants: tuple[str, ...]) -> tuple[int, int]:
        """Return the rank of a query and its ties."""
        place = self.log.place(query)
        variants = without_blanks(variants)
        if not variants:  # the most frequent queries come first
            counts = np.append(self.log.counts, 1)[: len(self.log) + (place < 0)]
            return rank_with_ties(
                counts.astype(np.float64), place if place >= 0 else len(self.log)
            )
        centre = self.centres.of(variants, self.encoder)
        if place >= 0:
            (rank,), (ties,) = ranks(centre, self.vectors, np.array([place]))
        else:
            own = self.encoder.encode([" ".join(query.split())], "document")
            (rank,), (ties,) = ranks_beside(centre, self.vectors, own)
        return int(rank), int(ties)


@dataclass(frozen=True, eq=False)
class SingleGroups:
    """The `Bayes` attack on whole groups of a table: exact, and the same for all of a group."""

    spec: Bayes
    log: QueryLog
    groups: LogGroups

    @classmethod
    def ready(
        cls, spec: Bayes, log: QueryLog, table: GroupTable, report: Report = no_progress
    ) -> "SingleGroups":
        """Look up the whole log."""
        log.place("")
        return cls(spec, log, LogGroups.of(log, table, report))

    def rank(self, query: str, variants: tuple[str, ...]) -> tuple[int, int]:
        """Return the rank of a query and its ties, given that it gave the release.

        This holds even if the table no longer assigns the query to that group.
        """
        place = self.log.place(query)
        more = 0 if place >= 0 else 1
        scores = np.append(self.groups.scores(variants), np.zeros(more))
        counts = np.append(self.log.counts, np.ones(more, dtype=np.int64))
        own = len(self.log) if more else place
        scores[own] = 0.0  # its release, possibly from an earlier table or within a session
        return rank_with_ties(add_prior(scores, self.spec.belief(counts)), own)


@dataclass(frozen=True, eq=False)
class SingleBayes:
    """The `Bayes` attack: probability of a query given the variants.

    It refuses queries of more than 64 pieces, or with a piece of more than 8 words or 256 letters:
    each slot takes a pass over the vocabulary, and in a-b-c-... words cannot be separated.
    """

    spec: Bayes
    log: ShapedLog
    law: Likelihood

    @classmethod
    def ready(
        cls,
        spec: Bayes,
        log: QueryLog,
        mechanism: WordMechanism,
        space: Embeddings,
        report: Report = no_progress,
    ) -> "SingleBayes | None":
        """Prepare everything independent of the query; None if a query would still take minutes.

        That is a model of the mechanism, or its distribution with the normalisers of all words of
        the log or the table of nearest words. Both are stored next to the vectors.
        """
        law = likelihood(mechanism, space, spec.surrogate)
        if not is_fast(law):
            return None
        shaped = ShapedLog.of(log, reader(mechanism, space, spec.select))
        _prepare(law, shaped, report)
        shaped.read_usual(report)
        first = np.zeros(1, dtype=np.int64)  # a first query, which fills the caches
        WordLikelihoods.of(law, space, first, first).at(first, first)
        log.place("")
        return cls(spec, shaped, law)

    def rank(self, query: str, variants: tuple[str, ...]) -> tuple[int, int] | None:
        """Return the rank of a query and its ties, or None if it is too long."""
        if not self._is_short(query):
            return None
        log = self.log.log
        place = log.place(query)
        more = [] if place >= 0 else [query]
        scores = self.log.scores_beside(variants, self.law, more)
        counts = np.concatenate([log.counts, np.ones(len(more), dtype=np.int64)])
        prior = self.spec.belief(counts)
        own = len(log) if more else place
        return rank_with_ties(add_prior(scores, prior), own, self.law.rounding)

    def _is_short(self, query: str) -> bool:
        pieces = query.split()
        if len(pieces) > _PIECES or max(map(len, pieces), default=0) > _LETTERS:
            return False
        return max(map(slots_in, self.log.reader.read(query).shape), default=0) <= _JOINED


def _prepare(law: Likelihood, log: ShapedLog, report: Report) -> None:
    """Prepare a likelihood for all words of a log, in parts: an interruption loses little."""
    words = (
        log.vocabulary() if isinstance(law, ExponentialLikelihood) else np.empty(0, dtype=np.int64)
    )
    law.prepare(words[:0], report)
    for part in in_chunks(words, _WORDS):

        def onward(message: str, done: int, total: int, first: int = part.start) -> None:
            del total  # the total of this part
            report(message, first + done, len(words))

        law.prepare(words[part], onward)
