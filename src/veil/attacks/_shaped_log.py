"""A log as a word mechanism reads it: queries of one shape together."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from veil.attacks._cases import Cases, cased, cases_of
from veil.attacks._likelihood import Likelihood, log_mean
from veil.attacks._shapes import Reader, Shape, chunks
from veil.attacks.log import QueryLog
from veil.core.types import Floats, Ids
from veil.data.fetch import Report, silent


@dataclass(frozen=True, slots=True)
class _Group:
    """Queries of one shape: their words (m, places), -1: unknown, and their places in the log."""

    shape: Shape
    ids: Ids
    places: Ids


@dataclass(frozen=True, eq=False)
class ShapedLog:
    """The queries of a log by their shape, read when needed, in the case that variants show.

    Which words a mechanism keeps may depend on capitals, which stay visible: a logged query is
    read as if it had been typed with those of the variants.
    """

    log: QueryLog
    reader: Reader
    _groups: dict[Cases, list[_Group]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, log: QueryLog, reader: Reader) -> "ShapedLog":
        """Return the log as read by `reader`; what was read is kept with the log."""
        key = ("shaped", id(reader.space), reader.select)
        found = log.memo.get(key)  # holds the space as well, so that its id is not given away
        if not isinstance(found, ShapedLog):
            found = cls(log, reader)
            log.memo[key] = found
        return found

    def scores(self, row: tuple[str, ...], law: Likelihood, report: Report = silent) -> Floats:
        """Return the log-likelihood of every query (N,) given variants; -inf: impossible."""
        variants = chunks(row)
        if not variants:
            return np.zeros(len(self.log))
        out = np.full(len(self.log), -np.inf)
        groups = self._read(cases_of(variants), report)
        known = _known(groups)
        law.prepare(known, report)
        tables = _Tables(law, known)
        for group in groups:
            seen = self.reader.seen(group.shape, variants)
            if seen is not None:
                total = np.zeros(len(group.places))
                for place in range(seen.shape[1]):
                    total += tables.of(seen[:, place])[group.ids[:, place]]
                out[group.places] = total
        return out

    def words(self, texts: Iterable[str], report: Report = silent) -> Ids:
        """Return the words of all queries that variants of these texts may be weighed against."""
        shown = dict.fromkeys(cases_of([text.split()]) for text in texts)
        return _known([group for cases in shown for group in self._read(cases, report)])

    def _read(self, cases: Cases, report: Report) -> list[_Group]:
        if cases not in self._groups:
            report("reading the log", 0, 0)
            self._groups[cases] = self._sorted(cases)
        return self._groups[cases]

    def _sorted(self, cases: Cases) -> list[_Group]:
        found: dict[Shape, tuple[list[tuple[int, ...]], list[int]]] = {}
        for place, text in enumerate(self.log.texts):
            pieces = text.split()
            if len(pieces) == len(cases):
                reading = self.reader.read(cased(pieces, cases))
                ids, places = found.setdefault(reading.shape, ([], []))
                ids.append(reading.ids)
                places.append(place)
        return [
            _Group(
                shape,
                np.array(ids, dtype=np.int64).reshape(len(places), len(ids[0])),
                np.array(places, dtype=np.int64),
            )
            for shape, (ids, places) in found.items()
        ]


def _known(groups: list[_Group]) -> Ids:
    """Return the distinct words of groups that the vectors know."""
    if not groups:
        return np.empty(0, dtype=np.int64)
    ids = np.unique(np.concatenate([group.ids.ravel() for group in groups]))
    return ids[ids >= 0]


class _Tables:
    """Log-likelihoods of all words, and at the end of an unknown one, for what was seen."""

    def __init__(self, law: Likelihood, exact: Ids) -> None:
        self._law, self._exact = law, exact
        self._made: dict[bytes, Floats] = {}

    def of(self, seen: Ids) -> Floats:
        """Return (V + 1,) for the words seen at a place; those not known say nothing."""
        known = np.sort(seen[seen >= 0])
        key = known.tobytes()
        if key not in self._made:
            logs = self._law.of(known, self._exact)
            self._made[key] = np.append(logs, log_mean(logs))
        return self._made[key]
