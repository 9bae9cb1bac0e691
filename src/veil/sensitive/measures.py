"""Measures of lists with sensitive documents, and of probabilities."""

import difflib
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from veil.core.component import Component
from veil.core.errors import ParameterError, UnknownNameError
from veil.core.formatting import brief
from veil.core.registry import Registry
from veil.core.types import Floats
from veil.measures.effectiveness import ndcg
from veil.sensitive.collection import Labels

Flags = NDArray[np.bool_]
Pool = Literal["collection", "judged"]


def discounts(k: int) -> Floats:
    """Return the discounts D(i) = 1/log2(i + 1) of the ranks 1 to k."""
    return 1 / np.log2(np.arange(2, k + 2))


@dataclass(frozen=True, slots=True)
class Prices:
    """The cost of showing sensitive documents, and the lists that define best and worst.

    `cost` is C of the first one; each further one costs `decay` times the previous one. `penalty`
    is M of TERN and SENS.
    """

    cost: float = 12.0
    penalty: float = 1.0
    pool: Pool = "collection"
    decay: float = 1.0

    def of(self, count: Any) -> Any:  # noqa: ANN401 - a number, or an array of them
        """Return the cost of `count` sensitive documents: C (1 + decay + decay^2 + ...)."""
        if self.decay == 1:
            return self.cost * count
        return self.cost * (1 - self.decay**count) / (1 - self.decay)


@brief("queries")
@dataclass(frozen=True, eq=False)
class Judged:
    """The first k of one list per query.

    Attributes
    ----------
    grades
        (n, k) grade of each document shown, 0 without a judgement or beyond the end of the list.
    sensitive
        (n, k) whether each document shown is sensitive.
    hot, cold
        Positive grades of each query's sensitive and other documents, best first.
    sizes
        (n, 2) number of judged documents: sensitive, and others.
    relevant
        Judged documents of each query with a positive grade.
    total
        Number of documents in the collection: sensitive, and others.
    """

    k: int
    queries: tuple[str, ...]
    lists: tuple[Sequence[str], ...]
    grades: Floats
    sensitive: Flags
    hot: tuple[Sequence[int], ...]
    cold: tuple[Sequence[int], ...]
    sizes: NDArray[np.int64]
    total: tuple[int, int]
    relevant: tuple[Mapping[str, int], ...]
    labels: Mapping[str, int]
    extremes: dict[Prices, tuple[Floats, Floats]] = field(default_factory=dict)  # cache

    @cached_property
    def gains(self) -> Floats:
        """Gain 2^grade - 1 of each document shown (n, k)."""
        return 2**self.grades - 1

    @cached_property
    def visible(self) -> dict[str, dict[str, int]]:
        """Positive grades of documents that are not sensitive, by query."""
        return {
            query: {name: grade for name, grade in relevant.items() if not self.labels[name]}
            for query, relevant in zip(self.queries, self.relevant, strict=True)
        }

    @cached_property
    def any_sensitive(self) -> Flags:
        """(n,) whether a sensitive document is shown."""
        return np.asarray(self.sensitive.any(axis=1))


class Measure(Component):
    """A value for each query, between `lowest` and `highest`; more is better."""

    lowest: ClassVar[float] = -inf
    highest: ClassVar[float] = 1.0

    @abstractmethod
    def values(self, judged: Judged, prices: Prices) -> Floats:
        """Return a value for each query (n,); nan for queries to leave out."""


MEASURES: Registry[Measure] = Registry(
    noun="measure",
    group="veil.measures.sensitive",
    builtin={
        "CS-DCG": "veil.sensitive.measures:CSDCG",
        "SENS": "veil.sensitive.measures:SENS",
        "TERN": "veil.sensitive.measures:TERN",
        "nCS-DCG": "veil.sensitive.measures:NCSDCG",
        "nDCG-visible": "veil.sensitive.measures:Visible",
    },
)
"""All measures of lists, also of plugins: `names()`, `get(name)`, `parse(spec)`."""
DEPTH = 10  # default depth

Values = Callable[[Judged, Prices], Floats]


def measure(name: str) -> tuple[str, Values, int]:
    """Return name, function and depth of a measure such as ``nCS-DCG@10``.

    >>> measure("TERN@5")[::2]
    ('TERN', 5)
    """
    if not isinstance(name, str):
        raise ParameterError("The name of a measure must be a string. Try nCS-DCG@10.")
    spec, _, depth = name.partition("@")
    spec = spec.strip()
    kind = spec.partition("(")[0]
    if kind not in MEASURES.names():
        spec = spec.replace(kind, kind.replace("_", "-"), 1)
        kind = kind.replace("_", "-")
    if kind not in MEASURES.names():
        raise _unknown(kind)
    if depth and not (depth.isascii() and depth.isdigit() and int(depth) >= 1):
        raise ParameterError(f"The depth of {kind} must be an integer >= 1. Try {kind}@10.")
    return kind, MEASURES.parse(spec).values, int(depth or DEPTH)


def _unknown(name: str) -> UnknownNameError:
    """Return the error for an unknown measure, with the closest name in any case."""
    names = MEASURES.names()
    lower = {kind.lower(): kind for kind in names}
    near = difflib.get_close_matches(name.lower(), lower, n=1)
    hint = f" Did you mean '{lower[near[0]]}'?" if near else ""
    return UnknownNameError(f"No measure called '{name[:40]}'.{hint} Known: {', '.join(names)}.")


class Visible(Measure):
    """nDCG@k by ir_measures, with grade 0 for sensitive documents.

    It is nan if no relevant document may be shown: means leave out such queries.
    """

    name: ClassVar[str] = "nDCG-visible"
    lowest: ClassVar[float] = 0.0

    @override
    def values(self, judged: Judged, prices: Prices) -> Floats:
        del prices
        lists = [tuple(shown[: judged.k]) for shown in judged.lists]
        return np.asarray(ndcg(judged.visible, judged.queries, lists, judged.k))


class SENS(Measure):
    """-M if any sensitive document is shown, else DCG over the best DCG without one.

    The ideal list has no sensitive documents; if its DCG is 0, the value is 0.

    References
    ----------
    Sayed, Oard. SIGIR 2019. doi:10.1145/3331184.3331256
    """

    name: ClassVar[str] = "SENS"

    @override
    def values(self, judged: Judged, prices: Prices) -> Floats:
        weights = discounts(judged.k).tolist()
        ideal = np.array(
            [
                sum(
                    (2.0**grade - 1) * weight for grade, weight in zip(best, weights, strict=False)
                )
                for best in judged.cold
            ]
        )
        share = (judged.gains @ np.array(weights)) / np.where(ideal > 0, ideal, 1)
        return np.where(judged.any_sensitive, -prices.penalty, np.where(ideal > 0, share, 0.0))


class TERN(Measure):
    """-M if any sensitive document is shown, else 1 if any relevant one is, else 0.

    References
    ----------
    Sayed, Oard. Jointly Modeling Relevance and Sensitivity for Search Among Sensitive Content.
    SIGIR 2019. doi:10.1145/3331184.3331256
    """

    name: ClassVar[str] = "TERN"

    @override
    def values(self, judged: Judged, prices: Prices) -> Floats:
        relevant = (judged.grades > 0).any(axis=1)
        return np.where(judged.any_sensitive, -prices.penalty, relevant.astype(np.float64))


def tern_documents(judged: Judged, prices: Prices) -> Floats:
    """Return TERN of each document shown (n, k): -M sensitive, else 1 relevant, else 0."""
    return np.where(judged.sensitive, -prices.penalty, (judged.grades > 0).astype(np.float64))


class CSDCG(Measure):
    r"""Discounted gain minus the cost of sensitive documents.

    .. math:: \sum_{i \le k} (2^{grade_i} - 1)/\log_2(i + 1) - \sum_{j < s} C\,decay^j

    with s sensitive documents shown. The cost does not depend on the rank; a relevant sensitive
    document has its gain and costs C.

    References
    ----------
    Sayed, Oard. SIGIR 2019. doi:10.1145/3331184.3331256
    """

    name: ClassVar[str] = "CS-DCG"
    highest: ClassVar[float] = inf

    @override
    def values(self, judged: Judged, prices: Prices) -> Floats:
        gain: Floats = judged.gains @ discounts(judged.k)
        cost: Floats = prices.of(judged.sensitive.sum(axis=1))
        return gain - cost


def extremes(judged: Judged, prices: Prices) -> tuple[Floats, Floats]:
    """Return the maximum and the minimum (n,) of CS-DCG over lists of 0 to k distinct documents.

    Of all lists with j sensitive and i other documents, the best has the largest gains of each
    kind, in falling order, and the worst the smallest in rising order: O(k^2) sums of k terms.
    """
    if prices not in judged.extremes:
        judged.extremes[prices] = _extremes(judged, prices)
    return judged.extremes[prices]


def _extremes(judged: Judged, prices: Prices) -> tuple[Floats, Floats]:
    sizes = np.tile(judged.total, (len(judged.queries), 1))
    if prices.pool == "judged":
        sizes = judged.sizes
    kinds = [
        _Kind(grades, sizes[:, kind], judged.k)
        for kind, grades in enumerate((judged.hot, judged.cold))
    ]
    hot, cold = kinds
    weights = discounts(judged.k)
    best = np.full(len(judged.queries), -np.inf)
    worst = np.full(len(judged.queries), np.inf)
    for j in range(judged.k + 1):
        cost, rest = prices.of(j), judged.k - j
        # Further harmless documents never make a list worse, so the best list is full of them.
        top = _sorted(hot.largest[:, :j], cold.largest[:, :rest])[:, ::-1] @ weights - cost
        best = np.where(hot.size >= j, np.maximum(best, top), best)
        for i in range(rest + 1):
            low = _sorted(hot.smallest[:, :j], cold.smallest[:, :i])
            bottom = low @ weights[: i + j] - cost
            possible = (hot.size >= j) & (cold.size >= i)
            worst = np.where(possible, np.minimum(worst, bottom), worst)
    return best, worst


class _Kind:
    """The documents of one kind that a query's list may contain; ungraded ones gain 0."""

    def __init__(self, grades: Sequence[Sequence[int]], sizes: NDArray[np.int64], k: int) -> None:
        self.size = sizes  # (n,)
        self.largest = np.zeros((len(grades), k))
        self.smallest = np.zeros((len(grades), k))
        for row, best in enumerate(grades):
            if not best:
                continue
            gains = [2.0**grade - 1 for grade in best]
            self.largest[row, : len(gains)] = gains[:k]
            zeros = min(k, int(sizes[row]) - len(gains))
            self.smallest[row, zeros : zeros + len(gains)] = gains[::-1][: k - zeros]


def _sorted(first: Floats, second: Floats) -> Floats:
    return np.sort(np.concatenate([first, second], axis=1), axis=1)


class NCSDCG(Measure):
    r"""(CS-DCG - worst)/(best - worst), in [0, 1]; 0 if best = worst.

    best and worst are over all lists of 0 to k documents of the pool. With the pool "judged" a
    list with other documents can leave [0, 1] and is clipped.

    Notes
    -----
    At a high cost the measure shows little more than the number of sensitive documents: compare it
    with the empty list.

    References
    ----------
    Sayed, Oard. SIGIR 2019. doi:10.1145/3331184.3331256
    """

    name: ClassVar[str] = "nCS-DCG"
    lowest: ClassVar[float] = 0.0

    @override
    def values(self, judged: Judged, prices: Prices) -> Floats:
        return np.clip(np.nan_to_num(unclipped_ncs_dcg(judged, prices)), 0, 1)


def unclipped_ncs_dcg(judged: Judged, prices: Prices) -> Floats:
    """Return nCS-DCG without clipping, and nan if best = worst."""
    best, worst = extremes(judged, prices)
    width = best - worst
    values = (CSDCG().values(judged, prices) - worst) / np.where(width > 0, width, np.nan)
    return np.where(np.abs(values - np.round(values)) < 1e-12, np.round(values), values)


def auc(p: Floats, labels: Labels) -> float:
    """Return how often a sensitive document has a higher value than another; ties count half."""
    hot = labels == 1
    pairs = int(hot.sum()) * int((~hot).sum())
    if not pairs:
        return float("nan")
    _, place, counts = np.unique(p, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]  # the mean rank of equal values
    size = int(hot.sum())
    return float((ranks[hot].sum() - size * (size + 1) / 2) / pairs)


def average_precision(p: Floats, labels: Labels) -> float:
    """Return the mean precision at each increase of recall, from the highest value down."""
    order = np.argsort(-p, kind="stable")
    hot = (labels[order] == 1).astype(np.float64)
    if not hot.sum():
        return float("nan")
    last = np.append(np.diff(p[order]) != 0, True)  # equal values form one step
    hits, sizes = np.cumsum(hot)[last], np.flatnonzero(last) + 1
    gained = np.diff(hits, prepend=0.0)
    return float((gained * hits / sizes).sum() / hot.sum())


def brier(p: Floats, labels: Labels) -> float:
    """Return the mean squared difference between p and labels."""
    return float(np.mean((p - (labels == 1)) ** 2))


def calibration_error(p: Floats, labels: Labels, bins: int = 10) -> float:
    """Return the mean distance between p and the share of sensitive documents, in equal bins."""
    place = np.minimum((p * bins).astype(np.int64), bins - 1)
    size = np.bincount(place, minlength=bins)
    sums = np.bincount(place, p, minlength=bins)
    true = np.bincount(place, (labels == 1).astype(np.float64), minlength=bins)
    return float(np.abs(sums - true).sum() / size.sum())
