"""A log as a word mechanism reads it: queries of one shape together."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from veil.attacks._cases import Cases, cased, cases_of
from veil.attacks._likelihood import Likelihood
from veil.attacks._shapes import Reader, Shape, chunks
from veil.attacks._tables import Tables
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
        seen = [self.reader.seen(group.shape, variants) for group in groups]
        known = _known(groups)
        law.prepare(known, report)
        tables = Tables.of(law, self.reader.space, known, _words(seen))
        unread = [np.inf if words is None else np.count_nonzero(words < 0) for words in seen]
        least = min(unread, default=np.inf)
        for group, words, odd in zip(groups, seen, unread, strict=True):
            # "(skin)" is no word, but has the shape of one: another shape explains it.
            if words is not None and odd == least:
                total = np.zeros(len(group.places))
                for place in range(words.shape[1]):
                    total += tables.at(words[:, place], group.ids[:, place])
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


def _words(seen: Iterable[Ids | None]) -> Ids:
    """Return the distinct words in tables of words that were seen."""
    found = [words.ravel() for words in seen if words is not None]
    ids = np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)
    return ids[ids >= 0]
