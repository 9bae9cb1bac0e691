"""Attackers of several releases: which belong together, and what they tell together."""

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
from veil.text.attacks.attack import EncoderAttack, Outcome, Scene
from veil.text.attacks.inference import (
    centroids,
    log_positions,
    queries_ranked,
    ranks,
    require_log,
)
from veil.text.attacks.log import LogGroups, LookupTable, QueryEncoder, QueryLog, folded
from veil.text.mechanisms.mechanism import GroupTable, QueryMechanism, table_of

_BYTES = 64 * 2**20  # of scores at a time


def neighbours(vectors: Singles, count: int, report: Report = no_progress) -> Ids:
    """Return the rows (n, count) that are nearest to each row by cosine, the nearest first.

    A row is no neighbour of its own, unless it is alone. Of equal scores the earlier row comes
    first.
    """
    n = len(vectors)
    count = min(count, n - 1)
    if count < 1:
        return np.zeros((n, 1), dtype=np.int64)
    found = np.empty((n, count), dtype=np.int64)
    step = max(1, _BYTES // (4 * n))
    for start in range(0, n, step):
        report("looking for neighbours", start, n)
        near = np.asarray(vectors[start : start + step] @ vectors.T)
        own = np.arange(len(near))
        near[own, start + own] = -np.inf
        found[start : start + step] = _best(near, count)
    report("looking for neighbours", n, n)
    return found


def _best(near: Singles, count: int) -> Ids:
    some = np.sort(np.argpartition(-near, count - 1, axis=1)[:, :count], axis=1)
    values = np.take_along_axis(near, some, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    best: Ids = np.take_along_axis(some, order, axis=1)
    return best


_NEIGHBOURS = 10
_ROUNDING = 1e-9  # of sums of probabilities


class Session(EncoderAttack):
    r"""Rank the queries of a log by their probability of having begun a session.

    After each query comes one of the ten that are nearest to it in the log, any of them equally
    likely. The attacker knows that, the table and its rule, and sees which group is used at every
    step. With a_t the address of step t and N(x) the neighbours of x:

    .. math:: P(a_t \dots a_T | x) = [a(x) = a_t] \cdot \frac{1}{10}
       \sum y \in N(x): P(a_{t+1} \dots a_T | y)

    The first release is that of the scene; the queries that follow each text are drawn here, the
    same ones every time. A mechanism with a `stay` keeps the group of a step for the next query,
    if that is as near (cosine) to any text of the group: then nothing new is seen.

    For mechanisms that send whole groups (cover). With ``length=1`` it is `bayes`.

    Notes
    -----
    Real sessions may be more or less alike than such walks. That a query asked before gets its
    own group again is not modelled.
    """

    name: ClassVar[str] = "session"
    needs: ClassVar[frozenset[str]] = frozenset({"log", "mechanism"})

    length: Annotated[int, Field(ge=1, le=100, description="queries in a session")] = 5

    def rank(self, scene: Scene, encoder: Encoder, report: Report = no_progress) -> Outcome:
        """Attack with an open encoder."""
        log, mechanism = require_log(scene, self.name), _whole(scene)
        table = table_of(mechanism)
        if table is None:
            raise LawError(f"The table of {mechanism.name} tells no addresses of queries.")
        vectors = np.asarray(log.vectors(encoder, report).vectors)
        walks = _Walks(
            LogGroups.of(log, table, report),
            _graph(log, vectors, encoder.key, report),
            _Stay.of(mechanism, table, log, vectors, encoder.key),
        )
        places = log_positions(scene)
        found, ties = np.empty((2, len(places)), dtype=np.int64)
        for i, row in enumerate(scene.variants):
            report("following sessions", i, len(places))
            seed = _seed(scene.originals[i])
            scores = walks.scores(row, int(places[i]), self.length, seed)
            found[i], ties[i] = rank_with_ties(scores, int(places[i]), _ROUNDING)
        report("following sessions", len(places), len(places))
        return queries_ranked(found, ties, len(log))


class _Walks:
    """Sessions on a graph, as they are drawn, and as they are read backwards."""

    def __init__(self, groups: LogGroups, graph: Ids, stay: "_Stay") -> None:
        self._groups, self._graph, self._stay = groups, graph, stay

    def scores(self, row: tuple[str, ...], first: int, length: int, seed: int) -> Floats:
        """Return the probability (N,) of what is seen, for each query to begin with."""
        found = np.exp(self._groups.scores(row))
        seen = self._groups.match(row)
        if len(seen) == 1 and first >= 0:
            used = self.used(first, length, np.random.default_rng(seed))
            found = found * self.backward(np.append(seen, used[1:]))
        return found if found.any() else np.zeros(len(found))

    def used(self, first: int, length: int, rng: np.random.Generator) -> Ids:
        """Draw a session, and return the address (T,) that is used at each step."""
        query, addresses = first, self._groups.addresses
        used = [int(addresses[query])]
        for _ in range(length - 1):
            query = int(rng.choice(self._graph[query]))
            stays = bool(self._stay.at(used[-1])[query])
            used.append(used[-1] if stays else int(addresses[query]))
        return np.array(used, dtype=np.int64)

    def backward(self, used: Ids) -> Floats:
        """Return the probability (N,) of all that is used after the first step."""
        addresses = self._groups.addresses
        found = np.ones(len(addresses))
        for before, after in zip(used[-2::-1].tolist(), used[:0:-1].tolist(), strict=True):
            fits = np.where(self._stay.at(before), before == after, addresses == after)
            found = np.where(fits, found, 0.0)[self._graph].mean(axis=1)
        return found


class _Stay:
    """Which queries of a log stay with a group; nobody does where there is no such rule."""

    def __init__(self, table: LookupTable | None, vectors: Singles, least: float) -> None:
        self._table, self._vectors, self._least = table, vectors, least
        self._known: dict[int, NDArray[np.bool_]] = {}

    @classmethod
    def of(
        cls, mechanism: QueryMechanism, table: GroupTable, log: QueryLog, own: Singles, key: str
    ) -> "_Stay":
        """Read the rule off a mechanism; vectors by the table's model are needed for it."""
        least = getattr(mechanism, "stay", None)
        if least is None or not isinstance(table, LookupTable):
            return cls(None, own, np.inf)
        same = table.key == key
        return cls(table, own if same else log.vectors(QueryEncoder(table)).vectors, float(least))

    def at(self, address: int) -> NDArray[np.bool_]:
        """Tell which queries (N,) stay with the group of an address."""
        if address not in self._known:
            stays = np.zeros(len(self._vectors), dtype=np.bool_)
            if self._table is not None:
                members = self._table.vectors[self._table.members(address)]
                stays = (self._vectors @ members.T).max(axis=1, initial=-2.0) >= self._least
            self._known[address] = stays
        return self._known[address]


def _graph(log: QueryLog, vectors: Singles, key: str, report: Report) -> Ids:
    found = log.memo.get(("graph", key))
    if not isinstance(found, np.ndarray):
        found = log.memo["graph", key] = neighbours(vectors, _NEIGHBOURS, report)
    return found


def _seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(folded(text).encode()).digest()[:8], "little")


def _whole(scene: Scene) -> QueryMechanism:
    """Return the mechanism of a scene, which must be one that sends whole groups."""
    known = scene.mechanism
    if known is None:
        raise ParameterError("The session attacker needs the mechanism: give mechanism=.")
    if not isinstance(known, QueryMechanism) or not known.whole:
        raise LawError(
            "The session attacker needs a mechanism that sends whole groups of a table (cover),"
            f" as it must know what every query of a session gives; {known.name} does not."
        )
    return known


class Linkage(EncoderAttack):
    """Tell which of many releases is the same query again.

    The variants of each text are cut into two halves, as if it had been asked twice with fresh
    noise. For each first half all second halves are ranked by the cosine of the mean vectors; the
    rank is that of its own (or of another text that reads the same).

    Notes
    -----
    A text with fewer than two variants cannot be linked: it comes after all others, and is no
    candidate; if all are such, nothing is guessed. With sticky variants (the same ones for the
    same query) two releases are known to be of one query because they are equal, but the second
    one adds nothing to what the first one tells about the query.
    """

    name: ClassVar[str] = "linkage"

    def rank(self, scene: Scene, encoder: Encoder, report: Report = no_progress) -> Outcome:
        """Attack with an open encoder."""
        two = [i for i, row in enumerate(scene.variants) if len(row) > 1]
        if not two:
            none = np.empty(0, dtype=np.int64)
            return Outcome(none, none, none, "release")
        halves = [(row[: len(row) // 2], row[len(row) // 2 :]) for row in scene.variants]
        firsts = centroids([halves[i][0] for i in two], encoder, report)
        seconds = centroids([halves[i][1] for i in two], encoder, report)
        first, second = _same([scene.originals[i] for i in two])
        found, level = ranks(firsts[first], unit(seconds.astype(np.float32)), second)
        whose = np.array(two, dtype=np.int64)[first]
        out = np.full(len(scene.variants), len(two) + 1, dtype=np.int64)
        np.minimum.at(out, whose, found)
        ties, right = np.ones((2, len(out)), dtype=np.int64)
        best = found == out[whose]
        ties[whose[best]] = level[best]
        right[:] = np.maximum(1, np.bincount(whose[best], minlength=len(out)))
        among = np.full(len(out), len(two), dtype=np.int64)
        # of m that are level, c right ones: about as if one of m / c were right, never less
        return Outcome(out, among, np.arange(len(out)), "release", ties=ties // right)


def _same(texts: Sequence[str]) -> tuple[Ids, Ids]:
    """Return all pairs of texts that read the same, each with itself among them."""
    groups: dict[str, list[int]] = {}
    for number, text in enumerate(texts):
        groups.setdefault(folded(text), []).append(number)
    pairs = [(a, b) for a, text in enumerate(texts) for b in groups[folded(text)]]
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return first, second
