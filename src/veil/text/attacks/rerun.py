"""Rerun: run the mechanism on the queries of a log, and see which gives the same."""

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
from veil.text.attacks.attack import AttackSpec, Outcome, Scene
from veil.text.attacks.bayes import Bayes
from veil.text.attacks.inference import log_positions, queries_ranked, require_log
from veil.text.attacks.log import QueryLog, folded
from veil.text.mechanisms.mechanism import OpenedMechanism, QueryMechanism

_K1, _B = 0.9, 0.4  # as the mechanisms with a local collection have them
_OWN = 10  # documents of a query that count
_DEPTH = 100  # answers to a variant that count
_REPORT_EVERY = 1000


@dataclass(frozen=True, eq=False)
class TargetDocuments:
    """The best documents of every query of a log, by BM25 over a public collection."""

    index: "_Index"
    own: Ids  # (N, 10) documents, -1 where there are fewer

    @classmethod
    def of(
        cls, log: QueryLog, collection: Collection, report: Report = no_progress
    ) -> "TargetDocuments":
        """Search for every query of a log; what was found is kept with the log."""
        key = ("aims", collection.documents.digest)
        found = log.memo.get(key)
        if not isinstance(found, TargetDocuments):
            index = _Index(collection.lexical(report))
            own = np.full((len(log), _OWN), -1, dtype=np.int64)
            for i, text in enumerate(log.texts):
                if i % _REPORT_EVERY == 0:
                    report("searching for the log", i, len(log))
                best = index.top(text, _OWN)
                own[i, : len(best)] = best
            found = log.memo[key] = cls(index, own)
        return found

    def worth(self, variants: Sequence[str]) -> Floats:
        """Return the summed discounted gain (N,) of each query's own documents."""
        gains = np.zeros(self.index.lexical.size + 1)  # the last is that of no document
        for variant in variants:
            answers = self.index.top(variant, _DEPTH)
            gains[answers] += 1 / np.log2(2 + np.arange(len(answers)))
        total: Floats = gains[self.own].sum(axis=1)
        return total


@dataclass(frozen=True, eq=False)
class _Index:
    """An index with its weights."""

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


class Rerun(AttackSpec):
    r"""Rank the queries of a log by how far they give the same release.

    .. math:: s(q) = \frac{|M(q) \cap v|}{|M(q) \cup v|}

    For mechanisms that draw nothing (aea, fea): who has the mechanism can run it on any query and
    compare the sets of variants. The true query gives what was seen, so that it is found unless
    others give the same.

    Of a mechanism with a local collection (fea) only the `best` queries are run, as each takes a
    while: the variants are run on that collection, which is public, and a query of the log is
    worth the discounted gains that its own ten best documents have in their answers:

    .. math:: g(q) = \sum d \in top_{10}(q), v: 1/\log_2(1 + rank_v(d))

    They are run from the best on until one gives what was seen; all others follow in the order of
    g. So the risk is a lower bound there. Others are run on the whole log, once for all texts;
    one with a table (cover) is looked up there, which is what `bayes` does.
    """

    name: ClassVar[str] = "rerun"
    needs: ClassVar[frozenset[str]] = frozenset({"log", "mechanism"})

    best: Annotated[
        int,
        Field(ge=0, description="queries that a mechanism with a collection is run on; 0: all"),
    ] = 80

    def attack(self, scene: Scene, report: Report = no_progress) -> Outcome:
        """Rank each original in the log by the release that it gives."""
        log, mechanism = require_log(scene, self.name), _without_draws(scene)
        if mechanism.whole:
            return Bayes().attack(scene, report)
        index = getattr(mechanism, "index", "") if self.best else ""
        aims = TargetDocuments.of(log, load_collection(index, report), report) if index else None
        size = max(map(len, scene.variants), default=0)
        runs = _Runs.of(log, mechanism, size)
        places = log_positions(scene)
        found, ties = np.empty((2, len(places)), dtype=np.int64)
        for i, row in enumerate(scene.variants):
            report("running the mechanism again", i, len(places))
            worth = np.zeros(len(log)) if aims is None else aims.worth(row)
            order = np.argsort(-worth, kind="stable")[: self.best if aims else None]
            scores = _compared(_as_seen(row), runs, order, worth)
            found[i], ties[i] = rank_with_ties(scores, int(places[i]))
        report("running the mechanism again", len(places), len(places))
        return queries_ranked(found, ties, len(log))


class _Runs:
    """What the mechanism gives for queries of a log; each is run once."""

    def __init__(self, log: QueryLog, scrambler: OpenedMechanism, size: int) -> None:
        self._log, self._scrambler, self._size = log, scrambler, size
        self._known: dict[int, Release] = {}

    @classmethod
    def of(cls, log: QueryLog, mechanism: QueryMechanism, size: int) -> "_Runs":
        """Open the mechanism; what it gave for a log is kept with the log."""
        key = ("runs", str(mechanism), size)
        found = log.memo.get(key)
        if not isinstance(found, _Runs):
            found = cls(log, mechanism.bind(), size)
            log.memo[key] = found
        return found

    def __getitem__(self, place: int) -> Release:
        found = self._known.get(place)
        if found is None:
            given = self._scrambler.scramble(self._log.texts[place], self._size)
            found = self._known[place] = _as_seen(given.queries[: self._size])
        return found


def _compared(seen: Release, runs: _Runs, order: Ids, worth: Floats) -> Floats:
    """Return a score (N,) for each query: the likeness of its release, then what it is worth."""
    like = np.full(len(worth), _NOT_RUN)
    for place in _until_found(seen, runs, order.tolist(), worth):
        like[place] = _jaccard(seen, runs[place])
    _, level = np.unique(np.stack([like, worth], axis=1), axis=0, return_inverse=True)
    return level.reshape(-1).astype(np.float64)


def _until_found(seen: Release, runs: _Runs, order: Sequence[int], worth: Floats) -> Iterator[int]:
    """Yield queries to run, up to one that gives what was seen, and those worth as much."""
    least = -np.inf
    for place in order if seen else ():
        if worth[place] < least:
            return
        yield place
        if runs[place] == seen:
            least = worth[place]


def _jaccard(one: Release, other: Release) -> float:
    return len(one & other) / max(1, len(one | other))


def _as_seen(queries: Sequence[str]) -> Release:
    return frozenset(map(folded, queries)) - {""}


def _without_draws(scene: Scene) -> QueryMechanism:
    """Return the mechanism of a scene, which must be one that gives the same every time."""
    if scene.mechanism is None:
        raise ParameterError("The rerun attacker needs the mechanism: give mechanism=.")
    if not isinstance(scene.mechanism, QueryMechanism):
        raise ParameterError(
            "The rerun attacker needs a mechanism that draws nothing (aea, fea), but"
            f" {scene.mechanism.name} draws; use the bayes attacker."
        )
    return scene.mechanism
