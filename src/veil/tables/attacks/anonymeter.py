"""Attacks on synthetic data against a control: singling out, linkability, inference."""

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.random import Generator
from pydantic import Field
from typing_extensions import override

from veil.core.errors import InputError, ParameterError
from veil.core.estimate import Estimate
from veil.core.outcome import Outcome
from veil.core.types import Floats, Ids
from veil.measures.bounds import ERROR, lower_share, upper_share
from veil.tables.attack import Attack, Scene, Truth
from veil.tables.attacks.disclosure import ColumnName, confidential
from veil.tables.column import Column
from veil.tables.labels import Bools, star_codes
from veil.tables.patterns import Grid, codes_with_missing
from veil.tables.table import Table, unknown_column

Trials = tuple[int, int]  # number of attacks, and of hits


@dataclass(frozen=True)
class Residual:
    """The risk that a release adds.

    Attributes
    ----------
    risk
        (main - control) / (1 - control), in [0, 1].
    low, high
        Its interval.
    succeeded
        Whether the attack beats chance; if not, it is too weak to show anything.
    main_rate, baseline_rate, control_rate
        Share of hits on the data, by chance, and on control rows (Wilson centres).
    main_error, baseline_error, control_error
        Half the width of their confidence intervals.
    """

    risk: float
    low: float
    high: float
    succeeded: bool
    main_rate: float
    main_error: float
    baseline_rate: float
    baseline_error: float
    control_rate: float
    control_error: float


def residual(
    main: Trials, baseline: Trials, control: Trials | None = None, confidence: float = 0.95
) -> Residual:
    r"""Return the success of an attack on the data beyond its success on control rows.

    .. math:: R = \frac{r - r_c}{1 - r_c}, \qquad
       \delta_R^2 = \frac{\delta^2}{(1 - r_c)^2} + \frac{(1 - r)^2 \delta_c^2}{(1 - r_c)^4}

    where r and its error are centre and half width of Wilson's interval. Each argument is the
    number of attacks and of hits; without a control nothing is subtracted.

    References
    ----------
    Giomi, Boenisch, Wehmeyer, Tasnádi. A unified framework for quantifying privacy risk in
    synthetic data. PoPETs 2023(2), section 4. doi:10.56553/popets-2023-0055

    Examples
    --------
    >>> result = residual(main=(100, 30), baseline=(100, 5), control=(100, 10))
    >>> round(result.risk, 4), round(result.low, 4), round(result.high, 4), result.succeeded
    (0.2176, 0.1046, 0.3305, True)
    """
    if not 0 < confidence < 1:
        raise ParameterError(f"The confidence must be between 0 and 1. Got {confidence} instead.")
    rate, error = _wilson(main, confidence, "main")
    base, base_error = _wilson(baseline, confidence, "baseline")
    other, other_error = (0.0, 0.0) if control is None else _wilson(control, confidence, "control")
    risk = (rate - other) / (1 - other)
    spread = math.hypot(error / (1 - other), (rate - 1) * other_error / (1 - other) ** 2)
    return Residual(
        _unit(risk),
        _unit(risk - spread),
        _unit(risk + spread),
        rate > base,
        rate,
        error,
        base,
        base_error,
        other,
        other_error,
    )


def _wilson(trials: Trials, confidence: float, what: str) -> tuple[float, float]:
    n, hits = trials
    if n < 1 or not 0 <= hits <= n:
        raise InputError(
            f"The {what} attacks must be (number, hits), with at least one attack and no more"
            f" hits than attacks. Got ({n}, {hits}) instead."
        )
    z2 = NormalDist().inv_cdf(0.5 + confidence / 2) ** 2
    centre = (hits + z2 / 2) / (n + z2)
    half = math.sqrt(z2) / (n + z2) * math.sqrt(hits * (n - hits) / n + z2 / 4)
    return centre, half


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))


Sign = Literal["==", ">=", "<="]


class Clause(NamedTuple):
    """A condition on a column (by number): a sign, and a released value (by code)."""

    column: int
    sign: Sign
    code: int


Predicate = tuple[Clause, ...]


class Reader:
    """Counts the rows of a table that satisfy a predicate about released values.

    An original value equals a released label if the label covers it.
    """

    def __init__(self, scene: Scene, table: Table, names: Sequence[str]) -> None:
        self._labels = [scene.released.column(name) for name in names]
        self._values = [table.column(name) for name in names]
        self._codes = [codes_with_missing(column) for column in self._values]
        self._covers = scene.covers(table, names, "never")
        self._own = table is scene.released

    def count(self, predicate: Predicate) -> int:
        """Return the number of rows that satisfy a predicate."""
        matches = self._holds(predicate[0])
        for clause in predicate[1:]:
            matches = matches & self._holds(clause)
        return int(np.count_nonzero(matches))

    def _holds(self, clause: Clause) -> Bools:
        column, codes = self._values[clause.column], self._codes[clause.column]
        matches: Bools = np.zeros(len(codes), dtype=np.bool_)
        if clause.sign != "==":
            limit = self._labels[clause.column].numbers[clause.code]
            if column.numeric:
                above = clause.sign == ">="
                matches = column.values >= limit if above else column.values <= limit
        elif self._own:
            matches = codes == clause.code
        else:
            cover = self._covers[clause.column]
            equal = cover.between(np.array(clause.code), np.arange(cover.values + 1))
            matches = equal[codes]
        return matches


class Speaker:
    """Builds predicates about released rows."""

    def __init__(self, scene: Scene, names: Sequence[str]) -> None:
        self._columns = [scene.released.column(name) for name in names]
        self._telling = [_telling(column) for column in self._columns]
        self._medians = [_median(column) for column in self._columns]

    def simple(self) -> list[Predicate]:
        """Return predicates of one column that hold for exactly one released row.

        They are extremes and values that occur once.
        """
        predicates: list[Predicate] = []
        for number, column in enumerate(self._columns):
            telling = self._telling[number]
            counts = np.bincount(codes_with_missing(column), minlength=len(telling))
            once = np.flatnonzero((counts == 1) & telling)
            predicates += [(Clause(number, "==", int(code)),) for code in once]
            if column.numeric and len(column.categories):
                ends: list[tuple[Sign, int]] = [("<=", 0), (">=", len(column.categories) - 1)]
                predicates += [
                    (Clause(number, sign, code),) for sign, code in ends if counts[code] == 1
                ]
        return predicates

    def of_row(self, row: int, columns: Iterable[int]) -> Predicate:
        """Return a predicate that a row satisfies, without stars and missing values."""
        clauses = []
        for number in columns:
            column = self._columns[number]
            code = int(column.codes[row])
            if not self._telling[number][code]:  # a missing value, -1, takes the last
                continue
            sign: Sign = "=="
            if column.numeric:
                sign = ">=" if float(column.values[row]) > self._medians[number] else "<="
            clauses.append(Clause(number, sign, code))
        return tuple(clauses)

    def blind(self, columns: Iterable[int], rng: Generator) -> Predicate:
        """Return a random predicate about some columns."""
        clauses = []
        for number in columns:
            codes = np.flatnonzero(self._telling[number])
            if not len(codes):
                continue
            sign: Sign = "=="
            if self._columns[number].numeric:
                sign = ">=" if rng.random() < 0.5 else "<="
            clauses.append(Clause(number, sign, int(rng.choice(codes))))
        return tuple(clauses)


def _median(column: Column) -> float:
    present = column.values[~column.missing] if column.numeric else np.zeros(0)
    return float(np.median(present)) if len(present) else 0.0


def _telling(column: Column) -> Bools:
    """Return which codes (categories + 1,) carry information: neither stars nor missing."""
    informative = np.ones(len(column.categories) + 1, dtype=np.bool_)
    informative[star_codes(column)] = False
    return informative


Attacks = Annotated[int, Field(ge=1, description="maximal number")]
Confidence = Annotated[float, Field(gt=0, lt=1, description="of the interval")]
WEAK = "The attack is no better than chance: it is too weak to show anything."


class Hits(NamedTuple):
    """Which attacks succeed: on the data, on the control rows, and by chance."""

    main: Bools
    control: Bools
    chance: Bools


class Trier(Attack):
    """Attacks data and control rows in the same way; the excess success on the data is the risk.

    The risk is (main - control) / (1 - control), see `veil.tables.residual`; `per_record` has the
    attacks on the data, 1 if they succeed. If the attack is no better than chance, `succeeded` in
    the details is False: it is too weak to show anything about the release.

    References
    ----------
    Giomi, Boenisch, Wehmeyer, Tasnádi. A unified framework for quantifying privacy risk in
    synthetic data. PoPETs 2023(2). doi:10.56553/popets-2023-0055
    """

    family: ClassVar[str] = "With control rows"
    needs: ClassVar[frozenset[str]] = frozenset({"control"})
    attacks: Attacks = 500
    confidence: Confidence = 0.95

    @abstractmethod
    def hits(self, scene: Scene, truth: Truth, control: Table, rng: Generator) -> Hits:
        """Run the attacks."""

    @override
    def run(self, scene: Scene, truth: Truth, rng: Generator) -> Outcome:
        control = scene.control
        if control is None or not len(control):
            raise InputError(f"The attack {self.name} needs control rows. Pass them as control=.")
        return self.score_hits(self.hits(scene, truth, control, rng))

    def score_hits(self, hits: Hits, more: Mapping[str, object] | None = None) -> Outcome:
        """Return the outcome of the hits."""
        if not len(hits.main):
            details = {"succeeded": False, "attacks": 0, "caveat": WEAK, **(more or {})}
            nothing = Estimate(0.0, 0.0, 1.0, 0)
            return Outcome(baseline=0.0, control=0.0, estimate=nothing, details=details)
        residue = residual(
            (len(hits.main), int(hits.main.sum())),
            (len(hits.chance), int(hits.chance.sum())),
            (len(hits.control), int(hits.control.sum())),
            self.confidence,
        )
        details = {
            "succeeded": residue.succeeded,
            "attacks": len(hits.main),
            "main": residue.main_rate,
            "caveat": "" if residue.succeeded else WEAK,
            **(more or {}),
        }
        return Outcome(
            unit="record",
            per_record=hits.main.astype(np.float64),
            baseline=residue.baseline_rate,
            estimate=Estimate(residue.risk, residue.low, residue.high, len(hits.main)),
            control=residue.control_rate,
            upper=_most(hits),
            details=details,
        )

    def sample_rows(self, n: int, rng: Generator) -> Ids:
        """Return a random sample of rows to attack."""
        return np.sort(rng.permutation(n)[: min(self.attacks, n)])


def _most(hits: Hits) -> float:
    """Return an upper bound of (r - r_c) / (1 - r_c) with 97.5 % confidence.

    Half the error goes to the upper bound of r, half to the lower one of r_c.
    """
    upper = upper_share(int(hits.main.sum()), len(hits.main), ERROR / 2)
    lower = 0.0
    if len(hits.control):
        lower = lower_share(int(hits.control.sum()), len(hits.control), ERROR / 2)
    return max(0.0, (upper - lower) / (1 - lower)) if lower < 1 else 1.0


def shared_columns(scene: Scene, truth: Truth, control: Table) -> tuple[str, ...]:
    """Return the columns that the release shares with the original and the control rows."""
    names = tuple(
        name
        for name in scene.released.columns
        if name in truth.original and truth.original.roles[name] not in ("identifier", "weight")
    )
    for name in names:
        if name not in control:
            raise InputError(f"The control rows lack the column '{name}'.")
    return names


def nearest_rows(
    scene: Scene, table: Table, rows: Ids, names: tuple[str, ...], rng: Generator
) -> Ids:
    """Return the released row nearest to each row, by Gower's distance.

    Ties are broken at random.
    """
    distances = scene.distances(table, names, "gower")
    across = np.stack([codes_with_missing(scene.released.column(name)) for name in names], axis=1)
    targets = np.stack([codes_with_missing(table.column(name))[rows] for name in names], axis=1)
    grid = Grid(distances, across, np.add, released=True)
    nearest = np.empty(len(rows), dtype=np.int64)
    for part in grid.blocks(len(rows)):
        nearest[part] = _any_least(grid.block(targets[part]), rng)
    return nearest


def _any_least(distances: Floats, rng: Generator) -> Ids:
    """Return a row of smallest distance in each column (rows, b); ties are broken at random."""
    near = (distances <= distances.min(axis=0) * (1 + 1e-10) + 1e-12).T
    counts = near.sum(axis=1)
    which = (rng.random(len(counts)) * counts).astype(np.int64)
    _, rows = np.nonzero(near)
    picked: Ids = rows[np.cumsum(counts) - counts + which]
    return picked


_TRIES = 20  # predicates to try for each that is needed
_ROWS = 3_000_000_000  # rows to read for all of them


class SinglingOut(Trier):
    """Find predicates that hold for one released row, in the hope that they hold for one original.

    A predicate has `columns` random columns of a random released row: a number must be at least
    as large if it is above the median, otherwise at most as large; a category must be equal. Half
    of the predicates, or fewer if not enough exist, have one column: its extremes, and values that
    occur once. All hold for exactly one released row. An attack succeeds if the predicate holds
    for exactly one original row, or one control row. The baseline is random predicates.
    """

    name: ClassVar[str] = "singling_out"
    columns: Annotated[int, Field(ge=1, description="of a predicate")] = 3

    @override
    def hits(self, scene: Scene, truth: Truth, control: Table, rng: Generator) -> Hits:
        names = shared_columns(scene, truth, control)
        speaker = Speaker(scene, names)
        predicates = self._unique_predicates(scene, names, speaker, len(truth.original), rng)
        chance = [speaker.blind(self._sample_columns(names, rng), rng) for _ in predicates]
        original, strangers = (Reader(scene, table, names) for table in (truth.original, control))
        return Hits(
            _singles_out(original, predicates),
            _singles_out(strangers, predicates),
            _singles_out(original, chance),
        )

    def _unique_predicates(
        self, scene: Scene, names: tuple[str, ...], speaker: Speaker, rows: int, rng: Generator
    ) -> list[Predicate]:
        count = min(self.attacks, rows)
        reader = Reader(scene, scene.released, names)
        simple = speaker.simple()
        predicates = {simple[at] for at in rng.permutation(len(simple))[: (count + 1) // 2]}
        tries = min(_TRIES * count, max(count, _ROWS // (len(scene.released) * self.columns)))
        for _ in range(tries):
            if len(predicates) >= count:
                break
            row = int(rng.integers(len(scene.released)))
            predicate = speaker.of_row(row, self._sample_columns(names, rng))
            if predicate and predicate not in predicates and reader.count(predicate) == 1:
                predicates.add(predicate)
        return sorted(predicates)

    def _sample_columns(self, names: tuple[str, ...], rng: Generator) -> list[int]:
        columns: Ids = rng.permutation(len(names))[: self.columns]
        return sorted(columns.tolist())


def _singles_out(reader: Reader, predicates: list[Predicate]) -> Bools:
    return np.array(
        [bool(clauses) and reader.count(clauses) == 1 for clauses in predicates], dtype=np.bool_
    )


_Halves = tuple[tuple[str, ...], tuple[str, ...]]


class Linkability(Trier):
    """Find the nearest released row by each half of a target's known columns, and compare.

    The halves are every other quasi-identifier, or those of `split` ('age,sex|race'). Distances
    are Gower's; ties are broken at random. By chance two random rows are the same with probability
    1 / rows.
    """

    name: ClassVar[str] = "linkability"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "control"})
    split: Annotated[str, Field(description="two halves of columns, such as 'age,sex|race'")] = ""

    @override
    def hits(self, scene: Scene, truth: Truth, control: Table, rng: Generator) -> Hits:
        halves = self._halves(scene)
        for name in (*halves[0], *halves[1]):
            if name not in control or name not in truth.original:
                raise InputError(f"The control rows lack the column '{name}'.")
        targets, others = (
            self.sample_rows(len(truth.original), rng),
            self.sample_rows(len(control), rng),
        )
        main = _same(scene, truth.original, targets, halves, rng)
        strangers = _same(scene, control, others, halves, rng)
        n = len(scene.released)
        chance = rng.integers(n, size=len(targets)) == rng.integers(n, size=len(targets))
        return Hits(main, strangers, chance)

    def _halves(self, scene: Scene) -> _Halves:
        if not self.split:
            if len(scene.qi) < 2:
                raise InputError(
                    "The attack linkability needs at least two quasi-identifiers, one per half."
                )
            return scene.qi[::2], scene.qi[1::2]
        first, bar, second = self.split.partition("|")
        halves = tuple(
            tuple(name.strip() for name in half.split(",") if name.strip())
            for half in (first, second)
        )
        for name in (*halves[0], *halves[1]):
            if name not in scene.released:
                raise unknown_column(name, scene.released.columns)
        if not bar or not all(halves) or set(halves[0]) & set(halves[1]):
            raise InputError(
                "The halves must be written as 'age,sex|race', with no column in both."
            )
        return halves[0], halves[1]


def _same(scene: Scene, table: Table, rows: Ids, halves: _Halves, rng: Generator) -> Bools:
    first, second = (nearest_rows(scene, table, rows, half, rng) for half in halves)
    same: Bools = first == second
    return same


class Inference(Trier):
    """Guess a confidential value from the nearest released row by all other columns.

    Distances are Gower's; ties are broken at random. A guess succeeds if it is equal or, for
    numbers, within `tolerance` of the true value. The baseline guesses the value of a random
    released row. If several columns are confidential, the one with the largest risk counts.
    """

    name: ClassVar[str] = "inference"
    needs: ClassVar[frozenset[str]] = frozenset({"confidential", "control"})
    column: ColumnName = ""
    tolerance: Annotated[float, Field(ge=0, description="largest relative error of a number")] = (
        0.05
    )

    @override
    def run(self, scene: Scene, truth: Truth, rng: Generator) -> Outcome:
        names = confidential(scene, truth, self.column)
        outcomes = {name: self._on(scene, truth, name, rng) for name in names}
        worst = max(outcomes, key=lambda name: outcomes[name].risk)
        attack = outcomes[worst]
        columns = {name: float(outcome.risk) for name, outcome in outcomes.items()}
        details = {**attack.details, "column": worst, "columns": columns}
        return replace(attack, details=details)

    def _on(self, scene: Scene, truth: Truth, name: str, rng: Generator) -> Outcome:
        inner = self.model_copy(update={"column": name})
        return super(Inference, inner).run(scene, truth, rng)

    @override
    def hits(self, scene: Scene, truth: Truth, control: Table, rng: Generator) -> Hits:
        names = shared_columns(scene, truth, control)
        other_columns = tuple(name for name in names if name != self.column)
        if not other_columns:
            raise InputError(
                "The attack inference needs another column than the confidential one."
            )
        released = scene.released.column(self.column)
        targets, others = (
            self.sample_rows(len(truth.original), rng),
            self.sample_rows(len(control), rng),
        )
        hits = []
        for table, rows in ((truth.original, targets), (control, others)):
            guesses = nearest_rows(scene, table, rows, other_columns, rng)
            true = table.column(self.column).take(rows)
            hits.append(equal_values(released.take(guesses), true, self.tolerance))
        blind = released.take(rng.integers(len(released), size=len(targets)))
        true = truth.original.column(self.column).take(targets)
        return Hits(hits[0], hits[1], equal_values(blind, true, self.tolerance))


def equal_values(guesses: Column, true: Column, tolerance: float) -> Bools:
    """Return which guesses are right: equal, or numbers within a share; missing ones are wrong."""
    present = ~(guesses.missing | true.missing)
    if guesses.numeric and true.numeric:
        with np.errstate(invalid="ignore"):
            close: Bools = np.abs(guesses.values - true.values) <= tolerance * np.abs(true.values)
        return present & close
    pairs = zip(guesses.texts, true.texts, strict=True)
    return present & np.array([guess == value for guess, value in pairs], dtype=np.bool_)
