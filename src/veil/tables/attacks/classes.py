"""Re-identification risk from class sizes: prosecutor, journalist, marketer, uniqueness."""

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field
from typing_extensions import override

from veil.core.errors import InputError
from veil.core.outcome import Outcome
from veil.core.types import Floats
from veil.tables.attack import Attack, Scene, Truth, mean_attack
from veil.tables.attacks.nearest import Compatible
from veil.tables.column import Column
from veil.tables.labels import Matching, Missing
from veil.tables.patterns import Patterns
from veil.tables.table import Table, row_classes

Reading = Annotated[
    Literal["equal", "any"],
    Field(description="a missing value matches missing values (equal), or any value"),
]
Threshold = Annotated[float, Field(ge=0, le=1, description="risk above which a row is at risk")]


def sizes(scene: Scene, missing: str, weights: Floats | None = None) -> Floats:
    """Return the number (or weight) of released rows that match each on the quasi-identifiers."""
    codes = [scene.released.column(name).codes for name in scene.qi]
    if missing == "any":
        return Matching(np.stack(codes, axis=1), weights).counts()
    classes = row_classes(codes, len(scene.released))
    return np.bincount(classes, weights).astype(np.float64)[classes]


def count_classes(scene: Scene) -> int:
    """Return the number of classes of the release."""
    columns: list[Column] = [scene.released.column(name) for name in scene.qi]
    return int(row_classes([column.codes for column in columns], len(scene.released)).max()) + 1


def risky(risks: Floats, truth: Truth, threshold: float, by: str) -> dict[str, object]:
    """Return the largest and smallest risk of released rows, and the share above a threshold."""
    spread = truth.spread(risks, by)
    return {
        "largest": float(risks.max(initial=0.0)),
        "lowest": float(risks.min(initial=1.0)),
        "at_risk": float((spread > threshold).mean()),
        "threshold": threshold,
        "released": float(risks.mean()),
    }


def frequencies(scene: Scene, population: Table, missing: Missing) -> Floats:
    """Return the number of people that the labels of each released row cover (m,)."""
    for name in scene.qi:
        if name not in population:
            raise InputError(f"The population lacks the quasi-identifier '{name}'.")
    released, _ = scene.patterns
    people = Patterns.of([population.column(name) for name in scene.qi])
    covers = scene.covers(population, scene.qi, missing)
    counts = Compatible(covers, released, people).over_known(people.sizes[:, None])[:, 0]
    absent = int((counts == 0).sum())
    if absent:
        raise InputError(
            f"The population lacks {absent:,} of {len(released):,} classes of the release. It must"
            " list everybody in the release. (With missing='any' a missing value matches"
            " everyone.)"
        )
    return counts[released.at]


def table_of(scene: Scene, by: str) -> Table:
    """Return the population table, or raise an error."""
    if not isinstance(scene.population, Table):
        raise InputError(
            f"The attack {by} needs a table of the population with the quasi-identifiers. Pass it"
            " as population=."
        )
    return scene.population


def size_of(scene: Scene) -> float | None:
    """Return the size of the population, or None; it is at least that of the release."""
    people = scene.population
    if people is None:
        return None
    n = float(len(people)) if isinstance(people, Table) else float(people)
    if not np.isfinite(n) or n < len(scene.released):
        raise InputError(
            f"A population must be at least as large as the release, which has"
            f" {len(scene.released):,} rows."
        )
    return n


_ROUNDS = 200
_STOP = 1e-12


def zayatz(sizes: Floats, population: float) -> float:
    """Return Zayatz' estimate of the share of unique people in the population.

    Assumes that classes of size i are as frequent in the population as in the sample. A class of
    size i is unique in the sample with hypergeometric probability. Bayes' rule gives the
    probability that a sample unique is unique in the population.
    """
    n = float(sizes.sum())
    size, count = np.unique(sizes, return_counts=True)
    if size[0] != 1:
        return 0.0
    chances = np.array([_sampled_once(size, n, population) for size in size.tolist()])
    weights = count / len(sizes) * chances
    return float(weights[0] / weights.sum() * count[0] / n)


def _sampled_once(size: float, n: float, population: float) -> float:
    """Return the probability that exactly one of `size` people is in a sample of n."""
    if population - size < n - 1:
        return 0.0
    return math.exp(
        math.log(size) + _log_choose(population - size, n - 1) - _log_choose(population, n)
    )


def _log_choose(n: float, k: float) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def pitman(sizes: Floats, population: float) -> float | None:
    r"""Return the estimated share of unique people in the population, by Pitman's formula.

    .. math:: \frac{\Gamma(\theta + 1)}{\Gamma(\theta + \alpha)} N^{\alpha - 1}

    with theta and alpha of maximum likelihood; None if they do not exist. If the likelihood grows
    as alpha falls to 0, it is Ewens' formula: theta / N.
    """
    estimate = _largest_likelihood(sizes) or _ewens(sizes)
    if estimate is None:
        return None
    theta, alpha = estimate
    gammas = math.lgamma(theta + 1) - math.lgamma(theta + alpha)
    share = math.exp(gammas + (alpha - 1) * math.log(population))
    return share if 0 <= share <= 1 else None


class _Likelihood:
    """The logarithm of Pitman's formula for a sample, and its first and second derivatives."""

    def __init__(self, sizes: Floats) -> None:
        self._classes = np.arange(1, len(sizes), dtype=np.float64)
        self._rows = np.arange(1, int(sizes.sum()), dtype=np.float64)
        larger = len(sizes) - np.cumsum(np.bincount(sizes.astype(np.int64)))[1:-1]
        self._larger = larger.astype(np.float64)  # classes of more than i rows, i = 1, 2, ...
        self._within = np.arange(1, len(larger) + 1, dtype=np.float64)

    def value(self, theta: float, alpha: float) -> float:
        return float(
            np.log(theta + alpha * self._classes).sum()
            - np.log(theta + self._rows).sum()
            + (self._larger * np.log(self._within - alpha)).sum()
        )

    def slope(self, theta: float, alpha: float) -> Floats:
        inverse = 1 / (theta + alpha * self._classes)
        return np.array(
            [
                inverse.sum() - (1 / (theta + self._rows)).sum(),
                (self._classes * inverse).sum() - (self._larger / (self._within - alpha)).sum(),
            ]
        )

    def bend(self, theta: float, alpha: float) -> Floats:
        inverse = 1 / (theta + alpha * self._classes) ** 2
        mixed = -(self._classes * inverse).sum()
        return np.array(
            [
                [-inverse.sum() + (1 / (theta + self._rows) ** 2).sum(), mixed],
                [
                    mixed,
                    -(self._classes**2 * inverse).sum()
                    - (self._larger / (self._within - alpha) ** 2).sum(),
                ],
            ]
        )


def _largest_likelihood(sizes: Floats) -> tuple[float, float] | None:
    """Maximise by Newton's method, halving steps that leave the range or lead down."""
    if len(sizes) < 2 or sizes.max() < 2:
        return None
    model = _Likelihood(sizes)
    point = _start(sizes)
    value = model.value(*point)
    for _ in range(_ROUNDS):
        step = _step(model, point)
        moved = _climbed(model, point, value, step)
        if moved is None:
            break
        before, (point, value) = point, moved
        if np.abs(point - before).max() <= _STOP * max(1.0, float(np.abs(point).max())):
            break
    slope = model.slope(*point)
    flat = np.abs(slope * np.maximum(np.abs(point), 1e-3)).max() <= 1e-5 * sizes.sum()
    return (float(point[0]), float(point[1])) if flat and 0 < point[1] < 1 else None


def _ewens(sizes: Floats) -> tuple[float, float] | None:
    """Return theta and alpha = 0 if the likelihood has its maximum there, else None.

    With u classes and n rows, theta solves theta (psi(theta + n) - psi(theta + 1)) = u - 1.
    """
    from scipy.optimize import brentq
    from scipy.special import digamma

    u, n = len(sizes), float(sizes.sum())
    if u < 2 or u >= n:
        return None

    def surplus(log: float) -> float:
        theta = np.exp(log)
        return float(theta * (digamma(theta + n) - digamma(theta + 1)) - (u - 1))

    low, high = np.log(1e-12), np.log(n**3)
    if surplus(low) > 0 or surplus(high) < 0:
        return None
    theta = float(np.exp(brentq(surplus, low, high, xtol=1e-14)))
    larger = u - np.cumsum(np.bincount(sizes.astype(np.int64)))[1:-1]
    slope = u * (u - 1) / 2 / theta - (larger / np.arange(1, len(larger) + 1)).sum()
    return (theta, 0.0) if slope <= 0 else None


def _start(sizes: Floats) -> Floats:
    n, u = float(sizes.sum()), float(len(sizes))
    singles, pairs = float((sizes == 1).sum()), float((sizes == 2).sum())
    c = singles * (singles - 1) / pairs if pairs else 0.0
    below = 2 * singles * u + singles * c - n * c
    theta = (n * u * c - singles * (n - 1) * (2 * u + c)) / below if below else 1.0
    alpha = (theta * (singles - n) + (n - 1) * singles) / (n * u)
    if not (0 < alpha < 1 and theta > -alpha):
        return np.array([1.0, 0.5])
    return np.array([theta, alpha])


def _step(model: _Likelihood, point: Floats) -> Floats:
    """Return Newton's step, or a gradient step if the likelihood is not concave."""
    slope, bend = model.slope(*point), model.bend(*point)
    if bend[0, 0] < 0 and np.linalg.det(bend) > 0:
        return np.asarray(-np.linalg.solve(bend, slope), dtype=np.float64)
    scale = np.maximum(np.abs(point), 1e-3)
    ascent: Floats = slope * scale**2 / max(float(np.abs(slope * scale).max()), 1e-300)
    return ascent


def _climbed(
    model: _Likelihood, point: Floats, value: float, step: Floats
) -> tuple[Floats, float] | None:
    for _ in range(60):
        theta, alpha = point + step
        if 0 < alpha < 1 and theta > -alpha:
            higher = model.value(theta, alpha)
            if higher >= value - 1e-12 * abs(value):
                return point + step, higher
        step = step / 2
    return None


def household_risks(risks: Floats, households: Column) -> Floats:
    """Return 1 - prod(1 - r) over each household (n,); without a household, the row's own r."""
    codes = np.where(households.codes < 0, households.different, households.codes)
    with np.errstate(divide="ignore"):
        spared = np.exp(np.bincount(codes, np.log1p(-np.minimum(risks, 1.0))))[codes]
    return np.where(households.missing, risks, 1 - spared)


_FEW = 40  # class size up to which the recursion is used; beyond it the series is short
_SMALLEST_TERM = 1e-17
_TERMS = 200


def expected_risk(sample: Floats, population: Floats) -> Floats:
    r"""Return :math:`E[1/F \mid f]` where F given f is negative binomial with p = f / F^.

    .. math:: r_1 = a \ln \frac{1}{p}, \quad r_f = a \left(\frac{1}{f-1} - r_{f-1}\right),
       \quad a = \frac{p}{1-p}

    for p < 1/2, else :math:`\frac{p}{f}\, {}_2F_1(1, 1; f+1; 1-p)`, and 1/f for p = 1. For large
    classes the series is used for every p: it is equivalent, and needs fewer terms.

    References
    ----------
    Benedetti, Franconi. Statistical and technological solutions for controlled data dissemination.
    New Techniques and Technologies for Statistics 1998.
    """
    p = np.minimum(sample / population, 1.0)
    risks = np.empty(len(p))
    short = (p < 0.5) & (sample <= _FEW)
    risks[short] = _recursion(sample[short], p[short])
    risks[~short] = _series(sample[~short], p[~short])
    return risks


def _recursion(f: Floats, p: Floats) -> Floats:
    a = p / (1 - p)
    risk = a * -np.log(p)
    for count in range(2, int(f.max(initial=1)) + 1):
        risk = np.where(f >= count, a * (1 / (count - 1) - risk), risk)
    return risk


def _series(f: Floats, p: Floats) -> Floats:
    term = np.ones(len(f))
    total = term.copy()
    for k in range(_TERMS):
        term = term * (k + 1) / (f + 1 + k) * (1 - p)
        total += term
        if float(term.max(initial=0.0)) < _SMALLEST_TERM:
            break
    return p / f * total


class Prosecutor(Attack):
    """Look for a target who is known to be in the release: 1/f, with f the size of its class.

    The risk is the average over all original rows, which is classes / rows. Removed rows, and rows
    with only stars, count 0. With ``missing='any'`` a missing value matches every value, on both
    sides.

    References
    ----------
    El Emam. Guide to the De-Identification of Personal Health Information. CRC Press 2013,
    chapter 16.
    """

    name: ClassVar[str] = "prosecutor"
    family: ClassVar[str] = "Re-identification"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "rows"})
    threshold: Threshold = 0.2
    missing: Reading = "equal"

    @override
    def run(self, scene: Scene, truth: Truth, rng: Generator) -> Outcome:
        del rng
        alike = sizes(scene, self.missing)
        risks = 1 / alike
        if self.missing == "equal":
            risks = np.where(truth.starred(scene), 0.0, risks)
        details = risky(risks, truth, self.threshold, self.name)
        per_record = truth.spread(risks, self.name)
        return mean_attack(per_record, 1 / len(truth.original), {**details, "f": alike})


class Journalist(Attack):
    """Look released rows up in a population register: 1/F, with F matching people.

    F counts the people whose values the labels of a row cover. The risk is the average over rows,
    the sum of f/F over classes / n; removed rows count 0. A class without any person of the
    population is an error: the table does not list the population.

    References
    ----------
    El Emam. Guide to the De-Identification of Personal Health Information. CRC Press 2013,
    chapter 16.
    """

    name: ClassVar[str] = "journalist"
    family: ClassVar[str] = "Re-identification"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "rows", "population"})
    threshold: Threshold = 0.2
    missing: Reading = "equal"

    @override
    def run(self, scene: Scene, truth: Truth, rng: Generator) -> Outcome:
        del rng
        people = frequencies(scene, table_of(scene, self.name), self.missing)
        risks = 1 / people
        per_record = truth.spread(risks, self.name)
        details = risky(risks, truth, self.threshold, self.name)
        alike = sizes(scene, "equal")
        total = float((people / alike).sum())  # F summed over classes
        arx = max(float(risks.mean()), count_classes(scene) / total)
        return mean_attack(per_record, None, {**details, "F": people, "arx": arx})


class Marketer(Attack):
    r"""Link all rows to a population, to be right as often as possible: the average of 1/F.

    Without a table of the population, but with sampling weights, F is estimated by the sum of
    weights of a class, and the risk of a row is E[1/F | f] (Benedetti and Franconi). Only the
    average counts; `largest` is in the details.

    Risks are per person, who is looked up by their own values only. If rows of a household can be
    linked, finding one member finds all, and the risk of each is that of their household,
    1 - prod(1 - r) over its members, which is several times larger. `household` is the column of
    the original that identifies households; risks are then per household.

    References
    ----------
    Dankar, El Emam. A method for evaluating marketer re-identification risk. EDBT/ICDT Workshops
    2010. doi:10.1145/1754239.1754271
    Franconi, Polettini. Individual risk estimation in mu-Argus: a review. Privacy in Statistical
    Databases 2004, Eq. (5)-(9). doi:10.1007/978-3-540-25955-8_20
    """

    name: ClassVar[str] = "marketer"
    family: ClassVar[str] = "Re-identification"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "rows", "population"})
    missing: Reading = "equal"
    household: Annotated[
        str, Field(description="column of the original that identifies households")
    ] = ""

    @override
    def run(self, scene: Scene, truth: Truth, rng: Generator) -> Outcome:
        del rng
        alike = sizes(scene, self.missing)
        weights = scene.released.weights
        if scene.population is None and weights is not None:
            people = sizes(scene, self.missing, weights)
            risks = expected_risk(alike, people)
        else:
            people = self._counted(scene)
            risks = 1 / people
        per_record = truth.spread(risks, self.name)
        details: dict[str, object] = {
            "f": alike,
            "F": people,
            "per": "household" if self.household else "person",
            "released": float(risks.mean()),
        }
        if self.household:
            details["person"] = float(per_record.mean())
            per_record = household_risks(per_record, truth.original.column(self.household))
        return mean_attack(per_record, None, {**details, "expected": float(per_record.sum())})

    def _counted(self, scene: Scene) -> Floats:
        if scene.population is None:
            raise InputError(
                "The attack marketer needs a table of the population as population=, or a column"
                " of sampling weights as weight=."
            )
        return np.maximum(frequencies(scene, table_of(scene, self.name), self.missing), 1.0)


_SMALL = 0.1  # sampling fraction up to which Pitman's model is used


class Unique(Attack):
    """Count the rows that are unique in their quasi-identifiers.

    With the size N of the population (`population=`), the share of rows that are unique in the
    population is estimated: by Pitman's model if the release has at most a tenth of it, otherwise
    by Zayatz'; `details` has both. All rows that are unique in the release have the same estimated
    risk.

    References
    ----------
    Hoshino. Applying Pitman's sampling formula to microdata disclosure risk assessment. Journal of
    Official Statistics 17(4), 2001.
    Zayatz. Estimation of the percent of unique population elements on a microdata file using the
    sample. Statistical Research Division Report 91/08, U.S. Bureau of the Census, 1991.
    """

    name: ClassVar[str] = "unique"
    family: ClassVar[str] = "Re-identification"

    @override
    def run(self, scene: Scene, truth: Truth, rng: Generator) -> Outcome:
        del rng
        unique = (sizes(scene, "equal") == 1) & ~truth.starred(scene)
        share = float(unique.mean())
        details: dict[str, object] = {"sample": share}
        people = size_of(scene)
        chance = 1.0
        if people is not None and share > 0:
            estimates = {
                "pitman": self._pitman(scene, people),
                "zayatz": self._zayatz(scene, people),
            }
            details |= estimates
            small = len(unique) / people <= _SMALL
            estimate = estimates["pitman"] if small else estimates["zayatz"]
            if estimate is None:
                estimate = estimates["zayatz"] or 0.0
            chance = min(1.0, estimate / share)
        risks = np.where(unique, chance, 0.0)
        spread = risks if truth.rows is None else truth.spread(risks, self.name)
        return mean_attack(spread, None, details)

    def _pitman(self, scene: Scene, people: float) -> float | None:
        return pitman(_class_sizes(scene), people)

    def _zayatz(self, scene: Scene, people: float) -> float | None:
        return zayatz(_class_sizes(scene), people)


def _class_sizes(scene: Scene) -> Floats:
    codes = [scene.released.column(name).codes for name in scene.qi]
    return np.bincount(row_classes(codes, len(scene.released))).astype(np.float64)
