"""Differentially private synthetic rows from a tree of two-way marginals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field
from typing_extensions import override

from veil.core.errors import InputError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.dp.calibration import zcdp_rho
from veil.dp.mechanism import ADD_REMOVE
from veil.dp.mechanisms.gaussian import DiscreteGaussian
from veil.dp.mechanisms.selection import Exponential
from veil.tables.column import Column
from veil.tables.mechanism import UNIT, Kind, Masked, Mechanism, nothing
from veil.tables.table import Table, declared, unknown_column


@dataclass(frozen=True, eq=False)
class Domain:
    """The values that a column can have: `labels`, or bins between `cuts`.

    `public` means that it was declared, and not read from the data. With `gaps` values may be
    missing, for which there is one more code, the last.
    """

    labels: tuple[str, ...]
    cuts: Floats | None
    public: bool
    numeric: bool
    gaps: bool = False

    @property
    def size(self) -> int:
        """Number of codes, including the one for missing values."""
        return (len(self.labels) if self.cuts is None else len(self.cuts) - 1) + self.gaps

    def codes(self, column: Column) -> Ids:
        """Return the code of each value; values beyond the outer cuts go to the outer bins."""
        if column.missing.any() and not self.gaps:
            raise InputError("A column has missing values. Try missing=true.")
        if self.cuts is not None:
            values = np.where(column.missing, self.cuts[0], column.values)
            codes = np.searchsorted(self.cuts[1:-1], values, side="right")
        else:
            place = {label: i for i, label in enumerate(self.labels)}
            at = np.array([*(place[label] for label in column.categories), 0], dtype=np.int64)
            codes = at[column.codes]
        return np.where(column.missing, self.size - 1, codes).astype(np.int64)

    def column(self, codes: Ids, rng: Generator) -> Column:
        """Return the values of codes, sampled uniformly within a bin."""
        gap = (codes == self.size - 1) & self.gaps
        if self.cuts is None:
            labels = np.empty(len(self.labels) + 1, dtype=object)
            labels[:] = [*self.labels, None]
            texts = labels[codes]
            return Column.of_texts(texts, missing=()) if self.numeric else Column(texts)
        at = np.where(gap, 0, codes)
        low, high = self.cuts[at], self.cuts[at + 1]
        values = low + rng.random(len(codes)) * (high - low)
        if (self.cuts == np.round(self.cuts)).all():
            values = np.floor(values)
        return Column(np.where(gap, np.nan, values))


def domain_of(table: Table, name: str, bins: str, domain: str, *, gaps: bool) -> Domain:
    """Return the domain of a column: its bins, or its categories."""
    column = table.column(name)
    cuts = _cuts(bins, table).get(name)
    if cuts is not None:
        if not column.numeric:
            raise InputError(f"The column '{name}' has text, which needs no bins.")
        return Domain((), cuts, public=True, numeric=True, gaps=gaps)
    labels, public = declared(table, name, domain)
    return Domain(tuple(labels), None, public=public, numeric=column.numeric, gaps=gaps)


def _cuts(bins: str, table: Table) -> dict[str, Floats]:
    edges = {}
    for part in filter(None, (entry.strip() for entry in bins.split(";"))):
        name, _, listed = part.partition("=")
        if name not in table:
            raise unknown_column(name, table.columns)
        try:
            cuts = [float(cut) for cut in listed.split("|")]
        except ValueError:
            cuts = []
        rising = all(low < high for low, high in pairwise(cuts))
        if len(cuts) < 2 or not rising or not all(map(math.isfinite, cuts)):
            raise ParameterError("Bins must be increasing numbers, as in 'age=0|20|40|60|80'.")
        edges[name] = np.array(cuts)
    return edges


_SEVERAL = "If a person has several records, epsilon protects each record, not the person."
_MOST_CELLS = 4_000_000  # of a two-way table

Edge = tuple[int, int]


class Tree(Mechanism):
    """Sample new rows from noisy one-way and two-way counts, joined in a tree.

    The zCDP budget of (epsilon, delta) is split into equal thirds: all one-way counts (discrete
    Gaussian), the choice of d - 1 edges (exponential mechanism in Kruskal's order; the score of
    two columns is the L1 distance between their true counts and the product of the noisy ones,
    which one record changes by at most 1), and the two-way counts of these edges. Counts below 0
    become 0. Rows are sampled from the root to the leaves; their number comes from the noisy
    counts.

    Proved: (epsilon, delta)-DP for adding or removing one record, if the values that each column
    can have are declared: by its hierarchy, by `domain` ('sex=Female|Male'), or by `bins`
    ('age=0|20|40|60'). Values read from the data are not public, and then nothing is proved.

    References
    ----------
    McKenna, Miklau, Sheldon. Winning the NIST contest: a scalable and general approach to
    differentially private synthetic data. Journal of Privacy and Confidentiality 11(3), 2021 (the
    tree of two-way marginals). doi:10.29012/jpc.778
    """

    name: ClassVar[str] = "tree"
    family: ClassVar[str] = "Synthetic"
    kind: ClassVar[Kind] = "all"
    epsilon: Annotated[float, Field(gt=0, description="budget", examples=[1.0])]
    delta: Annotated[float, Field(gt=0, lt=1, description="probability that it is exceeded")] = (
        1e-9
    )
    bins: Annotated[str, Field(description="of numbers, such as 'age=0|20|40|60'")] = ""
    domain: Annotated[str, Field(description="categories, such as 'sex=Female|Male;...'")] = ""
    missing: Annotated[bool, Field(description="values may be missing")] = False

    @property
    def guarantee(self) -> Guarantee:
        """Holds if the domains of all columns are declared."""
        return Guarantee(
            "dp", self.epsilon, unit=UNIT, delta=self.delta, neighbours=ADD_REMOVE, caveat=_SEVERAL
        )

    @override
    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        if len(columns) < 2:
            raise InputError("tree needs at least two columns.")
        domains = [
            domain_of(table, name, self.bins, self.domain, gaps=self.missing) for name in columns
        ]
        codes = [
            domain.codes(table.column(name)) for domain, name in zip(domains, columns, strict=True)
        ]
        if max(a.size * b.size for a, b in combinations(domains, 2)) > _MOST_CELLS:
            raise InputError(
                "Two columns have too many combinations of values. Declare bins for them."
            )
        rho, d = zcdp_rho(self.epsilon, self.delta) / 3, len(columns)
        singles = [
            _noisy(_counted((code,), (domain,)), rho / d, rng)
            for code, domain in zip(codes, domains, strict=True)
        ]
        edges = _edges(codes, domains, singles, math.sqrt(8 * rho / (d - 1)), rng)
        pairs = {
            (a, b): _noisy(
                _counted((codes[a], codes[b]), (domains[a], domains[b])), rho / (d - 1), rng
            )
            for a, b in edges
        }
        samples = _sample_rows(
            singles,
            pairs,
            max(1, round(float(np.mean([counts.sum() for counts in singles])))),
            rng,
        )
        synthetic = {
            name: domain.column(samples[i], rng)
            for i, (name, domain) in enumerate(zip(columns, domains, strict=True))
        }
        others = [name for name in table.columns if name not in columns]
        shape = table.take(np.zeros(len(samples[0]), dtype=np.int64)).without(others)
        unknown = [
            name for name, domain in zip(columns, domains, strict=True) if not domain.public
        ]
        proved = self.guarantee
        if unknown:
            proved = nothing(
                f"The values of {', '.join(unknown)} were read from the data. Declare them by a"
                " hierarchy, domain= or bins=."
            )
        facts = {"edges": tuple((columns[a], columns[b]) for a, b in edges)}
        return Masked(shape.changed(synthetic), None, proved, kept=facts)


def _counted(codes: Sequence[Ids], domains: Sequence[Domain]) -> Ids:
    key = np.zeros(len(codes[0]), dtype=np.int64)
    for code, domain in zip(codes, domains, strict=True):
        key = key * domain.size + code
    shape = [domain.size for domain in domains]
    return np.bincount(key, minlength=math.prod(shape)).reshape(shape).astype(np.int64)


def _noisy(counts: Ids, rho: float, rng: Generator) -> Floats:
    """Add noise (one record changes one cell by 1), then set negative counts to 0."""
    noisy = DiscreteGaussian(rho=rho).draw(counts, 1, rng)[0]
    cut: Floats = np.maximum(noisy, 0).astype(np.float64)
    return cut


def _edges(
    codes: Sequence[Ids],
    domains: Sequence[Domain],
    singles: Sequence[Floats],
    epsilon: float,
    rng: Generator,
) -> list[Edge]:
    """Choose the edges of a spanning tree, each by the exponential mechanism."""
    total = max(1.0, float(np.mean([counts.sum() for counts in singles])))
    shares = [counts / max(1.0, counts.sum()) for counts in singles]
    scores = {
        (a, b): float(
            np.abs(
                _counted((codes[a], codes[b]), (domains[a], domains[b]))
                - total * np.outer(shares[a], shares[b])
            ).sum()
        )
        for a, b in combinations(range(len(codes)), 2)
    }
    choose = Exponential(epsilon=epsilon, sensitivity=1.0 + 1e-6)  # sums of floats are not exact
    group = list(range(len(codes)))
    edges: list[Edge] = []
    while len(edges) < len(codes) - 1:
        open_edges = [(a, b) for a, b in scores if group[a] != group[b]]
        listed = choose.check([scores[edge] for edge in open_edges])
        a, b = open_edges[int(choose.draw(listed, 1, rng)[0])]
        edges.append((a, b))
        gone, merged = group[b], group[a]
        group = [merged if label == gone else label for label in group]
    return edges


def _sample_rows(
    singles: Sequence[Floats], pairs: dict[Edge, Floats], n: int, rng: Generator
) -> list[Ids]:
    """Sample the root from its own counts, and each child conditional on its parent."""
    samples: list[Ids | None] = [None] * len(singles)
    samples[0] = _choose(np.tile(_law(singles[0]), (1, 1)), np.zeros(n, dtype=np.int64), rng)
    waiting = dict(pairs)
    while waiting:
        a, b = next(edge for edge in waiting if any(samples[i] is not None for i in edge))
        joint = waiting.pop((a, b))
        parent, child, table = (a, b, joint) if samples[a] is not None else (b, a, joint.T)
        laws = np.stack([_law(row, singles[child]) for row in table])
        parents = samples[parent]
        assert parents is not None  # noqa: S101 - the edge was chosen so
        samples[child] = _choose(laws, parents, rng)
    return [sample for sample in samples if sample is not None]


def _law(counts: Floats, instead: Floats | None = None) -> Floats:
    """Return the shares of the counts; if all are 0, those of `instead`, or uniform ones."""
    for candidate in (counts, instead):
        if candidate is not None and candidate.sum() > 0:
            shares: Floats = candidate / candidate.sum()
            return shares
    return np.full(len(counts), 1 / len(counts))


def _choose(laws: Floats, rows: Ids, rng: Generator) -> Ids:
    uniform, sampled = rng.random(len(rows)), np.empty(len(rows), dtype=np.int64)
    for value in np.unique(rows):
        mine = rows == value
        cumulative = np.cumsum(laws[value])
        places = np.searchsorted(cumulative / cumulative[-1], uniform[mine], side="right")
        sampled[mine] = np.minimum(places, len(cumulative) - 1)
    return sampled
