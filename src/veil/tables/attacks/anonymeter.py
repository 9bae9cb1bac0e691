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

Trials = tuple[int, int]  # how many attacks, and how many of them hit


@dataclass(frozen=True)
class Residual:
    """The risk that the release adds.

    Attributes
    ----------
    risk
        (main - control) / (1 - control), in [0, 1].
    low, high
        Its interval.
    succeeded
        Whether the attack is better than chance; if not, it is too weak, and nothing is claimed.
    main_rate, baseline_rate, control_rate
        Share of hits on the data, by chance, and on who was never in the data (Wilson centres).
    main_error, baseline_error, control_error
        Half the width of their intervals.
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
    r"""Take what an attack achieves on strangers off what it achieves on those in the data.

    .. math:: R = \frac{r - r_c}{1 - r_c}, \qquad
       \delta_R^2 = \frac{\delta^2}{(1 - r_c)^2} + \frac{(1 - r)^2 \delta_c^2}{(1 - r_c)^4}

    where r and its error are centre and half width of Wilson's interval. Each argument is how many
    attacks there were and how many of them hit; without a control nothing is taken off.

    References
    ----------
    Giomi, Boenisch, Wehmeyer, Tasnádi. A unified framework for quantifying privacy risk in
    synthetic data. PoPETs 2023(2), section 4. doi:10.56553/popets-2023-0055

    Examples
    --------
    >>> found = residual(main=(100, 30), baseline=(100, 5), control=(100, 10))
    >>> round(found.risk, 4), round(found.low, 4), round(found.high, 4), found.succeeded
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
    """Return centre and half width of Wilson's interval of a share."""
    n, hits = trials
    if n < 1 or not 0 <= hits <= n:
        raise InputError(
            f"The {what} attacks must be (how many, hits), with at least one attack and no more"
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
    """One column, by its number, a sign, and a released value, by its code."""

    column: int
    sign: Sign
    code: int


Predicate = tuple[Clause, ...]


class Reader:
    """For how many rows of a table a predicate about released values holds.

    An original value equals a released label if the label covers it.
    """

    def __init__(self, scene: Scene, beside: Table, names: Sequence[str]) -> None:
        self._labels = [scene.released.column(name) for name in names]
        self._values = [beside.column(name) for name in names]
        self._codes = [codes_with_missing(column) for column in self._values]
        self._covers = scene.covers(beside, names, "never")
        self._own = beside is scene.released

    def count(self, predicate: Predicate) -> int:
        """Return how many rows a predicate holds for."""
        held = self._holds(predicate[0])
        for clause in predicate[1:]:
            held = held & self._holds(clause)
        return int(np.count_nonzero(held))

    def _holds(self, clause: Clause) -> Bools:
        """Tell for which rows a clause holds; for none where a value is missing."""
        column, codes = self._values[clause.column], self._codes[clause.column]
        found: Bools = np.zeros(len(codes), dtype=np.bool_)
        if clause.sign != "==":
            limit = self._labels[clause.column].numbers[clause.code]
            if column.numeric:
                above = clause.sign == ">="
                found = column.values >= limit if above else column.values <= limit
        elif self._own:
            found = codes == clause.code
        else:
            cover = self._covers[clause.column]
            equal = cover.between(np.array(clause.code), np.arange(cover.values + 1))
            found = equal[codes]
        return found


class Speaker:
    """Says something of released rows."""

    def __init__(self, scene: Scene, names: Sequence[str]) -> None:
        self._columns = [scene.released.column(name) for name in names]
        self._telling = [_telling(column) for column in self._columns]
        self._medians = [_median(column) for column in self._columns]

    def simple(self) -> list[Predicate]:
        """Return predicates of one column that hold for one released row.

        They are extremes that occur once, and values that do.
        """
        made: list[Predicate] = []
        for number, column in enumerate(self._columns):
            telling = self._telling[number]
            counts = np.bincount(codes_with_missing(column), minlength=len(telling))
            once = np.flatnonzero((counts == 1) & telling)
            made += [(Clause(number, "==", int(code)),) for code in once]
            if column.numeric and len(column.categories):
                ends: list[tuple[Sign, int]] = [("<=", 0), (">=", len(column.categories) - 1)]
                made += [(Clause(number, sign, code),) for sign, code in ends if counts[code] == 1]
        return made

    def of_row(self, row: int, columns: Iterable[int]) -> Predicate:
        """Say where a row stands in some columns; what tells nothing is left out."""
        made = []
        for number in columns:
            column = self._columns[number]
            code = int(column.codes[row])
            if not self._telling[number][code]:  # a missing value, -1, takes the last
                continue
            sign: Sign = "=="
            if column.numeric:
                sign = ">=" if float(column.values[row]) > self._medians[number] else "<="
            made.append(Clause(number, sign, code))
        return tuple(made)

    def blind(self, columns: Iterable[int], rng: Generator) -> Predicate:
        """Say anything of some columns."""
        made = []
        for number in columns:
            codes = np.flatnonzero(self._telling[number])
            if not len(codes):
                continue
            sign: Sign = "=="
            if self._columns[number].numeric:
                sign = ">=" if rng.random() < 0.5 else "<="
            made.append(Clause(number, sign, int(rng.choice(codes))))
        return tuple(made)


def _median(column: Column) -> float:
    there = column.values[~column.missing] if column.numeric else np.zeros(0)
    return float(np.median(there)) if len(there) else 0.0


def _telling(column: Column) -> Bools:
    """Tell which codes (categories + 1,) say something: not stars, and not what is missing."""
    made = np.ones(len(column.categories) + 1, dtype=np.bool_)
    made[star_codes(column)] = False
    return made


Attacks = Annotated[int, Field(ge=1, description="how many, at most")]
Confidence = Annotated[float, Field(gt=0, lt=1, description="of the interval")]
WEAK = "The attack is no better than chance: it is too weak, and nothing is claimed."


class Hits(NamedTuple):
    """Which attacks hit: on the data, on the control rows, and by chance."""

    main: Bools
    control: Bools
    chance: Bools


class Trier(Attack):
    """Attacks rows of the data and control rows alike; what it achieves more is the risk.

    The risk is (main - control) / (1 - control), see `veil.tables.residual`; `per_record` has the
    attacks on the data, 1 where they hit. If the attack is no better than chance, `succeeded` in
    the details is False: it is too weak, and says nothing of the release.

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
        """Make the attacks."""

    def run(self, scene: Scene, truth: Truth, rng: Generator) -> Outcome:
        """Compare the shares of hits."""
        control = scene.control
        if control is None or not len(control):
            raise InputError(f"The attacker {self.name} needs control rows; hand them in.")
        return self.judged(self.hits(scene, truth, control, rng))

    def judged(self, hits: Hits, more: Mapping[str, object] | None = None) -> Outcome:
        """Return the risk of what hit."""
        if not len(hits.main):
            details = {"succeeded": False, "attacks": 0, "caveat": WEAK, **(more or {})}
            nothing = Estimate(0.0, 0.0, 1.0, 0)
            return Outcome(baseline=0.0, control=0.0, estimate=nothing, details=details)
        found = residual(
            (len(hits.main), int(hits.main.sum())),
            (len(hits.chance), int(hits.chance.sum())),
            (len(hits.control), int(hits.control.sum())),
            self.confidence,
        )
        details = {
            "succeeded": found.succeeded,
            "attacks": len(hits.main),
            "main": found.main_rate,
            "caveat": "" if found.succeeded else WEAK,
            **(more or {}),
        }
        return Outcome(
            unit="record",
            per_record=hits.main.astype(np.float64),
            baseline=found.baseline_rate,
            estimate=Estimate(found.risk, found.low, found.high, len(hits.main)),
            control=found.control_rate,
            upper=_most(hits),
            details=details,
        )

    def drawn(self, n: int, rng: Generator) -> Ids:
        """Draw the rows that are attacked."""
        return np.sort(rng.permutation(n)[: min(self.attacks, n)])


def _most(hits: Hits) -> float:
    """Return what (r - r_c) / (1 - r_c) is at most, with 97.5 % confidence.

    Half the error goes to the upper bound of r, half to the lower one of r_c.
    """
    upper = upper_share(int(hits.main.sum()), len(hits.main), ERROR / 2)
    lower = 0.0
    if len(hits.control):
        lower = lower_share(int(hits.control.sum()), len(hits.control), ERROR / 2)
    return max(0.0, (upper - lower) / (1 - lower)) if lower < 1 else 1.0


def shared_columns(scene: Scene, truth: Truth, control: Table) -> tuple[str, ...]:
    """Return the columns of the release that original and control rows have, too."""
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
    scene: Scene, beside: Table, rows: Ids, names: tuple[str, ...], rng: Generator
) -> Ids:
    """Return for each of some rows the nearest released row, by Gower's distance.

    Of several that are as near one is drawn.
    """
    aparts = scene.distances(beside, names, "gower")
    across = np.stack([codes_with_missing(scene.released.column(name)) for name in names], axis=1)
    asked = np.stack([codes_with_missing(beside.column(name))[rows] for name in names], axis=1)
    grid = Grid(aparts, across, np.add, released=True)
    made = np.empty(len(rows), dtype=np.int64)
    for part in grid.blocks(len(rows)):
        made[part] = _any_least(grid.block(asked[part]), rng)
    return made


def _any_least(distances: Floats, rng: Generator) -> Ids:
    """Return a row of each column (rows, b) that has the least distance, any of them alike."""
    near = (distances <= distances.min(axis=0) * (1 + 1e-10) + 1e-12).T
    counts = near.sum(axis=1)
    which = (rng.random(len(counts)) * counts).astype(np.int64)
    _, rows = np.nonzero(near)
    picked: Ids = rows[np.cumsum(counts) - counts + which]
    return picked


_TRIES = 20  # predicates that are tried for each that is wanted
_ROWS = 3_000_000_000  # and rows that are read for all of them


class SinglingOut(Trier):
    """Say of a released row what holds for it alone, hoping that it does so for one original.

    A predicate takes `columns` random columns of a random released row: a number is at least as
    large if it is above the median, else at most; a category is equal. Half of the predicates, if
    there are as many, are of one column: its extremes, and values that occur once. All hold for
    one released row. One hits if it holds for exactly one original row, or one control row. By
    chance anything is said.
    """

    name: ClassVar[str] = "singling_out"
    columns: Annotated[int, Field(ge=1, description="of a predicate")] = 3

    def hits(self, scene: Scene, truth: Truth, control: Table, rng: Generator) -> Hits:
        """Find predicates, and count the rows they hold for."""
        names = shared_columns(scene, truth, control)
        speaker = Speaker(scene, names)
        found = self._found(scene, names, speaker, len(truth.original), rng)
        chance = [speaker.blind(self._some(names, rng), rng) for _ in found]
        original, strangers = (Reader(scene, table, names) for table in (truth.original, control))
        return Hits(_alone(original, found), _alone(strangers, found), _alone(original, chance))

    def _found(
        self, scene: Scene, names: tuple[str, ...], speaker: Speaker, rows: int, rng: Generator
    ) -> list[Predicate]:
        """Return predicates that hold for one released row, all different."""
        wanted = min(self.attacks, rows)
        reader = Reader(scene, scene.released, names)
        simple = speaker.simple()
        kept = {simple[at] for at in rng.permutation(len(simple))[: (wanted + 1) // 2]}
        tries = min(_TRIES * wanted, max(wanted, _ROWS // (len(scene.released) * self.columns)))
        for _ in range(tries):
            if len(kept) >= wanted:
                break
            row = int(rng.integers(len(scene.released)))
            said = speaker.of_row(row, self._some(names, rng))
            if said and said not in kept and reader.count(said) == 1:
                kept.add(said)
        return sorted(kept)

    def _some(self, names: tuple[str, ...], rng: Generator) -> list[int]:
        """Draw columns."""
        drawn: Ids = rng.permutation(len(names))[: self.columns]
        return sorted(drawn.tolist())


def _alone(reader: Reader, predicates: list[Predicate]) -> Bools:
    """Tell which predicates hold for exactly one row."""
    return np.array([bool(one) and reader.count(one) == 1 for one in predicates], dtype=np.bool_)


_Halves = tuple[tuple[str, ...], tuple[str, ...]]


class Linkability(Trier):
    """Find the nearest released row by each half of what is known of a target, and compare.

    The quasi-identifiers in two halves, every other one each, or as `split` says ('age,sex|race').
    Distances are Gower's; of rows that are as near one is drawn. By chance two rows are the same
    once in as many times as there are rows.
    """

    name: ClassVar[str] = "linkability"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "control"})
    split: Annotated[str, Field(description="two halves of columns, as 'age,sex|race'")] = ""

    def hits(self, scene: Scene, truth: Truth, control: Table, rng: Generator) -> Hits:
        """Compare the nearest rows by both halves."""
        halves = self._halves(scene)
        for name in (*halves[0], *halves[1]):
            if name not in control or name not in truth.original:
                raise InputError(f"The control rows lack the column '{name}'.")
        targets, others = self.drawn(len(truth.original), rng), self.drawn(len(control), rng)
        main = _same(scene, truth.original, targets, halves, rng)
        strangers = _same(scene, control, others, halves, rng)
        n = len(scene.released)
        chance = rng.integers(n, size=len(targets)) == rng.integers(n, size=len(targets))
        return Hits(main, strangers, chance)

    def _halves(self, scene: Scene) -> _Halves:
        if not self.split:
            if len(scene.qi) < 2:
                raise InputError(
                    "The attacker linkability needs at least two quasi-identifiers, one for each"
                    " half."
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
            raise InputError("Two halves are told as 'age,sex|race', with no column in both.")
        return halves[0], halves[1]


def _same(scene: Scene, beside: Table, rows: Ids, halves: _Halves, rng: Generator) -> Bools:
    first, second = (nearest_rows(scene, beside, rows, half, rng) for half in halves)
    found: Bools = first == second
    return found


class Inference(Trier):
    """Guess a confidential value from the nearest released row by all other columns.

    Distances are Gower's; of rows that are as near one is drawn. A guess hits if it is equal, a
    number if it is within `tolerance` of the true one. By chance the value of any released row is
    guessed. Of several confidential columns the one with the largest risk counts.
    """

    name: ClassVar[str] = "inference"
    needs: ClassVar[frozenset[str]] = frozenset({"confidential", "control"})
    column: ColumnName = ""
    tolerance: Annotated[float, Field(ge=0, description="share by which a number may be off")] = (
        0.05
    )

    def run(self, scene: Scene, truth: Truth, rng: Generator) -> Outcome:
        """Attack every confidential column."""
        names = confidential(scene, truth, self.column)
        found = {name: self._on(scene, truth, name, rng) for name in names}
        worst = max(found, key=lambda name: found[name].risk)
        attack = found[worst]
        columns = {name: float(one.risk) for name, one in found.items()}
        details = {**attack.details, "column": worst, "columns": columns}
        return replace(attack, details=details)

    def _on(self, scene: Scene, truth: Truth, name: str, rng: Generator) -> Outcome:
        inner = self.model_copy(update={"column": name})
        return super(Inference, inner).run(scene, truth, rng)

    def hits(self, scene: Scene, truth: Truth, control: Table, rng: Generator) -> Hits:
        """Guess the values of some targets."""
        names = shared_columns(scene, truth, control)
        known = tuple(name for name in names if name != self.column)
        if not known:
            raise InputError("The attacker inference needs a column besides the confidential one.")
        released = scene.released.column(self.column)
        targets, others = self.drawn(len(truth.original), rng), self.drawn(len(control), rng)
        made = []
        for table, rows in ((truth.original, targets), (control, others)):
            guesses = nearest_rows(scene, table, rows, known, rng)
            true = table.column(self.column).take(rows)
            made.append(equal_values(released.take(guesses), true, self.tolerance))
        blind = released.take(rng.integers(len(released), size=len(targets)))
        true = truth.original.column(self.column).take(targets)
        return Hits(made[0], made[1], equal_values(blind, true, self.tolerance))


def equal_values(guesses: Column, true: Column, tolerance: float) -> Bools:
    """Tell which guesses are equal, numbers within a share of the true one; missing never is."""
    known = ~(guesses.missing | true.missing)
    if guesses.numeric and true.numeric:
        with np.errstate(invalid="ignore"):
            close: Bools = np.abs(guesses.values - true.values) <= tolerance * np.abs(true.values)
        return known & close
    pairs = zip(guesses.texts, true.texts, strict=True)
    return known & np.array([guess == value for guess, value in pairs], dtype=np.bool_)
