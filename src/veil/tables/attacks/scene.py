"""The contract of attackers on tables: what they are given, and how they are scored.

What an attacker of a table is given, and what it declares.
The truth is used to score, never to guess: which original row a released one is stands in `Truth`
alone, and what an attacker guesses from is a `Scene`.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veil.core.component import Component
from veil.core.errors import InputError
from veil.core.estimate import RESAMPLES, Estimate, bootstrap, interval
from veil.core.rng import generator
from veil.core.types import Floats, Ids
from veil.tables.column import MISSING, Column
from veil.tables.hierarchy import TOP, Hierarchy
from veil.tables.labels import Bools, Cover, Missing, Span, members, read_spans, star_codes
from veil.tables.table import Table, row_classes


@dataclass(frozen=True, eq=False)
class AttackResult:
    """The risk that an attacker is right, and for whom.

    Attributes
    ----------
    risk
        Between 0 and 1.
    per_record
        The risk of each record (n,), or of each sensitive cell; never written to a file.
    baseline
        What who sees nothing achieves, where that is known.
    control
        What the same attack achieves on records that were not in the data, where there are any.
    low, high
        An interval of 95 % of `risk`; both are `risk` where nothing is drawn.
    details
        What else was found, by name.
    upper
        What `risk` is at most with 97.5 % confidence, where the attack subtracts a baseline or a
        control, for which the bound of a mean does not hold; else None.
    """

    risk: float
    per_record: Floats
    baseline: float | None = None
    control: float | None = None
    low: float = 0.0
    high: float = 1.0
    details: Mapping[str, object] = field(default_factory=dict)
    upper: float | None = None


BLOCK = 8 * 2**20  # bytes of one block of pairs


@dataclass(frozen=True, eq=False)
class Patterns:
    """The different rows of some columns.

    Attributes
    ----------
    codes
        (m, columns) categories; the number of categories stands for a missing value.
    sizes
        (m,) how many rows are alike.
    at
        (n,) which pattern each row has.
    """

    codes: Ids
    sizes: Floats
    at: Ids

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def of(cls, columns: Sequence[Column]) -> "Patterns":
        """Find the different rows."""
        coded = [codes_with_missing(column) for column in columns]
        return cls.of_codes(np.stack(coded, axis=1))

    @classmethod
    def of_codes(cls, codes: Ids) -> "Patterns":
        """Find the different rows of codes (n, columns)."""
        at = row_classes(list(codes.T), len(codes))
        sizes = np.bincount(at).astype(np.float64)
        first = np.empty(len(sizes), dtype=np.int64)
        first[at[::-1]] = np.arange(len(at))[::-1]
        return cls(codes[first], sizes, at)


def codes_with_missing(column: Column) -> Ids:
    """Return the codes of a column; the number of categories stands for a missing value."""
    codes = column.codes
    return np.where(codes == MISSING, len(column.categories), codes)


class Pairing(Protocol):
    """Tells something of labels of a released column and values of the original one."""

    labels: int
    values: int

    def between(self, labels: Ids, values: Ids) -> NDArray[Any]:
        """Tell it of codes that are broadcast together."""
        ...


class Grid:
    """All pairs of some patterns of one side with all patterns `across`, over all columns.

    What single columns tell is joined by `joined`: a sum, or a conjunction. A block is
    (across, b): taking whole rows of it is fast.
    """

    def __init__(
        self, pairings: Sequence[Pairing], across: Ids, joined: np.ufunc, *, released: bool
    ) -> None:
        self._pairings, self._across, self._joined = pairings, across, joined
        self._released = released  # whether `across` are labels, and blocks are of values

    def block(self, codes: Ids) -> NDArray[Any]:
        """Return what is told (across, b) of patterns (b, columns)."""
        total: NDArray[Any] | None = None
        room: NDArray[Any] | None = None
        for column, pairing in enumerate(self._pairings):
            rows = rows_across(pairing, codes[:, column], released=self._released)
            across = self._across[:, column]
            if total is None:
                total = rows.take(across, axis=0)
                room = np.empty_like(total)
            else:
                np.take(rows, across, axis=0, out=room, mode="clip")
                self._joined(total, room, out=total)
        assert total is not None  # noqa: S101 - there is at least one column
        return total

    def blocks(self, n: int, itemsize: int = 8) -> Iterator[slice]:
        """Cut n patterns into blocks that fit."""
        step = max(1, BLOCK // (itemsize * max(1, len(self._across))))
        for start in range(0, n, step):
            yield slice(start, min(n, start + step))


def rows_across(pairing: Pairing, codes: Ids, *, released: bool) -> NDArray[Any]:
    """Return what is told of codes (b,) and all labels, or values, across: (those + 1, b)."""
    if released:
        return pairing.between(np.arange(pairing.labels + 1)[:, None], codes[None, :])
    return pairing.between(codes[None, :], np.arange(pairing.values + 1)[:, None])


def described_values(pairings: Sequence[Pairing], labels: Ids, values: Ids) -> list[NDArray[Any]]:
    """Return per column what is told of n pairs of patterns (n, columns)."""
    return [
        pairing.between(labels[:, column], values[:, column])
        for column, pairing in enumerate(pairings)
    ]


_FEW = 2_000  # records up to which they are drawn one by one
_VALUES = 5_000  # different values up to which they are drawn by how often they occur
_SEED = 20261118  # the same records give the same interval


def mean_attack(
    per_record: Floats,
    baseline: float | None = None,
    details: Mapping[str, object] | None = None,
) -> AttackResult:
    """Return an attack whose risk is the mean over records; the worst case stands beside it."""
    mean = bootstrap_mean(per_record)
    largest = float(per_record.max(initial=0.0))
    certain = int((per_record >= 1).sum())
    told = {"largest": largest, "certain": certain, **(details or {})}
    return AttackResult(float(mean), per_record, baseline, None, mean.low, mean.high, told)


def bootstrap_mean(values: Floats) -> Estimate:
    """Return the mean with its 95 % bootstrap interval over records.

    Of many records with few different values it is drawn how often each value occurs, which is the
    same law.
    """
    if len(values) <= _FEW:
        return bootstrap(values)
    different, counts = np.unique(values, return_counts=True)
    if len(different) > _VALUES:
        return bootstrap(values)
    n = len(values)
    drawn = generator(_SEED).multinomial(n, counts / n, size=RESAMPLES)
    return interval(float(values.mean()), drawn @ different / n, n)


Metric = Literal["euclidean", "gower"]
_HALF = 0.5  # of the largest distance: how far a star is from everything


class LabelDistance:
    """The distance of labels and values of one column, by codes (the last one: missing)."""

    def __init__(self, labels: int, values: int, *, squared: bool) -> None:
        self.labels, self.values, self.squared = labels, values, squared

    def between(self, labels: Ids, values: Ids) -> Floats:
        """Return distances, or their squares, of codes that are broadcast together."""
        found = self.distance(labels, values)
        if self.squared:
            found *= found
        return found

    @abstractmethod
    def distance(self, labels: Ids, values: Ids) -> Floats:
        """Return distances of codes that are broadcast together, as a new array."""

    @abstractmethod
    def equal(self) -> Ids:
        """Return for each label (labels + 1,) a value at distance 0 that it equals, or -1."""

    def points(self) -> tuple[Floats, Floats] | None:
        """Return where labels and values lie on a line, nan for what is missing, or None."""
        return None

    @property
    def star(self) -> float:
        """How far a star is from everything, squared if distances are."""
        return _HALF**2 if self.squared else _HALF


class Numbers(LabelDistance):
    """Numbers, or labels of numbers, in units of `scale`; a label is 0 from what it covers."""

    def __init__(self, ends: Floats, values: Floats, scale: float, *, squared: bool) -> None:
        super().__init__(len(ends), len(values), squared=squared)
        blank = np.full((1, 2), np.nan)
        ends = _bounded(ends, values)
        self._ends = np.concatenate([ends, blank]) / scale  # (labels + 1, 2)
        self._values = np.append(values, np.nan) / scale
        self._exact = bool((ends[:, 0] == ends[:, 1]).all())
        known = np.concatenate([self._ends.ravel(), self._values])
        known = known[~np.isnan(known)]
        self._star = _HALF * float(np.ptp(known)) if len(known) else 0.0

    def distance(self, labels: Ids, values: Ids) -> Floats:
        """Return the gap between a value and the interval of a label."""
        numbers = self._values[values]
        gap: Floats = self._ends[labels, 0] - numbers
        if self._exact:
            np.abs(gap, out=gap)
        else:
            np.maximum(gap, numbers - self._ends[labels, 1], out=gap)
            np.maximum(gap, 0.0, out=gap)
        gap[np.isnan(gap)] = self._star
        return gap

    def equal(self) -> Ids:
        """Look the numbers up."""
        at = np.searchsorted(self._values[:-1], self._ends[:, 0])  # nan comes last
        same = (self._values[at] == self._ends[:, 0]) & (self._ends[:, 0] == self._ends[:, 1])
        return np.where(same, at, -1)

    @property
    def star(self) -> float:
        """Half the range, squared if distances are."""
        return self._star**2 if self.squared else self._star

    def points(self) -> tuple[Floats, Floats] | None:
        """Return the numbers in units of the scale, unless there are intervals."""
        return (self._ends[:, 0], self._values) if self._exact else None


class Levels(LabelDistance):
    """The level of the lowest common ancestor, as a share of the height of the hierarchy."""

    def __init__(
        self,
        labels: Column,
        values: Column,
        hierarchy: Hierarchy,
        level: int | None,
        *,
        squared: bool,
    ) -> None:
        super().__init__(len(labels.categories), len(values.categories), squared=squared)
        self._height = hierarchy.height
        self._above_labels = _ancestors(labels, hierarchy, level, absent=-1)
        self._above_values = _ancestors(values, hierarchy, 0, absent=-2)
        self._stars = _flags(self.labels, star_codes(labels))
        leaves = self._above_labels[0]
        self._equal = np.where((leaves >= 0) & ~self._stars, _same_text(labels, values), -1)

    def equal(self) -> Ids:
        """Return the leaf that a label is."""
        return self._equal

    def distance(self, labels: Ids, values: Ids) -> Floats:
        """Count the levels at which two have different ancestors."""
        shape = np.broadcast_shapes(labels.shape, values.shape)
        found = np.full(shape, float(self._height + 1))
        for mine, theirs in zip(self._above_labels, self._above_values, strict=True):
            found -= mine[labels] == theirs[values]
        found = np.minimum(found / max(1, self._height), 1.0)
        found[np.broadcast_to(self._stars[labels] | (values == self.values), shape)] = _HALF
        return found


class Alike(LabelDistance):
    """0 if a label covers a value, else 1."""

    def __init__(self, labels: Column, values: Column, cover: Cover, *, squared: bool) -> None:
        super().__init__(cover.labels, cover.values, squared=squared)
        self._cover = cover
        self._stars = _flags(self.labels, star_codes(labels))
        self._equal = np.where(self._stars, -1, _same_text(labels, values))

    def equal(self) -> Ids:
        """Return the value that a label is."""
        return self._equal

    def distance(self, labels: Ids, values: Ids) -> Floats:
        """Compare."""
        found = 1.0 - self._cover.between(labels, values).astype(np.float64)
        found[np.broadcast_to(self._stars[labels] | (values == self.values), found.shape)] = _HALF
        return found


def label_distance(
    labels: Column,
    values: Column,
    hierarchy: Hierarchy | None = None,
    level: int | None = None,
    metric: Metric = "euclidean",
) -> LabelDistance:
    """Return how far the labels of a released column are from the values of the original one.

    Euclidean: numbers in sample standard deviations of the original, and squares are added up.
    Gower: numbers as a share of their range. Categories: the level of the lowest common ancestor
    by the height of the hierarchy, or 0 and 1 if there is none. A star, or a missing value, is
    half the largest distance from everything.
    """
    squared = metric == "euclidean"
    if labels.numeric and values.numeric:
        ends = np.stack([labels.numbers, labels.numbers], axis=1)
        return Numbers(ends, values.numbers, _scale(values, ends, metric), squared=squared)
    if hierarchy is not None and all(label in hierarchy.found for label in labels.categories):
        return Levels(labels, values, hierarchy, level, squared=squared)
    if values.numeric:
        ends = _ends(labels)
        return Numbers(ends, values.numbers, _scale(values, ends, metric), squared=squared)
    return Alike(labels, values, Cover(labels, values, hierarchy, level), squared=squared)


def _scale(values: Column, ends: Floats, metric: Metric) -> float:
    there = values.values[~values.missing]
    if metric == "euclidean":
        spread = float(there.std(ddof=1)) if len(there) > 1 else 0.0
    else:
        known = np.concatenate([there, ends[np.isfinite(ends)]])
        spread = float(np.ptp(known)) if len(known) else 0.0
    return spread if spread > 0 else np.inf  # a constant tells nothing


def _ends(labels: Column) -> Floats:
    """Return the lowest and highest number of each label; nan where it stands for none."""
    spans = read_spans(labels.categories)
    made = np.full((len(spans), 2), np.nan)
    for code, (label, span) in enumerate(zip(labels.categories, spans, strict=True)):
        held = [span] if span is not None else _members(label)
        if label != TOP and held:
            made[code] = min(one.low for one in held), max(one.high for one in held)
    return made


def _bounded(ends: Floats, values: Floats) -> Floats:
    """Let open ends reach as far as anything does."""
    known = np.concatenate([ends[np.isfinite(ends)], values])
    low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    return np.clip(ends, low, high)


def _members(label: str) -> list[Span]:
    return [span for span in read_spans(members(label) or ()) if span is not None]


def _ancestors(column: Column, hierarchy: Hierarchy, level: int | None, absent: int) -> list[Ids]:
    """Return per level the ancestor (categories + 1,) of each category, itself included."""
    made = [np.full(len(column.categories) + 1, absent) for _ in range(hierarchy.height + 1)]
    places = [{label: code for code, label in enumerate(labels)} for labels in hierarchy.labels]
    for code, label in enumerate(column.categories):
        lowest = hierarchy.found.get(label)
        if level is not None and label in places[level]:
            lowest = level, places[level][label]
        if lowest is None:
            continue
        height, place = lowest
        made[height][code] = place
        for above in range(height, hierarchy.height):
            place = int(hierarchy.parents[above][place])
            made[above + 1][code] = place
    return made


def _same_text(labels: Column, values: Column) -> Ids:
    """Return the value (labels + 1,) that is written as a label is, or -1."""
    place = {label: code for code, label in enumerate(values.categories)}
    return np.array([*(place.get(label, -1) for label in labels.categories), -1], dtype=np.int64)


def _flags(count: int, codes: list[int]) -> Bools:
    made = np.zeros(count + 1, dtype=np.bool_)
    made[codes] = True
    return made


@dataclass(frozen=True, eq=False, repr=False)  # a log line shows no cell
class Scene:
    """What an attacker sees and knows.

    Attributes
    ----------
    released
        What is published.
    known
        The quasi-identifiers of all targets, one row each, in the order of the original.
    hierarchies, levels
        By column, as they are public: the hierarchy, and the level of the whole column.
    closed
        Columns whose intervals have both their ends, though they may look as if they had not.
    population
        A table of everybody, or how many they are; None: not known.
    control
        Rows that were never used for the release; None: there are none.
    """

    released: Table
    known: Table
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    levels: Mapping[str, int] = field(default_factory=dict)
    closed: frozenset[str] = frozenset()
    population: Table | float | None = None
    control: Table | None = None

    @property
    def qi(self) -> tuple[str, ...]:
        """Columns that the attacker knows of targets and sees in the release."""
        return self.known.columns

    @cached_property
    def patterns(self) -> tuple[Patterns, Patterns]:
        """The different rows of labels, and of known values, over the quasi-identifiers."""
        return (
            Patterns.of([self.released.column(name) for name in self.qi]),
            Patterns.of([self.known.column(name) for name in self.qi]),
        )

    def covers(self, beside: Table, names: Sequence[str], missing: Missing) -> list[Cover]:
        """Return what the labels of columns cover of the values of another table."""
        return [
            Cover(
                self.released.column(name),
                beside.column(name),
                self.hierarchies.get(name),
                self.levels.get(name),
                missing,
                closed=name in self.closed,
            )
            for name in names
        ]

    def aparts(self, beside: Table, names: Sequence[str], metric: Metric) -> list[LabelDistance]:
        """Return how far the labels of columns are from the values of another table."""
        return [
            label_distance(
                self.released.column(name),
                beside.column(name),
                self.hierarchies.get(name),
                self.levels.get(name),
                metric,
            )
            for name in names
        ]


@dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """What an attack is scored by: the original, and which row of it each released row is."""

    original: Table
    rows: Ids | None

    def of(self, by: str) -> Ids:
        """Return the original rows (m,), or say that released rows are nobody's."""
        if self.rows is None:
            raise InputError(
                f"The attacker {by} needs to know which original row each released row is, and"
                " synthetic rows are nobody's; use attribute, singling_out, linkability or"
                " inference."
            )
        return self.rows

    def spread(self, values: Floats, by: str) -> Floats:
        """Return for each original row (n,) what its released row has; 0 if it was removed."""
        made = np.zeros(len(self.original))
        np.maximum.at(made, self.of(by), values)
        return made

    def starred(self, scene: Scene) -> Bools:
        """Tell which released rows (m,) have nothing left of what was known of them."""
        gone = _blank([scene.released.column(name) for name in scene.qi])
        if self.rows is None or gone.all():
            return np.zeros(len(gone), dtype=np.bool_)
        return gone & ~_blank([scene.known.column(name) for name in scene.qi])[self.rows]


def _blank(columns: Sequence[Column]) -> Bools:
    """Tell which rows have a star, or nothing, in all columns."""
    stars = [np.array(star_codes(column)[1:], dtype=np.int64) for column in columns]
    flags = [
        column.missing | np.isin(column.codes, codes)
        for column, codes in zip(columns, stars, strict=True)
    ]
    made: Bools = np.logical_and.reduce(flags)
    return made


class Attack(Component):
    """Attacks a released table.

    `family` groups attackers that do alike, `needs` says what must be there ("qi", "confidential",
    "rows", "control").
    """

    family: ClassVar[str] = "Other"
    needs: ClassVar[frozenset[str]] = frozenset({"qi"})

    @abstractmethod
    def attack(self, scene: Scene, truth: Truth, rng: Generator) -> AttackResult:
        """Guess from the scene, and score the guesses by the truth."""
