"""What is scored: points with their runs, on the queries that all of it is about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from veil.core.errors import InputError
from veil.core.formatting import count_of
from veil.corpus.collection import Judgements
from veil.corpus.trec import Run, read_run
from veil.search.score.points import Point


@dataclass(frozen=True)
class Material:
    """Points, their runs and the judgements, on the same queries in the same order.

    Attributes
    ----------
    names, texts
        The queries of the variants of which a relevant document is known.
    unjudged
        How many others there are; they are left out.
    """

    points: tuple[Point, ...]
    runs: Mapping[Path, Run]
    judgements: Judgements
    names: tuple[str, ...]
    texts: tuple[str, ...]
    unjudged: int = 0
    plain: Path | None = None

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Most variants of a query, by mechanism: one that finds fewer was asked for as many."""
        found: dict[str, int] = {}
        for point in self.points:
            most = max((len(row) for row in point.table.rows), default=0)
            found[point.name] = max(most, found.get(point.name, 1))
        return found

    def rows(self, point: Point) -> list[tuple[str, ...]]:
        """Return the variants of each query; none where the file has none."""
        held = dict(zip(point.table.ids, point.table.rows, strict=True))
        return [held.get(name, ()) for name in self.names]

    def lists(self, run: Path) -> list[list[str]]:
        """Return the documents for each query; none where the run has none."""
        return [self.runs[run].get(name, []) for name in self.names]


def material(
    points: Sequence[Point], judgements: Judgements, qrels: str, plain: Path | None = None
) -> Material:
    """Read the runs, and see that everything is about the same queries."""
    _check_curves(points)
    originals = _originals(points)
    names = [
        name for name in originals if any(grade > 0 for grade in judgements.get(name, {}).values())
    ]
    if not names:
        raise InputError(
            f"{qrels} judges none of the {len(originals):,} queries of the variants; the ids of"
            " both must be the same: is it of another set of queries?"
        )
    for point in points:
        if not {*point.table.ids} & {*names}:
            raise InputError(
                f"{point.file.name} has no query that the other files have; score the variants of"
                " one set of queries at a time."
            )
    paths = dict.fromkeys(point.run for point in points if point.run is not None)
    runs = {path: read_run(path) for path in (*paths, *([plain] if plain else []))}
    for path, run in runs.items():
        if not {*run} & {*names}:
            raise InputError(
                f"The run {path.name} answers none of the queries of the variants; its ids must"
                " be theirs: is it of another set of queries?"
            )
    texts = tuple(originals[name] for name in names)
    lost = len(originals) - len(names)
    return Material(tuple(points), runs, judgements, tuple(names), texts, lost, plain)


def _check_curves(points: Sequence[Point]) -> None:
    """See that there is a curve: a score is an area, and one point has none."""
    places: dict[tuple[str, str], set[float]] = {}
    for point in points:
        values = places.setdefault((point.name, point.parameter), set())
        if point.value in values and [one.spec for one in points].count(point.spec) > 1:
            raise InputError(f"There are variants of {point} twice; keep one of them.")
        values.add(point.value)
    if all(len(values) < 2 for values in places.values()):
        raise InputError(
            f"A QuIPU score needs a curve, and there is {count_of(len(places), 'mechanism')} with"
            " one point only; give variants and runs for another value of the parameter, too."
        )


def _originals(points: Sequence[Point]) -> dict[str, str]:
    """Return the text of each query, which must be the same in all files."""
    found: dict[str, str] = {}
    for point in points:
        for name, text in zip(point.table.ids, point.table.originals, strict=True):
            if found.setdefault(name, text) != text:
                raise InputError(
                    f"{point.file.name} has an id that stands for another text in another file;"
                    " score the variants of one set of queries at a time."
                )
    return found
