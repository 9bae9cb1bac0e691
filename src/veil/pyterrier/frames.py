"""Data frames and result lists as records."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Ranking
from veil.search.pipeline import reciprocal_rank

Record = dict[str, Any]


class Frame(Protocol):
    """The part of a pandas data frame that is used here."""

    @property
    def columns(self) -> Any:  # noqa: ANN401 - a pandas index
        """Column names."""
        ...

    def to_dict(self, orient: Any) -> Any:  # noqa: ANN401 - depends on `orient`
        """Return the rows as records."""
        ...


def records(frame: Frame, required: Sequence[str], step: str) -> list[Record]:
    """Return the rows of a frame, which must have the `required` columns."""
    columns = list(frame.columns)
    missing = [name for name in required if name not in columns]
    if missing:
        raise InputError(
            f"{step} needs a frame with the columns {', '.join(required)}; it has no"
            f" {' and no '.join(missing)}."
        )
    rows: list[Record] = frame.to_dict(orient="records")
    return rows


def frame_like(frame: Frame, rows: Sequence[Record], columns: Sequence[str]) -> Any:  # noqa: ANN401
    """Return a frame of the same type with these rows and columns, even if there are no rows."""
    kind: Any = type(frame)
    return kind(list(rows), columns=list(columns))


def read_queries(frame: Frame, step: str) -> list[Record]:
    """Return the queries of a frame. Their ids must be distinct, and not the query itself."""
    rows = records(frame, ("qid", "query"), step)
    ids = [str(row["qid"]) for row in rows]
    if len(set(ids)) < len(ids):
        raise InputError(
            f"{step} needs one row per query. Two rows have the same qid. Give each query its own"
            " id."
        )
    if any(_same(row["qid"], row["query"]) for row in rows):
        raise InputError(
            f"{step} passes the qid on unchanged, but one qid is the query itself. Number the"
            " queries."
        )
    return rows


def _same(first: object, second: object) -> bool:
    return " ".join(str(first).split()).casefold() == " ".join(str(second).split()).casefold()


RESULT = ("qid", "docno", "score", "rank")  # columns of a result list that are not the query's


def group_results(rows: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the results of each qid, best first: by rank, or by score if there are no ranks."""
    lists: dict[str, list[Record]] = {}
    for row in rows:
        lists.setdefault(str(row["qid"]), []).append(row)
    return {name: sorted(results, key=_sort_key) for name, results in lists.items()}


def _sort_key(row: Record) -> float:
    rank = row.get("rank")
    key = -float(row["score"]) if rank is None else float(rank)
    return math.inf if math.isnan(key) else key


def document_columns(columns: Iterable[str]) -> list[str]:
    """Return the columns that describe a document, not a query or a position."""
    return [name for name in columns if name not in RESULT and not name.startswith("query")]


def fuse_lists(lists: Sequence[Sequence[Record]]) -> tuple[Ranking, dict[str, Record]]:
    """Fuse lists by reciprocal ranks; return the ranking, and the best row of each document.

    A document that occurs in a list twice counts at its first position. Its row is taken from the
    list that ranks it highest.
    """
    documents: dict[str, Record] = {}
    for _, row in sorted(
        ((rank, row) for rows in lists for rank, row in enumerate(rows)), key=lambda pair: pair[0]
    ):
        documents.setdefault(str(row["docno"]), row)
    codes = {name: number for number, name in enumerate(documents)}
    rankings = [list(dict.fromkeys(codes[str(row["docno"])] for row in rows)) for rows in lists]
    width = max((len(ranking) for ranking in rankings), default=0)
    index = np.full((len(rankings), width), -1, dtype=np.int64)
    for line, ranking in zip(index, rankings, strict=True):
        line[: len(ranking)] = ranking
    scores = np.where(index >= 0, 0.0, -np.inf)
    texts, titles = _column(documents, "text"), _column(documents, "title")
    fused = reciprocal_rank(Ranking(tuple(documents), index, scores, texts, titles))
    return fused, documents


def _column(documents: Mapping[str, Record], name: str) -> tuple[str, ...]:
    if not any(name in row for row in documents.values()):
        return ()
    values = (row.get(name) for row in documents.values())
    return tuple(value if isinstance(value, str) else "" for value in values)


def to_records(
    ranking: Ranking, documents: Mapping[str, Record], columns: Sequence[str]
) -> list[Record]:
    """Return the rows of one list, with the columns of its documents. The first rank is 0."""
    return [
        {
            "docno": ranking.items[item],
            "score": float(score),
            "rank": rank,
            **{name: documents[ranking.items[item]].get(name) for name in columns},
        }
        for rank, (item, score) in enumerate(zip(ranking.index[0], ranking.scores[0], strict=True))
        if item >= 0
    ]
