"""Attacks on several releases: which belong together, and what they reveal together."""

import hashlib
from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from veil.core.errors import LawError, ParameterError
from veil.core.outcome import rank_with_ties
from veil.core.types import Encoder, Floats, Ids, Singles
from veil.data.fetch import Report, no_progress
from veil.encoders.encoder import unit
from veil.text.attack import EncoderAttack, Outcome, Scene
from veil.text.attacks.inference import (
    centroids,
    log_positions,
    queries_ranked,
    ranks,
    require_log,
)
from veil.text.log import LogGroups, LookupTable, QueryEncoder, QueryLog, folded
from veil.text.mechanisms.mechanism import GroupTable, QueryMechanism, table_of

_BYTES = 64 * 2**20  # of scores at a time


def neighbours(vectors: Singles, count: int, report: Report = no_progress) -> Ids:
    """Return the rows (n, count) that are nearest to each row by cosine, the nearest first.

    A row is not its own neighbour, unless it is the only row. Ties are in the order of the rows.
    """
    n = len(vectors)
    count = min(count, n - 1)
    if count < 1:
        return np.zeros((n, 1), dtype=np.int64)
    nearest = np.empty((n, count), dtype=np.int64)
    step = max(1, _BYTES // (4 * n))
    for start in range(0, n, step):
        report("looking for neighbours", start, n)
        scores = np.asarray(vectors[start : start + step] @ vectors.T)
        own = np.arange(len(scores))
        scores[own, start + own] = -np.inf
        nearest[start : start + step] = _best(scores, count)
    report("looking for neighbours", n, n)
    return nearest


def _best(scores: Singles, count: int) -> Ids:
    columns = np.sort(np.argpartition(-scores, count - 1, axis=1)[:, :count], axis=1)
    values = np.take_along_axis(scores, columns, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    best: Ids = np.take_along_axis(columns, order, axis=1)
    return best


_NEIGHBOURS = 10
_ROUNDING = 1e-9  # of sums of probabilities


class Session(EncoderAttack):
    r"""Rank the queries of a log by their probability of being the first of a session.

    Each query is followed by one of the ten queries nearest to it in the log, all equally likely.
    The attacker knows this, the table and its rule, and sees the group used at every step. With
    a_t the address of step t and N(x) the neighbours of x:

    .. math:: P(a_t \dots a_T | x) = [a(x) = a_t] \cdot \frac{1}{10}
       \sum y \in N(x): P(a_{t+1} \dots a_T | y)

    The first release is that of the scene. The following queries of each text are drawn here,
    reproducibly. A mechanism with a `stay` keeps the group of a step for the next query if that
    query has at least this cosine to a text of the group: then nothing new is seen.

    For mechanisms that send whole groups (cover). With ``length=1`` it is `bayes`.

    Notes
    -----
    The queries of real sessions may be more or less similar than in such walks. That a repeated
    query gets its own group again is not modelled.
    """

    name: ClassVar[str] = "session"
    needs: ClassVar[frozenset[str]] = frozenset({"log", "mechanism"})

    length: Annotated[int, Field(ge=1, le=100, description="queries in a session")] = 5

    def rank(self, scene: Scene, encoder: Encoder, report: Report = no_progress) -> Outcome:
        """Attack with an open encoder."""
        log, mechanism = require_log(scene, self.name), _whole(scene)
        table = table_of(mechanism)
        if table is None:
            raise LawError(f"The table of {mechanism.name} has no addresses of queries.")
        vectors = np.asarray(log.vectors(encoder, report).vectors)
        walks = _Walks(
            LogGroups.of(log, table, report),
            _graph(log, vectors, encoder.key, report),
            _Stay.of(mechanism, table, log, vectors, encoder.key),
        )
        positions = log_positions(scene)
        true_ranks, ties = np.empty((2, len(positions)), dtype=np.int64)
        for i, row in enumerate(scene.variants):
            report("following sessions", i, len(positions))
            seed = _seed(scene.originals[i])
            scores = walks.scores(row, int(positions[i]), self.length, seed)
            true_ranks[i], ties[i] = rank_with_ties(scores, int(positions[i]), _ROUNDING)
        report("following sessions", len(positions), len(positions))
        return queries_ranked(true_ranks, ties, len(log))


class _Walks:
    """Sessions on a graph: sampling, and probabilities of first queries."""

    def __init__(self, groups: LogGroups, graph: Ids, stay: "_Stay") -> None:
        self._groups, self._graph, self._stay = groups, graph, stay

    def scores(self, row: tuple[str, ...], first: int, length: int, seed: int) -> Floats:
        """Return the probability (N,) of the releases seen, for each query as the first."""
        probabilities = np.exp(self._groups.scores(row))
        addresses = self._groups.match(row)
        if len(addresses) == 1 and first >= 0:
            used = self.used(first, length, np.random.default_rng(seed))
            probabilities = probabilities * self.backward(np.append(addresses, used[1:]))
        return probabilities if probabilities.any() else np.zeros(len(probabilities))

    def used(self, first: int, length: int, rng: np.random.Generator) -> Ids:
        """Draw a session, and return the address (T,) used at each step."""
        query, addresses = first, self._groups.addresses
        used = [int(addresses[query])]
        for _ in range(length - 1):
            query = int(rng.choice(self._graph[query]))
            stays = bool(self._stay.at(used[-1])[query])
            used.append(used[-1] if stays else int(addresses[query]))
        return np.array(used, dtype=np.int64)

    def backward(self, used: Ids) -> Floats:
        """Return the probability (N,) of the addresses used after the first step."""
        addresses = self._groups.addresses
        probabilities = np.ones(len(addresses))
        for before, after in zip(used[-2::-1].tolist(), used[:0:-1].tolist(), strict=True):
            fits = np.where(self._stay.at(before), before == after, addresses == after)
            probabilities = np.where(fits, probabilities, 0.0)[self._graph].mean(axis=1)
        return probabilities


class _Stay:
    """Finds the queries of a log that stay with a group; none if there is no such rule."""

    def __init__(self, table: LookupTable | None, vectors: Singles, least: float) -> None:
        self._table, self._vectors, self._least = table, vectors, least
        self._known: dict[int, NDArray[np.bool_]] = {}

    @classmethod
    def of(
        cls, mechanism: QueryMechanism, table: GroupTable, log: QueryLog, own: Singles, key: str
    ) -> "_Stay":
        """Return the rule of a mechanism, with the log's vectors by the table's encoder."""
        least = getattr(mechanism, "stay", None)
        if least is None or not isinstance(table, LookupTable):
            return cls(None, own, np.inf)
        same = table.key == key
        return cls(table, own if same else log.vectors(QueryEncoder(table)).vectors, float(least))

    def at(self, address: int) -> NDArray[np.bool_]:
        """Return a mask (N,) of the queries that stay with the group of an address."""
        if address not in self._known:
            stays = np.zeros(len(self._vectors), dtype=np.bool_)
            if self._table is not None:
                members = self._table.vectors[self._table.members(address)]
                stays = (self._vectors @ members.T).max(axis=1, initial=-2.0) >= self._least
            self._known[address] = stays
        return self._known[address]


def _graph(log: QueryLog, vectors: Singles, key: str, report: Report) -> Ids:
    graph = log.memo.get(("graph", key))
    if not isinstance(graph, np.ndarray):
        graph = log.memo["graph", key] = neighbours(vectors, _NEIGHBOURS, report)
    return graph


def _seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(folded(text).encode()).digest()[:8], "little")


def _whole(scene: Scene) -> QueryMechanism:
    """Return the mechanism of a scene, or raise an error unless it sends whole groups."""
    mechanism = scene.mechanism
    if mechanism is None:
        raise ParameterError("The session attacker needs the mechanism: give mechanism=.")
    if not isinstance(mechanism, QueryMechanism) or not mechanism.whole:
        raise LawError(
            "The session attacker needs a mechanism that sends whole groups of a table (cover),"
            f" to know the release of every query of a session. {mechanism.name} does not."
        )
    return mechanism


class Linkage(EncoderAttack):
    """Find which of many releases belongs to the same query as another one.

    The variants of each text are split into two halves, as if it had been released twice with
    fresh noise. For each first half, all second halves are ranked by the cosine of the mean
    vectors. The result is the rank of the text's second half (or that of another text that reads
    the same).

    Notes
    -----
    A text with fewer than two variants cannot be linked: it ranks last and is not a candidate. If
    all texts are like that, nothing is guessed. With sticky variants (the same ones for the same
    query), equal releases reveal that they belong to one query, but the second adds nothing to
    what the first reveals about the query.
    """

    name: ClassVar[str] = "linkage"

    def rank(self, scene: Scene, encoder: Encoder, report: Report = no_progress) -> Outcome:
        """Attack with an open encoder."""
        linkable = [i for i, row in enumerate(scene.variants) if len(row) > 1]
        if not linkable:
            none = np.empty(0, dtype=np.int64)
            return Outcome(none, none, none, "release")
        halves = [(row[: len(row) // 2], row[len(row) // 2 :]) for row in scene.variants]
        firsts = centroids([halves[i][0] for i in linkable], encoder, report)
        seconds = centroids([halves[i][1] for i in linkable], encoder, report)
        first, second = _same([scene.originals[i] for i in linkable])
        ranking, tied = ranks(firsts[first], unit(seconds.astype(np.float32)), second)
        whose = np.array(linkable, dtype=np.int64)[first]
        out = np.full(len(scene.variants), len(linkable) + 1, dtype=np.int64)
        np.minimum.at(out, whose, ranking)
        ties, right = np.ones((2, len(out)), dtype=np.int64)
        best = ranking == out[whose]
        ties[whose[best]] = tied[best]
        right[:] = np.maximum(1, np.bincount(whose[best], minlength=len(out)))
        among = np.full(len(out), len(linkable), dtype=np.int64)
        # c right ones among m ties: success is about that of one in m / c ties, and never less
        return Outcome(out, among, np.arange(len(out)), "release", ties=ties // right)


def _same(texts: Sequence[str]) -> tuple[Ids, Ids]:
    """Return all pairs of texts that read the same, including each text with itself."""
    groups: dict[str, list[int]] = {}
    for number, text in enumerate(texts):
        groups.setdefault(folded(text), []).append(number)
    pairs = [(a, b) for a, text in enumerate(texts) for b in groups[folded(text)]]
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return first, second
