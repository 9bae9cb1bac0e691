"""Attribute disclosure: what a release reveals of confidential columns."""

from abc import abstractmethod
from dataclasses import replace
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator
from pydantic import Field

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
    str, Field(description="confidential column; else the one that is told most of")
]


class Makeup(NamedTuple):
    """Released rows by class and confidential value; only pairs that occur are listed.

    Attributes
    ----------
    classes, values
        (m,) of each row.
    pair
        (m,) which pair of class and value each row is of.
    of
        (p,) the class of each pair.
    counts
        (p,) rows of each pair.
    """

    classes: Ids
    values: Ids
    pair: Ids
    of: Ids
    counts: Floats

    @property
    def distinct(self) -> Ids:
        """How many values each class has."""
        return np.bincount(self.of)

    @property
    def sizes(self) -> Ids:
        """How many rows each class has."""
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
    """Return the confidential columns that are released, or the one that is named."""
    if column:
        if column not in scene.released or column not in truth.original:
            raise unknown_column(column, scene.released.columns)
        if column in scene.qi:
            raise InputError(f"The column '{column}' is a quasi-identifier: it is known already.")
        return (column,)
    return tuple(name for name in truth.original.confidential if name in scene.released)


class Discloser(Attack):
    """Tells which rows are in a class that gives their confidential value away.

    Of several confidential columns the one with the largest risk counts; `columns` in the details
    has all. Rows that were removed count 0.
    """

    family: ClassVar[str] = "Attribute disclosure"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "confidential", "rows"})
    column: ColumnName = ""

    @abstractmethod
    def disclosed(self, scene: Scene, truth: Truth, name: str) -> Bools:
        """Tell of which released rows (m,) the class gives a confidential column away."""

    def run(self, scene: Scene, truth: Truth, rng: Generator) -> Outcome:
        """Take the column of which most is told."""
        del rng
        names = confidential(scene, truth, self.column)
        found = {
            name: truth.spread(self.disclosed(scene, truth, name).astype(np.float64), self.name)
            for name in names
        }
        risks = {name: float(one.mean()) for name, one in found.items()}
        worst = max(risks, key=lambda name: risks[name])
        return mean_attack(found[worst], None, {"column": worst, "columns": risks})


def released_values(scene: Scene, name: str) -> Ids:
    """Return the released values of a column as codes; a missing one is a value, too."""
    return codes_with_missing(scene.released.column(name))


def released_meanings(scene: Scene, name: str) -> Ids:
    """Return the same with values that a person reads alike as one: 'flu' and 'FLU'."""
    codes, alike = released_values(scene, name), alike_codes(scene.released.column(name))
    return codes if alike is None else np.append(*alike)[codes]


class Homogeneity(Discloser):
    """Learn the value of a class whose rows have one: the share of rows in such classes.

    References
    ----------
    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam. l-Diversity: privacy beyond k-anonymity.
    TKDD 1(1), 2007, section 2. doi:10.1145/1217299.1217302
    """

    name: ClassVar[str] = "homogeneity"

    def disclosed(self, scene: Scene, truth: Truth, name: str) -> Bools:
        """Count the values of each class."""
        del truth
        made = makeup(scene, released_meanings(scene, name))
        found: Bools = (made.distinct == 1)[made.classes]
        return found


class Background(Discloser):
    """Rule out some values of a class by what is known otherwise, and learn what is left.

    The share of rows whose class has one value once the `excluded` rarest values of the class are
    ruled out, that is at most 1 + `excluded` values.

    References
    ----------
    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam. l-Diversity: privacy beyond k-anonymity.
    TKDD 1(1), 2007, section 2. doi:10.1145/1217299.1217302
    """

    name: ClassVar[str] = "background"
    excluded: Annotated[int, Field(ge=0, description="values that are ruled out")] = 1

    def disclosed(self, scene: Scene, truth: Truth, name: str) -> Bools:
        """Count the values of each class."""
        del truth
        made = makeup(scene, released_meanings(scene, name))
        found: Bools = (made.distinct <= 1 + self.excluded)[made.classes]
        return found


class Skewness(Discloser):
    """Take a value of a class for likely that is common there, and rarer in the original.

    The share of rows whose value has more than half of their class, and more than `factor` times
    its share in the original.

    References
    ----------
    Li, Li, Venkatasubramanian. t-Closeness: privacy beyond k-anonymity and l-diversity. ICDE 2007,
    section 3. doi:10.1109/ICDE.2007.367856
    """

    name: ClassVar[str] = "skewness"
    factor: Annotated[float, Field(gt=0, description="times the share in the original")] = 2.0

    def disclosed(self, scene: Scene, truth: Truth, name: str) -> Bools:
        """Compare the share of each row's value in its class with that in the original."""
        made = makeup(scene, released_values(scene, name))
        mine, size = made.counts[made.pair], made.sizes[made.classes]
        usual = _usual(scene, truth, name)[made.values]
        skewed: Bools = mine * len(truth.original) > self.factor * usual * size
        return skewed & (2 * mine > size)


def _usual(scene: Scene, truth: Truth, name: str) -> Floats:
    """Return how many originals each released label covers."""
    (cover,) = scene.covers(truth.original, [name], "equal")
    column = truth.original.column(name)
    codes = np.where(column.codes < 0, cover.values, column.codes)
    return cover.sums(np.bincount(codes, minlength=cover.values + 1).astype(np.float64))


class Similarity(Discloser):
    """Learn what the values of a class have in common: homogeneity at a level of the hierarchy.

    References
    ----------
    Li, Li, Venkatasubramanian. t-Closeness: privacy beyond k-anonymity and l-diversity. ICDE 2007,
    section 3. doi:10.1109/ICDE.2007.367856
    """

    name: ClassVar[str] = "similarity"
    level: Annotated[int, Field(ge=0, description="of the confidential column's hierarchy")] = 1

    def disclosed(self, scene: Scene, truth: Truth, name: str) -> Bools:
        """Generalise the values, and count those of each class."""
        hierarchy = truth.original.hierarchy(name)
        if self.level > hierarchy.height:
            raise InputError(
                f"The hierarchy of '{name}' has levels 0 to {hierarchy.height}; {self.level} is"
                " beyond."
            )
        column = scene.released.column(name)
        above = _above(column, hierarchy, self.level)
        made = makeup(scene, above[column.codes])
        found: Bools = (made.distinct == 1)[made.classes]
        return found


def _above(column: Column, hierarchy: Hierarchy, level: int) -> Ids:
    """Return the label of each category at a level, or itself if it is higher or not there."""
    place = {label: code for code, label in enumerate(hierarchy.labels[level])}
    made = []
    for number, label in enumerate(column.categories):
        height, code = hierarchy.label_levels.get(label, (level + 1, -1))
        if height > level:
            made.append(place.get(label, len(place) + number))
            continue
        for step in range(height, level):
            code = int(hierarchy.parents[step][code])
        made.append(code)
    return np.array([*made, -1], dtype=np.int64)  # the code of a missing value, -1, takes the last


class Interval(Attack):
    """Take a released number for the true one, within a share of the standard deviation.

    A row counts if all its numbers are within `width` sample standard deviations (of the released
    column) of the released ones. The same by ranks (`rank` in details): within the released values
    that are at most `width` n ranks away. What is missing on either side is not known.

    References
    ----------
    Mateo-Sanz, Sebé, Domingo-Ferrer. Outlier protection in continuous microdata masking. Privacy
    in Statistical Databases 2004. doi:10.1007/978-3-540-25955-8_16
    """

    name: ClassVar[str] = "interval"
    family: ClassVar[str] = "Disclosure of values"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "rows"})
    width: Annotated[float, Field(gt=0, description="share of a standard deviation")] = 0.05

    def run(self, scene: Scene, truth: Truth, rng: Generator) -> Outcome:
        """Compare the numbers of each released row with the original ones."""
        del rng
        rows = truth.of(self.name)
        near = np.ones(len(rows), dtype=np.bool_)
        ranked = near.copy()
        names = [name for name in scene.qi if _numbers(scene, name)]
        if not names:
            raise InputError(
                "The attacker interval needs a quasi-identifier that is a number in both tables."
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
    """Tell where numbers are within a share of the standard deviation; nan is not."""
    there = released[~np.isnan(released)]
    spread = float(there.std(ddof=1)) if len(there) > 1 else 0.0
    found: Bools = np.abs(original - released) <= width * spread
    return found


def _near_by_rank(original: Floats, released: Floats, width: float) -> Bools:
    """Tell where numbers are between released values that are some ranks away."""
    ordered = np.sort(released[~np.isnan(released)])
    if not len(ordered):
        return np.zeros(len(released), dtype=np.bool_)
    reach = int(width * len(ordered))
    first = np.searchsorted(ordered, released, "left")
    last = np.searchsorted(ordered, released, "right") - 1
    low = ordered[np.clip(first - reach, 0, len(ordered) - 1)]
    high = ordered[np.clip(last + reach, 0, len(ordered) - 1)]
    found: Bools = (original >= low) & (original <= high) & ~np.isnan(released)
    return found


_AT_ONCE = 2**22  # counts of values by pattern that are held


class Attribute(Attack):
    r"""Guess the confidential value that most of the rows have that may be the target's.

    These are the rows whose labels cover what is known of the target, or the nearest ones where
    there is none, as in perturbed or synthetic data. Of values that are as common each is as
    likely. With the success s, and the baseline b of who always says the most common value of the
    original:

    .. math:: \text{risk} = \max\left(0, \frac{s - b}{1 - b}\right)

    Every original row is a target, removed ones too. A value is guessed exactly: cut numbers into
    intervals, or use `inference`. Of several confidential columns the one with the largest risk
    counts.
    """

    name: ClassVar[str] = "attribute"
    family: ClassVar[str] = "Attribute disclosure"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "confidential"})
    column: ColumnName = ""

    def run(self, scene: Scene, truth: Truth, rng: Generator) -> Outcome:
        """Guess each column, and take the one with the largest risk."""
        del rng
        names = confidential(scene, truth, self.column)
        found = {name: self._of(scene, truth, name) for name in names}
        worst = max(found, key=lambda name: found[name].risk)
        risks = {name: float(attack.risk) for name, attack in found.items()}
        attack = found[worst]
        details = {**attack.details, "column": worst, "columns": risks}
        details |= _classes(scene, truth, worst)
        return replace(attack, details=details)

    def _of(self, scene: Scene, truth: Truth, name: str) -> Outcome:
        values = truth.original.column(name)
        targets = codes_with_missing(values)
        labels = same_labels(scene.released.column(name), values)[targets]
        hits = _guessed(scene, codes_with_missing(scene.released.column(name)), labels)
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
    """Return for each original value (values + 1,) the code of the released one it equals, or -1.

    What is missing equals what is missing.
    """
    if released.numeric and original.numeric:
        at = np.searchsorted(released.numbers, original.numbers)
        there = np.append(released.numbers, np.nan)[at] == original.numbers
        made = np.where(there, at, -1)
    else:
        place = {label: code for code, label in enumerate(released.categories)}
        made = np.array([place.get(label, -1) for label in original.categories], dtype=np.int64)
    return np.append(made, len(released.categories))


def _guessed(scene: Scene, values: Ids, labels: Ids) -> Floats:
    """Return how likely each target (n,) is guessed right, by released values (m,).

    `labels` (n,) are the right answers; they are looked at after the guess.
    """
    released, known = scene.patterns
    pool = _Pool(scene)
    top, ties = np.zeros(len(known)), np.zeros(len(known))
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
        own[mine] = sums[known.at[mine], labels[mine] - first]
    right = (own > 0) & (own == top[known.at])
    return np.where(right, 1 / np.maximum(ties[known.at], 1.0), 0.0)


def _counted(at: Ids, values: Ids, patterns: int, first: int, last: int) -> Floats:
    """Count values from `first` up to `last` by pattern (patterns, last - first)."""
    held = (values >= first) & (values < last)
    keys = at[held] * (last - first) + values[held] - first
    counts = np.bincount(keys, minlength=patterns * (last - first))
    return counts.reshape(patterns, last - first).astype(np.float64)


class _Pool:
    """The released rows that may be each target's: those that cover it, else the nearest."""

    def __init__(self, scene: Scene) -> None:
        released, known = scene.patterns
        covers = scene.covers(scene.known, scene.qi, "star")
        self._compatible = Compatible(covers, released, known)
        held = self._compatible.over_released(released.sizes[:, None])[:, 0]
        self._lost = np.flatnonzero(held == 0)
        self._nearest = None
        if len(self._lost):
            aparts = scene.distances(scene.known, scene.qi, "euclidean")
            asked = Patterns(known.codes[self._lost], known.sizes[self._lost], self._lost)
            self._nearest = Nearest(aparts, asked, released, released=True)

    def sums(self, weights: Floats) -> Floats:
        """Add up weights (released patterns, v) over the rows of each known pattern."""
        made = self._compatible.over_released(weights)
        if self._nearest is not None:
            made[self._lost] = self._nearest.sums(np.arange(len(self._lost)), weights)
        return made


def _classes(scene: Scene, truth: Truth, name: str) -> dict[str, object]:
    """Return what classes alone give away of a column, where they can be told."""
    if truth.rows is None:
        return {}
    tellers: list[Discloser] = [Homogeneity(), Skewness(), Background()]
    if name in truth.original.hierarchies and truth.original.hierarchies[name].height >= 1:
        tellers.append(Similarity())
    return {
        one.name: float(
            truth.spread(one.disclosed(scene, truth, name).astype(np.float64), one.name).mean()
        )
        for one in tellers
    }
