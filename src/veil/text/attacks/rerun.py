"""Rerun: run the mechanism on the queries of a log, and compare the releases."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from veil.core.errors import ParameterError
from veil.core.outcome import rank_with_ties
from veil.core.types import Floats, Ids
from veil.corpus.catalogue import Collection, load_collection
from veil.corpus.lexical import Lexical, top
from veil.data.fetch import Report, no_progress
from veil.text.attack import Attack, Outcome, Scene
from veil.text.attacks.bayes import Bayes
from veil.text.attacks.inference import log_positions, queries_ranked, require_log
from veil.text.log import QueryLog, folded
from veil.text.mechanisms.mechanism import OpenedMechanism, QueryMechanism

_K1, _B = 0.9, 0.4  # the same as in the mechanisms with a local collection
_OWN = 10  # best documents of each query
_DEPTH = 100  # best documents of each variant
_REPORT_EVERY = 1000


@dataclass(frozen=True, eq=False)
class TargetDocuments:
    """The best documents of every query of a log, by BM25 over a public collection."""

    index: "_Index"
    own: Ids  # (N, 10) documents, padded with -1

    @classmethod
    def of(
        cls, log: QueryLog, collection: Collection, report: Report = no_progress
    ) -> "TargetDocuments":
        """Search for every query of a log, once per log and collection."""
        key = ("aims", collection.documents.digest)
        targets = log.memo.get(key)
        if not isinstance(targets, TargetDocuments):
            index = _Index(collection.lexical(report))
            own = np.full((len(log), _OWN), -1, dtype=np.int64)
            for i, text in enumerate(log.texts):
                if i % _REPORT_EVERY == 0:
                    report("searching for the log", i, len(log))
                best = index.top(text, _OWN)
                own[i, : len(best)] = best
            targets = log.memo[key] = cls(index, own)
        return targets

    def gains(self, variants: Sequence[str]) -> Floats:
        """Return the discounted gain (N,) of each query's documents in the variants' results."""
        gains = np.zeros(self.index.lexical.size + 1)  # the last entry is for padding
        for variant in variants:
            answers = self.index.top(variant, _DEPTH)
            gains[answers] += 1 / np.log2(2 + np.arange(len(answers)))
        total: Floats = gains[self.own].sum(axis=1)
        return total


@dataclass(frozen=True, eq=False)
class _Index:
    """An index with its BM25 weights."""

    lexical: Lexical
    weights: NDArray[np.float32] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", self.lexical.weights("bm25", _K1, _B))

    def top(self, text: str, k: int) -> Ids:
        scores = np.zeros(self.lexical.size)
        for term in self.lexical.ids(text):
            start, end = self.lexical.indptr[term : term + 2]
            scores[self.lexical.docs[start:end]] += self.weights[start:end]
        return top(scores, k, above=0.0)


Release = frozenset[str]
_NOT_RUN = -1.0


class Rerun(Attack):
    r"""Rank the queries of a log by the similarity of their release to the one seen.

    .. math:: s(q) = \frac{|M(q) \cap v|}{|M(q) \cup v|}

    For mechanisms without randomness (aea, fea): an attacker who has the mechanism can run it on
    any query and compare the sets of variants. The true query gives exactly the release seen, so
    it is found unless other queries give the same.

    A mechanism with a local collection (fea) is slow, so it is run only on the `best` queries. To
    select them, the variants are searched for in that collection, which is public. The gain of a
    query of the log is the discounted gain of its own ten best documents in those results:

    .. math:: g(q) = \sum d \in top_{10}(q), v: 1/\log_2(1 + rank_v(d))

    Queries are run in decreasing order of g until one gives the release seen. All others follow in
    the order of g, so the risk is a lower bound. Other mechanisms are run on the whole log, once
    for all texts. A mechanism with a table (cover) is looked up in it, as in `bayes`.
    """

    name: ClassVar[str] = "rerun"
    needs: ClassVar[frozenset[str]] = frozenset({"log", "mechanism"})

    best: Annotated[
        int,
        Field(ge=0, description="queries to run a mechanism with a collection on; 0: all"),
    ] = 80

    def run(self, scene: Scene, report: Report = no_progress) -> Outcome:
        """Rank each original in the log by the similarity of its release."""
        log, mechanism = require_log(scene, self.name), _deterministic_mechanism(scene)
        if mechanism.whole:
            return Bayes().run(scene, report)
        index = getattr(mechanism, "index", "") if self.best else ""
        targets = (
            TargetDocuments.of(log, load_collection(index, report), report) if index else None
        )
        size = max(map(len, scene.variants), default=0)
        runs = _Runs.of(log, mechanism, size)
        positions = log_positions(scene)
        ranks, ties = np.empty((2, len(positions)), dtype=np.int64)
        for i, row in enumerate(scene.variants):
            report("running the mechanism again", i, len(positions))
            gains = np.zeros(len(log)) if targets is None else targets.gains(row)
            order = np.argsort(-gains, kind="stable")[: self.best if targets else None]
            scores = _scores(_as_release(row), runs, order, gains)
            ranks[i], ties[i] = rank_with_ties(scores, int(positions[i]))
        report("running the mechanism again", len(positions), len(positions))
        return queries_ranked(ranks, ties, len(log))


class _Runs:
    """The releases of a mechanism for queries of a log. Each query is run once."""

    def __init__(self, log: QueryLog, scrambler: OpenedMechanism, size: int) -> None:
        self._log, self._scrambler, self._size = log, scrambler, size
        self._releases: dict[int, Release] = {}

    @classmethod
    def of(cls, log: QueryLog, mechanism: QueryMechanism, size: int) -> "_Runs":
        """Open the mechanism, once per log and size."""
        key = ("runs", str(mechanism), size)
        runs = log.memo.get(key)
        if not isinstance(runs, _Runs):
            runs = cls(log, mechanism.bind(), size)
            log.memo[key] = runs
        return runs

    def __getitem__(self, query: int) -> Release:
        release = self._releases.get(query)
        if release is None:
            result = self._scrambler.scramble(self._log.texts[query], self._size)
            release = self._releases[query] = _as_release(result.queries[: self._size])
        return release


def _scores(release: Release, runs: _Runs, order: Ids, gains: Floats) -> Floats:
    """Return a score (N,) for each query, by the similarity of its release, then by its gain."""
    similarity = np.full(len(gains), _NOT_RUN)
    for query in _until_equal(release, runs, order.tolist(), gains):
        similarity[query] = _jaccard(release, runs[query])
    _, level = np.unique(np.stack([similarity, gains], axis=1), axis=0, return_inverse=True)
    return level.reshape(-1).astype(np.float64)


def _until_equal(
    release: Release, runs: _Runs, order: Sequence[int], gains: Floats
) -> Iterator[int]:
    """Yield queries to run, up to one that gives the release, and those with the same gain."""
    least = -np.inf
    for query in order if release else ():
        if gains[query] < least:
            return
        yield query
        if runs[query] == release:
            least = gains[query]


def _jaccard(a: Release, b: Release) -> float:
    return len(a & b) / max(1, len(a | b))


def _as_release(queries: Sequence[str]) -> Release:
    return frozenset(map(folded, queries)) - {""}


def _deterministic_mechanism(scene: Scene) -> QueryMechanism:
    """Return the mechanism of a scene, or raise an error unless it rewrites whole queries."""
    if scene.mechanism is None:
        raise ParameterError("The rerun attacker needs the mechanism: give mechanism=.")
    if not isinstance(scene.mechanism, QueryMechanism):
        raise ParameterError(
            "The rerun attacker needs a mechanism without randomness (aea, fea), but"
            f" {scene.mechanism.name} is random. Use the bayes attacker."
        )
    return scene.mechanism
