"""Attribute disclosure: what a release reveals of confidential columns."""

from abc import abstractmethod
from dataclasses import replace
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator
from pydantic import Field
from typing_extensions import override

from veil.core.errors import InputError
from veil.core.outcome import Outcome
from veil.core.types import Floats, Ids
from veil.measures.bounds import excess_bound
from veil.tables.attack import Attack, Scene, Truth, bootstrap_mean, mean_attack
from veil.tables.attacks.nearest import Compatible, Nearest
from veil.tables.column import Column
from veil.tables.criteria import alike_codes
from veil.tables.hierarchy import Hierarchy
from veil.tables.labels import Bools
from veil.tables.patterns import Patterns, codes_with_missing
from veil.tables.table import row_classes, unknown_column

ColumnName = Annotated[
    str, Field(description="confidential column; by default the one at greatest risk")
]


class Makeup(NamedTuple):
    """Released rows by class and confidential value; only existing pairs are listed.

    Attributes
    ----------
    classes, values
        (m,) class and value of each row.
    pair
        (m,) pair of class and value of each row.
    of
        (p,) class of each pair.
    counts
        (p,) number of rows of each pair.
    """

    classes: Ids
    values: Ids
    pair: Ids
    of: Ids
    counts: Floats

    @property
    def distinct(self) -> Ids:
        """Number of values in each class."""
        return np.bincount(self.of)

    @property
    def sizes(self) -> Ids:
        """Number of rows in each class."""
        return np.bincount(self.classes)


def makeup(scene: Scene, values: Ids) -> Makeup:
    """Count values (m,) within the classes of the release."""
    codes = [scene.released.column(name).codes for name in scene.qi]
    classes = row_classes(codes, len(scene.released))
    pair = row_classes([classes, values], len(classes))
    counts = np.bincount(pair).astype(np.float64)
    owner = np.empty(len(counts), dtype=np.int64)
    owner[pair] = classes
    return Makeup(classes, values, pair, owner, counts)


def confidential(scene: Scene, truth: Truth, column: str) -> tuple[str, ...]:
    """Return the released confidential columns, or only `column` if it is not empty."""
    if column:
        if column not in scene.released or column not in truth.original:
            raise unknown_column(column, scene.released.columns)
        if column in scene.qi:
            raise InputError(
                f"The column '{column}' is a quasi-identifier, which attackers already know."
            )
        return (column,)
    return tuple(name for name in truth.original.confidential if name in scene.released)


class Discloser(Attack):
    """Finds the rows whose class reveals their confidential value.

    If several columns are confidential, the one with the largest risk counts; `columns` in the
    details has all. Removed rows count 0.
    """

    family: ClassVar[str] = "Attribute disclosure"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "confidential", "rows"})
    column: ColumnName = ""

    @abstractmethod
    def disclosed(self, scene: Scene, truth: Truth, name: str) -> Bools:
        """Return the released rows (m,) whose class reveals a confidential column."""

    @override
    def run(self, scene: Scene, truth: Truth, rng: Generator) -> Outcome:
        del rng
        names = confidential(scene, truth, self.column)
        per_column = {
            name: truth.spread(self.disclosed(scene, truth, name).astype(np.float64), self.name)
            for name in names
        }
        risks = {name: float(revealed.mean()) for name, revealed in per_column.items()}
        worst = max(risks, key=lambda name: risks[name])
        return mean_attack(per_column[worst], None, {"column": worst, "columns": risks})


def released_values(scene: Scene, name: str) -> Ids:
    """Return the released values of a column as codes; missing is a value, too."""
    return codes_with_missing(scene.released.column(name))


def released_meanings(scene: Scene, name: str) -> Ids:
    """Return the released values as codes, with spellings such as 'flu' and 'FLU' merged."""
    codes, alike = released_values(scene, name), alike_codes(scene.released.column(name))
    return codes if alike is None else np.append(*alike)[codes]


class Homogeneity(Discloser):
    """The share of rows in classes whose rows all have the same value.

    References
    ----------
    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam. l-Diversity: privacy beyond k-anonymity.
    TKDD 1(1), 2007, section 2. doi:10.1145/1217299.1217302
    """

    name: ClassVar[str] = "homogeneity"

    @override
    def disclosed(self, scene: Scene, truth: Truth, name: str) -> Bools:
        del truth
        groups = makeup(scene, released_meanings(scene, name))
        revealed: Bools = (groups.distinct == 1)[groups.classes]
        return revealed


class Background(Discloser):
    """The share of rows whose value can be inferred by excluding other values.

    An attacker excludes the `excluded` rarest values of a class, so classes with at most
    1 + `excluded` values are revealed.

    References
    ----------
    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam. l-Diversity: privacy beyond k-anonymity.
    TKDD 1(1), 2007, section 2. doi:10.1145/1217299.1217302
    """

    name: ClassVar[str] = "background"
    excluded: Annotated[
        int, Field(ge=0, description="number of values that the attacker can exclude")
    ] = 1

    @override
    def disclosed(self, scene: Scene, truth: Truth, name: str) -> Bools:
        del truth
        groups = makeup(scene, released_meanings(scene, name))
        revealed: Bools = (groups.distinct <= 1 + self.excluded)[groups.classes]
        return revealed


class Skewness(Discloser):
    """The share of rows with a value that is common in their class, and rarer in the original.

    The value has more than half of the class, and more than `factor` times its share in the
    original.

    References
    ----------
    Li, Li, Venkatasubramanian. t-Closeness: privacy beyond k-anonymity and l-diversity. ICDE 2007,
    section 3. doi:10.1109/ICDE.2007.367856
    """

    name: ClassVar[str] = "skewness"
    factor: Annotated[float, Field(gt=0, description="times the share in the original")] = 2.0

    @override
    def disclosed(self, scene: Scene, truth: Truth, name: str) -> Bools:
        groups = makeup(scene, released_values(scene, name))
        mine, size = groups.counts[groups.pair], groups.sizes[groups.classes]
        usual = _usual(scene, truth, name)[groups.values]
        skewed: Bools = mine * len(truth.original) > self.factor * usual * size
        return skewed & (2 * mine > size)


def _usual(scene: Scene, truth: Truth, name: str) -> Floats:
    (cover,) = scene.covers(truth.original, [name], "equal")
    column = truth.original.column(name)
    codes = np.where(column.codes < 0, cover.values, column.codes)
    return cover.sums(np.bincount(codes, minlength=cover.values + 1).astype(np.float64))


class Similarity(Discloser):
    """Homogeneity at a level of the hierarchy: what the values of a class have in common.

    References
    ----------
    Li, Li, Venkatasubramanian. t-Closeness: privacy beyond k-anonymity and l-diversity. ICDE 2007,
    section 3. doi:10.1109/ICDE.2007.367856
    """

    name: ClassVar[str] = "similarity"
    level: Annotated[int, Field(ge=0, description="of the confidential column's hierarchy")] = 1

    @override
    def disclosed(self, scene: Scene, truth: Truth, name: str) -> Bools:
        hierarchy = truth.original.hierarchy(name)
        if self.level > hierarchy.height:
            raise InputError(
                f"The hierarchy of '{name}' has levels 0 to {hierarchy.height}. Got {self.level}"
                " instead."
            )
        column = scene.released.column(name)
        above = _above(column, hierarchy, self.level)
        groups = makeup(scene, above[column.codes])
        revealed: Bools = (groups.distinct == 1)[groups.classes]
        return revealed


def _above(column: Column, hierarchy: Hierarchy, level: int) -> Ids:
    place = {label: code for code, label in enumerate(hierarchy.labels[level])}
    codes = []
    for number, label in enumerate(column.categories):
        height, code = hierarchy.label_levels.get(label, (level + 1, -1))
        if height > level:
            codes.append(place.get(label, len(place) + number))
            continue
        for step in range(height, level):
            code = int(hierarchy.parents[step][code])
        codes.append(code)
    return np.array(
        [*codes, -1], dtype=np.int64
    )  # the code of a missing value, -1, takes the last


class Interval(Attack):
    """Take a released number for the true one, within a share of the standard deviation.

    A row counts if all its numbers are within `width` sample standard deviations (of the released
    column) of the released ones. `rank` in the details is the same by ranks: within the released
    values at most `width` n ranks away. A missing value on either side counts as not revealed.

    References
    ----------
    Mateo-Sanz, Sebé, Domingo-Ferrer. Outlier protection in continuous microdata masking. Privacy
    in Statistical Databases 2004. doi:10.1007/978-3-540-25955-8_16
    """

    name: ClassVar[str] = "interval"
    family: ClassVar[str] = "Disclosure of values"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "rows"})
    width: Annotated[float, Field(gt=0, description="share of a standard deviation")] = 0.05

    @override
    def run(self, scene: Scene, truth: Truth, rng: Generator) -> Outcome:
        del rng
        rows = truth.of(self.name)
        near = np.ones(len(rows), dtype=np.bool_)
        ranked = near.copy()
        names = [name for name in scene.qi if _numbers(scene, name)]
        if not names:
            raise InputError(
                "The attack interval needs a quasi-identifier that is a number in both tables."
            )
        for name in names:
            original, released = scene.known[name][rows], scene.released[name]
            near &= _near(original, released, self.width)
            ranked &= _near_by_rank(original, released, self.width)
        details = {
            "columns": names,
            "rank": float(truth.spread(ranked.astype(np.float64), self.name).mean()),
        }
        return mean_attack(truth.spread(near.astype(np.float64), self.name), None, details)


def _numbers(scene: Scene, name: str) -> bool:
    return scene.known.column(name).numeric and scene.released.column(name).numeric


def _near(original: Floats, released: Floats, width: float) -> Bools:
    present = released[~np.isnan(released)]
    spread = float(present.std(ddof=1)) if len(present) > 1 else 0.0
    near: Bools = np.abs(original - released) <= width * spread
    return near


def _near_by_rank(original: Floats, released: Floats, width: float) -> Bools:
    ordered = np.sort(released[~np.isnan(released)])
    if not len(ordered):
        return np.zeros(len(released), dtype=np.bool_)
    reach = int(width * len(ordered))
    first = np.searchsorted(ordered, released, "left")
    last = np.searchsorted(ordered, released, "right") - 1
    low = ordered[np.clip(first - reach, 0, len(ordered) - 1)]
    high = ordered[np.clip(last + reach, 0, len(ordered) - 1)]
    near: Bools = (original >= low) & (original <= high) & ~np.isnan(released)
    return near


_AT_ONCE = 2**22  # counts of values by pattern in memory


class Attribute(Attack):
    r"""Guess the most common confidential value among the rows that may be the target's.

    These are the rows whose labels cover the known values of the target or, if there are none, as
    in perturbed or synthetic data, the nearest rows. Equally common values are equally likely.
    With the success s, and the baseline b of always guessing the most common value of the
    original:

    .. math:: \text{risk} = \max\left(0, \frac{s - b}{1 - b}\right)

    Every original row is a target, including removed ones. Values are guessed exactly: cut numbers
    into intervals, or use `inference`. If several columns are confidential, the one with the
    largest risk counts.
    """

    name: ClassVar[str] = "attribute"
    family: ClassVar[str] = "Attribute disclosure"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "confidential"})
    column: ColumnName = ""

    @override
    def run(self, scene: Scene, truth: Truth, rng: Generator) -> Outcome:
        del rng
        names = confidential(scene, truth, self.column)
        outcomes = {name: self._of(scene, truth, name) for name in names}
        worst = max(outcomes, key=lambda name: outcomes[name].risk)
        risks = {name: float(attack.risk) for name, attack in outcomes.items()}
        attack = outcomes[worst]
        details = {**attack.details, "column": worst, "columns": risks}
        details |= _classes(scene, truth, worst)
        return replace(attack, details=details)

    def _of(self, scene: Scene, truth: Truth, name: str) -> Outcome:
        values = truth.original.column(name)
        targets = codes_with_missing(values)
        labels = same_labels(scene.released.column(name), values)[targets]
        hits = _guess_chances(scene, codes_with_missing(scene.released.column(name)), labels)
        baseline = float(np.bincount(targets).max()) / len(targets)
        success = bootstrap_mean(hits)
        return Outcome(
            unit="record",
            per_record=hits,
            baseline=baseline,
            excess=True,
            mean=success,
            upper=excess_bound(hits, baseline),
            details={"success": float(success)},
        )


def same_labels(released: Column, original: Column) -> Ids:
    """Return, per original value (values + 1,), the code of the equal released one, or -1.

    Missing values equal each other.
    """
    if released.numeric and original.numeric:
        at = np.searchsorted(released.numbers, original.numbers)
        equal = np.append(released.numbers, np.nan)[at] == original.numbers
        codes = np.where(equal, at, -1)
    else:
        place = {label: code for code, label in enumerate(released.categories)}
        codes = np.array([place.get(label, -1) for label in original.categories], dtype=np.int64)
    return np.append(codes, len(released.categories))


def _guess_chances(scene: Scene, values: Ids, labels: Ids) -> Floats:
    """Return the probability that each target (n,) is guessed right, by released values (m,).

    `labels` (n,) are the right answers; they only score the guesses.
    """
    released, targets = scene.patterns
    pool = _Pool(scene)
    top, ties = np.zeros(len(targets)), np.zeros(len(targets))
    own = np.zeros(len(labels))
    count = int(values.max()) + 1
    for first in range(0, count, step := max(1, _AT_ONCE // len(released))):
        last = min(count, first + step)
        sums = pool.sums(_counted(released.at, values, len(released), first, last))
        most = sums.max(axis=1)
        ties = np.where(most > top, 0.0, ties)
        top = np.maximum(most, top)
        ties += (sums == top[:, None]).sum(axis=1)
        mine = np.flatnonzero((labels >= first) & (labels < last))
        own[mine] = sums[targets.at[mine], labels[mine] - first]
    right = (own > 0) & (own == top[targets.at])
    return np.where(right, 1 / np.maximum(ties[targets.at], 1.0), 0.0)


def _counted(at: Ids, values: Ids, patterns: int, first: int, last: int) -> Floats:
    selected = (values >= first) & (values < last)
    keys = at[selected] * (last - first) + values[selected] - first
    counts = np.bincount(keys, minlength=patterns * (last - first))
    return counts.reshape(patterns, last - first).astype(np.float64)


class _Pool:
    """The released rows that may be each target's: those that cover it, or the nearest."""

    def __init__(self, scene: Scene) -> None:
        released, targets = scene.patterns
        covers = scene.covers(scene.known, scene.qi, "star")
        self._compatible = Compatible(covers, released, targets)
        matches = self._compatible.over_released(released.sizes[:, None])[:, 0]
        self._lost = np.flatnonzero(matches == 0)
        self._nearest = None
        if len(self._lost):
            distances = scene.distances(scene.known, scene.qi, "euclidean")
            unmatched = Patterns(targets.codes[self._lost], targets.sizes[self._lost], self._lost)
            self._nearest = Nearest(distances, unmatched, released, released=True)

    def sums(self, weights: Floats) -> Floats:
        """Return the sums of weights (released patterns, v) over the rows of each target."""
        sums = self._compatible.over_released(weights)
        if self._nearest is not None:
            sums[self._lost] = self._nearest.sums(np.arange(len(self._lost)), weights)
        return sums


def _classes(scene: Scene, truth: Truth, name: str) -> dict[str, object]:
    """Return the risks of a column from classes only, if original rows are known."""
    if truth.rows is None:
        return {}
    attacks: list[Discloser] = [Homogeneity(), Skewness(), Background()]
    if name in truth.original.hierarchies and truth.original.hierarchies[name].height >= 1:
        attacks.append(Similarity())
    return {
        attack.name: float(
            truth.spread(
                attack.disclosed(scene, truth, name).astype(np.float64), attack.name
            ).mean()
        )
        for attack in attacks
    }
