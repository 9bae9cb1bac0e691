"""Answers recorded earlier, from a file on this machine."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from veil.core.errors import EngineError, InputError, ParameterError
from veil.core.formatting import brief
from veil.core.types import Ranking, Released
from veil.data.files import whole_file
from veil.search.engines.engine import MAX_K, MAX_QUERIES, EngineSpec, Hit, check_call, ranking
from veil.search.engines.network.answer import ExcessError, follow, hit, label, read

_MAX_LINE = 16 * 2**20  # bytes
_MAX_VALUES = 10 * MAX_K  # per line: five for each item, and some spare fields


class Replay(EngineSpec):
    """Recorded answers of an engine, one JSON object per line, as `record` writes them.

    ``{"query": "...", "items": [{"id": "...", "score": 1.0, "title": "", "text": ""}]}``

    If a query occurs twice in the file, its last answer counts.
    """

    name: ClassVar[str] = "replay"

    file: str = Field(
        min_length=1, description="file of recorded answers (JSONL)", examples=["answers.jsonl"]
    )

    def open(self, collection: object = None, report: object = None) -> "Recorded":
        """Return an engine with all answers of the file in memory."""
        del report  # reading is quick
        if collection is not None:
            raise ParameterError("The replay engine takes no collection. Remove it.")
        path = Path(self.file)
        answers: dict[str, tuple[Hit, ...]] = {}
        for number_, line in enumerate(_lines(path), start=1):
            if line.strip():
                query, hits = _read(line, f"Line {number_:,} of {path.name}")
                answers[query] = hits
            if len(answers) > MAX_QUERIES:
                raise InputError(f"{path.name} has more than {MAX_QUERIES:,} queries. Split it.")
        return Recorded(path.name, answers)


@brief("answers")
@dataclass(frozen=True)
class Recorded:
    """An engine that returns recorded answers."""

    source: str
    answers: dict[str, tuple[Hit, ...]]

    @property
    def network(self) -> bool:
        """False: nothing leaves this machine."""
        return False

    def search(self, queries: Sequence[Released], k: int) -> Ranking:
        """Return the first `k` recorded items of each query. Queries without a record are gaps."""
        check_call(queries, k, network=False)
        gap = f"The query was not recorded in {self.source}."
        gaps = ["" if query in self.answers else gap for query in queries]
        if gaps and all(gaps):
            raise EngineError(
                f"None of the queries was recorded in {self.source}. Use the variants of the"
                " recording: those that the ledger still has, or the same seed and size."
            )
        return ranking([self.answers.get(query, ()) for query in queries], int(k), gaps)


def record(path: Path, queries: Sequence[Released], answers: Ranking) -> None:
    """Write the answers to queries to a file for `Replay`, completely or not at all.

    Only the owner can read the file. Queries without an answer are omitted.
    """
    check_call(queries, max(1, answers.index.shape[1]), network=False)
    if len(queries) != len(answers):
        raise InputError(
            f"Queries and answers must match. Got {len(queries)} queries and {len(answers)} lists"
            " of answers instead."
        )
    with whole_file(path, private=True) as part, part.open("w", encoding="utf-8") as out:
        for row, query in enumerate(queries):
            if not (answers.gaps and answers.gaps[row]):
                line = {"query": query, "items": list(_items(answers, row))}
                out.write(json.dumps(line) + "\n")


def _items(answers: Ranking, row: int) -> Iterator[dict[str, object]]:
    for i, score in zip(answers.index[row], answers.scores[row], strict=True):
        if i >= 0:
            yield {
                "id": answers.items[i],
                "score": float(score),
                "title": answers.titles[i] if answers.titles else "",
                "text": answers.texts[i] if answers.texts else "",
            }


def _lines(path: Path) -> Iterator[bytes]:
    if not path.is_file():
        raise InputError(f"File {path} does not exist. Check the path.")
    try:
        with path.open("rb") as file:
            while line := file.readline(_MAX_LINE + 1):
                if len(line) > _MAX_LINE:
                    raise InputError(
                        f"{path.name} has a line of more than {_MAX_LINE:,} bytes. Shorten it."
                    )
                yield line
    except OSError as error:
        raise InputError(f"Cannot read {path} ({error.strerror}). Check the file.") from None


def _read(line: bytes, where: str) -> tuple[str, tuple[Hit, ...]]:
    try:
        value = read(line, _MAX_VALUES)
    except ExcessError:
        raise InputError(
            f"{where} has too many JSON values, or too deeply nested ones. Repair the file."
        ) from None
    query, items = follow(value, "query"), follow(value, "items")
    if not isinstance(query, str) or not isinstance(items, list):
        raise InputError(f"{where} must be a JSON object with 'query' and a list 'items'.")
    if len(items) > MAX_K:
        raise InputError(f"{where} has more than {MAX_K:,} items. Repair the file.")
    fields = ("score", "title", "text")
    hits = tuple(
        hit(label(follow(item, "id")), *(follow(item, name) for name in fields)) for item in items
    )
    if not all(entry.id for entry in hits):
        raise InputError(f"{where} has an item without an 'id'. Repair the file.")
    return query, hits
