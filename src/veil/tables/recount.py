"""Count a released file again, and compare it with the claim on its card.

A claim is about the bytes that leave. So this module reads the file as any other reader would,
with the csv module or pyarrow, and counts with dictionaries. It shares no code with the modules
that read, anonymise, measure and write tables, so that it exposes their bugs.

Two rows are in one class if the file has the same characters in all quasi-identifiers. For l,
values that differ only in case, blanks or the spelling of a number are one, and empty fields do
not count. For t each class is compared with the whole file; an empty field is a value like others.
"""

import csv
import math
import re
import unicodedata
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from pathlib import Path
from typing import Any

from veil.core.errors import InputError
from veil.data.rows import pyarrow_parquet

KINDS = ("k-anonymity", "l-diversity", "t-closeness")
_SLACK = 1e-9
_PLAIN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,4})?", re.ASCII)
_BATCH = 65_536
Class = tuple[str, ...]
Counts = Mapping[str, int]


@dataclass(frozen=True)
class Claim:
    """The claim of a card about equivalence classes.

    Attributes
    ----------
    qi, confidential
        The columns of the claim.
    k, l, diversity, c, t, distance
        As in `veil.tables.criteria.Requirements`; None if not claimed.
    """

    qi: tuple[str, ...]
    confidential: tuple[str, ...] = ()
    k: int | None = None
    l: float | None = None  # noqa: E741 - the letter of the literature
    diversity: str = "distinct"
    c: float = 4.0
    t: float | None = None
    distance: str = "equal"

    @property
    def columns(self) -> tuple[str, ...]:
        """Confidential columns with a claim."""
        return () if self.l is None and self.t is None else self.confidential


@dataclass(frozen=True)
class Scale:
    """The distances between values of a confidential column.

    `place` is the order of strings, None for numbers; `labels` has the labels of each value, from
    level 1 to the one below the top.
    """

    place: Mapping[str, int] | None = None
    labels: Mapping[str, tuple[str, ...]] | None = None


@dataclass(frozen=True)
class Verdict:
    """The parts of a claim that do not hold, and those that could not be checked, as phrases."""

    faults: tuple[str, ...]
    unknown: tuple[str, ...] = ()


@dataclass
class Recount:
    """Number of rows of each class, and of each confidential value in it."""

    sizes: "Counter[Class]" = field(default_factory=Counter)
    values: dict[str, dict[Class, "Counter[str]"]] = field(default_factory=dict)

    @classmethod
    def of_file(
        cls, path: Path, claim: Claim, suffix: str | None = None, *, excel_safe: bool = False
    ) -> "Recount":
        """Count the rows of a file; `suffix` overrides that of its name."""
        recount = cls(Counter(), {name: defaultdict(Counter) for name in claim.columns})
        parquet = (suffix or path.suffix).lower() == ".parquet"
        rows = _parquet_rows(path) if parquet else _csv_rows(path)
        header = next(rows, ())
        quasi = [_position(header, name, excel_safe=excel_safe) for name in claim.qi]
        secret = [_position(header, name, excel_safe=excel_safe) for name in claim.columns]
        tallies = list(zip(secret, recount.values.values(), strict=True))
        for row in rows:
            if len(row) != len(header):
                raise InputError("The released file has rows of different lengths.")
            alike = tuple([row[at] for at in quasi])
            recount.sizes[alike] += 1
            for at, tally in tallies:
                tally[alike][row[at]] += 1
        return recount

    def add(self, other: "Recount") -> None:
        """Add the counts of another file of the same release."""
        self.sizes.update(other.sizes)
        for name, classes in other.values.items():
            own = self.values.setdefault(name, defaultdict(Counter))
            for alike, counts in classes.items():
                own[alike].update(counts)

    def verdict(self, claim: Claim, scales: Mapping[str, Scale] | None = None) -> "Verdict":
        """Compare the counts with a claim."""
        faults, unknown = [], []
        least = min(self.sizes.values(), default=None)
        if claim.k is not None and least is not None and least < claim.k:
            faults.append(f"k is {least:,} and not {claim.k:,}")
        for name, classes in self.values.items():
            if claim.l is not None:
                faults += _diversity_faults(name, classes, claim, claim.l)
            if claim.t is not None:
                worst = _closeness(classes, claim.distance, (scales or {}).get(name))
                if worst is None:
                    unknown.append(f"t of '{name}', whose hierarchy is unknown")
                elif worst > claim.t + _SLACK:
                    faults.append(f"t is {worst:.4g} and not {claim.t:g} in '{name}'")
        return Verdict(tuple(faults), tuple(unknown))


def require_claim(
    counted: Recount, claim: Claim | None, scales: Mapping[str, Scale] | None = None
) -> None:
    """Raise if the counts of a file do not meet its claim."""
    if claim is None:
        return
    verdict = counted.verdict(claim, scales)
    faults = (*verdict.faults, *verdict.unknown)
    if faults:
        raise InputError(
            f"The file would break its claim ({'; '.join(faults)}), so nothing was written."
            " Protect"
            " the table in one step, and report this bug."
        )


def _csv_rows(path: Path) -> Iterator[Sequence[str]]:
    csv.field_size_limit(2**31 - 1)
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            for row in csv.reader(file, strict=True):
                if row:
                    yield row
        except (csv.Error, UnicodeDecodeError):
            raise InputError("The released file must be a CSV file in UTF-8.") from None


def _parquet_rows(path: Path) -> Iterator[Sequence[str]]:
    try:
        with pyarrow_parquet().ParquetFile(path) as file:
            yield list(file.schema_arrow.names)
            for batch in file.iter_batches(batch_size=_BATCH):
                columns = [column.to_pylist() for column in batch.columns]
                for row in zip(*columns, strict=True):
                    yield ["" if value is None else str(value) for value in row]
    except (OSError, ValueError):
        raise InputError("The released file must be a Parquet file.") from None


def _position(header: Sequence[str], name: str, *, excel_safe: bool) -> int:
    names = list(header)
    for written in (name, f"'{name}") if excel_safe else (name,):
        if written in names:
            return names.index(written)
    raise InputError(
        f"The released file lacks the column '{name}' of the claim on its card. Put the file and"
        " its own card together."
    )


def _meaning(text: str) -> Any:  # noqa: ANN401 - a number or a text
    bare = text.strip()
    if _PLAIN.fullmatch(bare):
        try:
            return Decimal(bare)
        except InvalidOperation:
            return bare
    return " ".join(unicodedata.normalize("NFKC", bare).casefold().split())


def _diversity_faults(
    name: str,
    classes: Mapping[Class, Counts],
    claim: Claim,
    l: float,  # noqa: E741
) -> list[str]:
    meanings = {text: _meaning(text) for counts in classes.values() for text in counts}
    worst = math.inf
    for counts in classes.values():
        merged: Counter[Any] = Counter()
        for text, count in counts.items():
            if meanings[text] != "":
                merged[meanings[text]] += count
        worst = min(worst, _diversity(sorted(merged.values(), reverse=True), claim, l))
    if worst >= l - _SLACK:
        return []
    if claim.diversity == "recursive":
        return [f"({claim.c:g}, {l:g})-diversity fails in '{name}'"]
    return [f"l is {worst:.4g} and not {l:g} in '{name}'"]


def _diversity(counts: Sequence[int], claim: Claim, l: float) -> float:  # noqa: E741
    """Return the l of a class; for recursive diversity l or 0."""
    if claim.diversity == "entropy":
        total = sum(counts)
        return math.exp(-sum(n / total * math.log(n / total) for n in counts)) if total else 0.0
    if claim.diversity == "recursive":
        return l if counts and counts[0] < claim.c * sum(counts[int(l) - 1 :]) else 0.0
    return len(counts)


def _closeness(
    classes: Mapping[Class, Counts], distance: str, scale: Scale | None
) -> float | None:
    """Return the largest distance of a class from the whole file, or None without a scale."""
    whole: Counter[str] = Counter()
    for counts in classes.values():
        whole.update(counts)
    measured = _distance(distance, whole, scale)
    return None if measured is None else max(map(measured, classes.values()), default=0.0)


def _distance(
    distance: str, whole: Counts, scale: Scale | None
) -> Callable[[Counts], float] | None:
    """Return the function that measures the distance of a class, or None if there is no scale."""
    if distance == "equal":
        return lambda counts: _variation(counts, whole)
    if distance == "ordered":
        try:
            order = _order(whole, scale)
        except (ValueError, KeyError):
            return None
        return _Ordered(whole, order)
    if scale is None or scale.labels is None:
        return None
    hierarchy = scale.labels
    labels = {
        text: hierarchy[leaf] for text in whole if (leaf := _leaf(text, hierarchy)) in hierarchy
    }
    if len(labels) < sum(map(bool, whole)):
        return None
    height = len(next(iter(labels.values()), ())) + 1
    wholes = [_at_level(whole, labels, level) for level in range(-1, height - 1)]

    def hierarchical(counts: Counts) -> float:
        parts = [_at_level(counts, labels, level) for level in range(-1, height - 1)]
        return sum(map(_variation, parts, wholes)) / height

    return hierarchical


def _leaf(text: str, leaves: Mapping[str, object]) -> str:
    """Return a value as spelled in a hierarchy: without the spreadsheet quote, 2 for 2.0."""
    if text not in leaves and text[:1] == "'":
        text = text[1:]
    if text not in leaves and _PLAIN.fullmatch(text):
        number = Decimal(text)
        return format(number.normalize(), "f") if number else "0"
    return text


def _at_level(counts: Counts, labels: Mapping[str, tuple[str, ...]], level: int) -> Counts:
    """Return the counts of labels at a level (-1: the values); missing values stay missing."""
    level_counts: Counter[str] = Counter()
    for text, count in counts.items():
        above = labels.get(text) if level >= 0 else None
        level_counts[text if above is None else f"={above[level]}"] += count
    return level_counts


def _variation(counts: Counts, whole: Counts) -> float:
    mine, total = sum(counts.values()), sum(whole.values())
    return sum(max(0.0, n / mine - whole[text] / total) for text, n in counts.items())


def _order(whole: Counts, scale: Scale | None) -> list[str]:
    place = None if scale is None else scale.place
    return sorted(whole, key=float if place is None else lambda text: place[_leaf(text, place)])


class _Ordered:
    """The mean of |P - Q| over all values but the last, with cumulative shares P and Q."""

    def __init__(self, whole: Counts, order: Sequence[str]) -> None:
        total, running = sum(whole.values()), 0
        self._at = {text: i for i, text in enumerate(order)}
        self._q, self._sums = [], [0.0]  # Q at each value, and its prefix sums
        for text in order:
            running += whole[text]
            self._q.append(running / total)
            self._sums.append(self._sums[-1] + self._q[-1])

    def __call__(self, counts: Counts) -> float:
        last = len(self._q) - 1
        if last < 1:
            return 0.0
        mine, running, total = sum(counts.values()), 0, 0.0
        places = sorted((self._at[text], n) for text, n in counts.items())
        for (start, n), (end, _) in pairwise([(0, 0), *places, (last, 0)]):
            running += n
            total += self._gap(running / mine, start, max(start, min(end, last)))
        return total / last

    def _gap(self, p: float, start: int, end: int) -> float:
        """Return the sum of |p - Q| from `start` to `end`; Q grows, and crosses p once."""
        cut = bisect_left(self._q, p, start, end)
        below = p * (cut - start) - (self._sums[cut] - self._sums[start])
        above = (self._sums[end] - self._sums[cut]) - p * (end - cut)
        return below + above
