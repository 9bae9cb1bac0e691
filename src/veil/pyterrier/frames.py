"""Frames as lists of records: nothing here needs to know how a frame is kept."""

from collections.abc import Sequence
from typing import Any, Protocol

from veil.core.errors import InputError

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
