"""Pipelines with the real PyTerrier, and with the least that stands in for it."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

Rows = list[dict[str, Any]]
Table = Any  # a frame of pandas, or what stands in for one
Class = Any  # of PyTerrier, or what stands in for one


class Frame:
    """What a frame of pandas does for a pipeline."""

    def __init__(self, rows: Iterable[dict[str, Any]], columns: Sequence[str]) -> None:
        self.columns = list(columns)
        self._rows = [{name: row.get(name) for name in columns} for row in rows]

    def to_dict(self, orient: str) -> Rows:
        assert orient == "records"
        return [dict(row) for row in self._rows]


class Step:
    """What a Transformer of PyTerrier does: one after the other."""

    def __new__(cls, *given: object, **named: object) -> "Step":
        del given, named
        return super().__new__(cls)

    def transform(self, inp: Table) -> Table:
        raise NotImplementedError

    def __rshift__(self, other: "Step") -> "Step":
        return _Both(self, other)


class _Both(Step):
    def __init__(self, first: Step, second: Step) -> None:
        self.first, self.second = first, second

    def transform(self, inp: Table) -> Table:
        return self.second.transform(self.first.transform(inp))


class Kit(NamedTuple):
    """The steps under test, a frame, and an engine that notes what it is asked."""

    steps: Any  # veil.pyterrier
    frame: Any  # of rows and columns
    engine: Any

    def queries(self, *texts: str, **more: str) -> Table:
        rows = [{"qid": f"q{i}", "query": text, **more} for i, text in enumerate(texts)]
        return self.frame(rows, columns=["qid", "query", *more])


def rows(frame: Table) -> Rows:
    found: Rows = frame.to_dict(orient="records")
    return found


def engine_of(base: Class, frame: Class) -> Class:
    """Return a class of engines over documents of one word each."""

    class Words(base):  # type: ignore[misc]  # PyTerrier has no types here
        def __init__(
            self, documents: dict[str, str], *, texts: bool = False, backwards: bool = False
        ) -> None:
            self.documents, self.texts, self.backwards = documents, texts, backwards
            self.seen: list[Any] = []

        def transform_inputs(self) -> list[list[str]]:
            return [["qid", "query"]]

        def transform(self, inp: Table) -> Table:
            self.seen.append(inp)
            columns = [*inp.columns, "docno", "score", "rank", *(["text"] if self.texts else [])]
            found = [
                {**row, "docno": name, "score": -float(rank), "rank": rank, "text": text}
                for row in rows(inp)
                for rank, (name, text) in enumerate(self._matches(row["query"]))
            ]
            kept = [{name: row[name] for name in columns} for row in found]
            return frame(kept, columns=columns)

        def _matches(self, query: str) -> list[tuple[str, str]]:
            words = query.split()
            found = [pair for pair in self.documents.items() if set(words) & {*pair[1].split()}]
            sign = 1 if self.backwards else -1
            return sorted(
                found, key=lambda pair: sign * sum(word in words for word in pair[1].split())
            )

    return Words
