"""Frames and lists of results as records."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Ranking
from veil.search.pipeline import reciprocal_rank

Record = dict[str, Any]


class Frame(Protocol):
    """What is asked of a frame; one of pandas has it."""

    @property
    def columns(self) -> Any:  # noqa: ANN401 - an index of pandas
        """The names of the columns."""
        ...

    def to_dict(self, orient: Any) -> Any:  # noqa: ANN401 - of many kinds
        """Return the rows as records."""
        ...


def records(frame: Frame, needed: Sequence[str], step: str) -> list[Record]:
    """Return the rows of a frame that must have some columns."""
    columns = list(frame.columns)
    lacking = [name for name in needed if name not in columns]
    if lacking:
        raise InputError(
            f"{step} needs a frame with the columns {', '.join(needed)}; it has no"
            f" {' and no '.join(lacking)}."
        )
    found: list[Record] = frame.to_dict(orient="records")
    return found


def frame_like(frame: Frame, rows: Sequence[Record], columns: Sequence[str]) -> Any:  # noqa: ANN401
    """Return a frame of the same kind with these rows; without any it has its columns still."""
    kind: Any = type(frame)
    return kind(list(rows), columns=list(columns))


def queries_of(frame: Frame, step: str) -> list[Record]:
    """Return the queries of a frame: each has an id of its own, which is not the query."""
    found = records(frame, ("qid", "query"), step)
    ids = [str(row["qid"]) for row in found]
    if len(set(ids)) < len(ids):
        raise InputError(
            f"{step} needs one row for each query, and two of them have the same qid; give each"
            " query an id of its own."
        )
    if any(_same(row["qid"], row["query"]) for row in found):
        raise InputError(
            f"{step} hands the qid on as it is, and one of them is the query itself; number the"
            " queries."
        )
    return found


def _same(one: object, other: object) -> bool:
    return " ".join(str(one).split()).casefold() == " ".join(str(other).split()).casefold()


RESULT = ("qid", "docno", "score", "rank")  # the columns of a list, beside those of its query


def listed(rows: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the results of each qid, best first: by their rank, or by the score."""
    lists: dict[str, list[Record]] = {}
    for row in rows:
        lists.setdefault(str(row["qid"]), []).append(row)
    return {name: sorted(found, key=_place) for name, found in lists.items()}


def _place(row: Record) -> float:
    rank = row.get("rank")
    place = -float(row["score"]) if rank is None else float(rank)
    return math.inf if math.isnan(place) else place


def about(columns: Iterable[str]) -> list[str]:
    """Return the columns that tell of a document, and neither of a query nor of its place."""
    return [name for name in columns if name not in RESULT and not name.startswith("query")]


def fused(lists: Sequence[Sequence[Record]]) -> tuple[Ranking, dict[str, Record]]:
    """Fuse lists into one by reciprocal ranks; return it, and what is known of each document.

    A document that stands in one list twice counts where it stands first. What is known of it is
    what the list says that has it highest.
    """
    known: dict[str, Record] = {}
    for _, row in sorted(
        ((rank, row) for rows in lists for rank, row in enumerate(rows)), key=lambda pair: pair[0]
    ):
        known.setdefault(str(row["docno"]), row)
    place = {name: number for number, name in enumerate(known)}
    ranked = [list(dict.fromkeys(place[str(row["docno"])] for row in rows)) for rows in lists]
    width = max((len(places) for places in ranked), default=0)
    index = np.full((len(ranked), width), -1, dtype=np.int64)
    for line, places in zip(index, ranked, strict=True):
        line[: len(places)] = places
    scores = np.where(index >= 0, 0.0, -np.inf)
    ranking = Ranking(tuple(known), index, scores, _column(known, "text"), _column(known, "title"))
    return reciprocal_rank(ranking), known


def _column(known: Mapping[str, Record], name: str) -> tuple[str, ...]:
    if not any(name in row for row in known.values()):
        return ()
    found = (row.get(name) for row in known.values())
    return tuple(value if isinstance(value, str) else "" for value in found)


def results(ranking: Ranking, known: Mapping[str, Record], columns: Sequence[str]) -> list[Record]:
    """Return the rows of one list, with its documents' own columns; the first has rank 0."""
    return [
        {
            "docno": ranking.items[place],
            "score": float(score),
            "rank": rank,
            **{name: known[ranking.items[place]].get(name) for name in columns},
        }
        for rank, (place, score) in enumerate(
            zip(ranking.index[0], ranking.scores[0], strict=True)
        )
        if place >= 0
    ]
