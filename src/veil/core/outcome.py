"""The result of an attack, the same for every kind of data.

`Outcome` holds how often an attacker is right and about which records, and where the truth ranks
among its candidates, if it ranks any. `Choice` is the result of an attack that decides between two
worlds, with and without a person.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from veil.core.estimate import Estimate, above_chance, bootstrap, interval, resamples
from veil.core.formatting import brief
from veil.core.former import warn_renamed
from veil.core.types import Floats, Ids


class Ranks(np.ndarray[tuple[int], np.dtype[np.int64]]):
    """Integer array of ranks (n,) with the number of ties for each.

    A rank is 1 + the number of guesses with a higher score. `ties` (n,) counts the guesses with
    the same score as the truth, itself included: 1 if no other guess ties with it. Depending on
    the order of the tied guesses, the truth comes at `rank`, `rank` + 1, ... or
    `rank` + `ties` - 1. A slice keeps its ties; the result of a computation is an ordinary array.

    >>> ranks = Ranks([1, 4], [1, 3])
    >>> ranks.tolist(), ranks.ties.tolist(), ranks[1:].ties.tolist()
    ([1, 4], [1, 3], [3])
    """

    ties: Ids | None

    def __new__(cls, ranks: ArrayLike, ties: ArrayLike | None = None) -> "Ranks":
        """Copy ranks and ties into a new array."""
        array = np.array(ranks, dtype=np.int64).view(cls)
        array.ties = None if ties is None else np.array(ties, dtype=np.int64)
        return array

    def __array_finalize__(self, parent: NDArray[np.generic] | None) -> None:
        self.ties = None

    def __array_wrap__(  # type: ignore[override]
        self, array: NDArray[np.generic], context: object = None, return_scalar: bool = False
    ) -> object:
        del context
        return array[()] if return_scalar else np.asarray(array)

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401 - numpy's signature
        part = np.asarray(self)[key]
        if not isinstance(part, np.ndarray) or self.ties is None:
            return part
        return Ranks(part, self.ties[key])


def rank_with_ties(scores: Floats, index: int, rounding: float = 0.0) -> tuple[int, int]:
    """Return the rank of entry `index` among scores (N,), and the number of entries tied with it.

    Scores that differ by at most `rounding` times the size of that entry's score count as equal,
    because they were computed no more precisely. An `index` of -1 means a missing entry, which
    ranks last.

    >>> rank_with_ties(np.array([0.5, 0.9, 0.5]), 2), rank_with_ties(np.zeros(3), -1)
    ((2, 2), (4, 1))
    """
    if index < 0:
        return len(scores) + 1, 1
    own = scores[index]
    tolerance = rounding * abs(own) if np.isfinite(own) else 0.0
    ahead = int(np.count_nonzero(scores > own + tolerance))
    return 1 + ahead, int(np.count_nonzero(scores >= own - tolerance)) - ahead


def first_guess(ranks: Ids, ties: Ids | None) -> Floats:
    """Return the probability (n,) that the first guess is right: 1/m if m guesses tie for first.

    >>> first_guess(np.array([1, 1, 2]), np.array([1, 4, 1])).tolist()
    [1.0, 0.25, 0.0]
    """
    return np.where(ranks == 1, 1.0 if ties is None else 1.0 / ties, 0.0)


RELEASE = "release"  # the unit of an attack that finds which releases belong together
LABEL = "label"  # the unit of an attack that finds what a subject is about, not which it is


def _no_ranks() -> Ids:
    return np.zeros(0, dtype=np.int64)


def _no_numbers() -> Floats:
    return np.zeros(0)


@brief("unit", "per_record")
@dataclass(frozen=True, eq=False, repr=False)
class Outcome:
    """The result of an attack; `veil.risk` turns it into the risks of more patient attackers.

    An attack that ranks candidates gives `ranks` and `candidates`; the rest follows. Any other
    attack gives `per_record`, and `baseline` where that is known.

    Attributes
    ----------
    ranks
        (m,) 1 + the number of candidates with a higher score; ``candidates + 1`` if the truth is
        not among the candidates. Empty if the attack ranks nothing.
    candidates
        (m,) number of candidates the attacker chose from. Empty if the attack ranks nothing.
    subjects
        (m,) subject (a query, a user, a household) of each guess; 0, 1, ..., n - 1 if whole
        subjects are guessed. Empty if the records are not guesses about single subjects.
    unit
        What the attacker guesses: a whole subject, by its name ("query"), or a part ("word");
        `RELEASE`: which release belongs to the same subject; `LABEL`: the topic of the subject.
    prior
        (m,) rank of the truth under the attacker's prior belief, if that is not uniform.
    left
        (m,) number of candidates that were not ruled out with certainty, if the attack knows it.
    ties
        (m,) number of candidates with the same score as the truth, itself included. None means no
        ties. Success is the mean over all orders of the tied candidates.
    prior_ties
        (m,) the same for `prior`.
    unanswered
        (m,) 1 if the service that the attack queries gave no answer: there is no guess, and the
        guess counts as a failure, so the risk is a lower bound. None if it queries no service.
    per_record
        (m,) success of the first guess about each record, from 0 to 1; of tables, the risk of each
        record. Computed from the ranks by default. Never written to a file.
    baseline
        Success of an attacker without the release; None if unknown. Computed from the ranks by
        default: the first guess follows the `prior` if there is one, and is otherwise uniform over
        the candidates.
    excess
        Whether `risk` counts only the success above the `baseline`.
    mean
        The success and its interval, if not the mean of `per_record`.
    estimate
        The risk and its interval, if not computed from `success`.
    control
        Success of the same attack on records that were not in the data, if there are any.
    upper
        Upper bound of `risk` with 97.5 % confidence, if the bound of a mean does not apply because
        a baseline or a control is subtracted.
    details
        What else the attack found, by name.
    """

    ranks: Ids = field(default_factory=_no_ranks)
    candidates: Ids = field(default_factory=_no_ranks)
    subjects: Ids = field(default_factory=_no_ranks)
    unit: str = "query"
    prior: Ids | None = None
    left: Ids | None = None
    ties: Ids | None = None
    prior_ties: Ids | None = None
    unanswered: Ids | None = None
    _: KW_ONLY
    per_record: Floats = field(default_factory=_no_numbers)
    baseline: float | None = None
    excess: bool = False
    mean: Estimate | None = None
    estimate: Estimate | None = None
    control: float | None = None
    upper: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not len(self.per_record):
            present = self.ranks <= self.candidates
            object.__setattr__(self, "per_record", first_guess(self.ranks, self.ties) * present)
        if self.baseline is None and len(self.ranks):
            object.__setattr__(self, "baseline", float(self._blind().mean()))

    def _blind(self) -> Floats:
        """Return the success (m,) of the first guess without the release."""
        if self.prior is not None:
            return first_guess(self.prior, self.prior_ties) * (self.prior <= self.candidates)
        return np.where(self.ranks <= self.candidates, 1.0 / np.maximum(self.candidates, 1), 0.0)

    def __len__(self) -> int:
        return len(self.per_record)

    @cached_property
    def success(self) -> Estimate:
        """Share of records that the first guess gets right, with its interval over subjects."""
        if self.mean is not None:
            return self.mean
        return bootstrap(self.per_record, self.subjects if len(self.subjects) else None)

    @cached_property
    def risk(self) -> Estimate:
        """Success; of `excess`, max(0, (success - baseline)/(1 - baseline))."""
        if self.estimate is not None:
            return self.estimate
        success, base = self.success, self.baseline
        if not self.excess or base is None:
            return success
        ends = above_chance([success, success.low, success.high], base)
        value, low, high = np.maximum(ends, 0.0).tolist()
        return Estimate(value, low, high, success.n)

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval of `risk`."""
        return self.risk.low

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval of `risk`."""
        return self.risk.high

    @property
    def gains(self) -> Floats | None:
        """Values (m,) whose mean, cut at 0, is the risk; None if it is not a mean over records."""
        if self.estimate is not None:
            return None
        return (
            above_chance(self.per_record, self.baseline or 0.0) if self.excess else self.per_record
        )

    @property
    def silences(self) -> int:
        """Number of guesses that are missing because there was no answer."""
        return 0 if self.unanswered is None else int(self.unanswered.sum())

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            from veil.core.former_outcomes import ATTRIBUTES

            if name not in ATTRIBUTES:
                raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
            current, value = ATTRIBUTES[name]
            warn_renamed(f"{type(self).__name__}.{name}", current)
            return value(self)


Flags = NDArray[np.bool_]


def _no_flags() -> Flags:
    return np.zeros(0, dtype=np.bool_)


@brief("unit", "per_record")
@dataclass(frozen=True, eq=False, repr=False)
class Choice(Outcome):
    """The result of an attack that decides between two worlds, with and without a person.

    By default, `per_record` marks the correct decisions, and `success` is the advantage, which is
    0 for a blind guess (`baseline`).

    Attributes
    ----------
    decisions
        (m,) whether the attacker decides that the person is in the data.
    inside
        (m,) whether the person is.
    scores
        (m,) scores behind the decisions: the higher, the likelier inside. Empty if unknown.
    """

    _: KW_ONLY
    decisions: Flags = field(default_factory=_no_flags)
    inside: Flags = field(default_factory=_no_flags)
    scores: Floats = field(default_factory=_no_numbers)
    excess: bool = True

    def __post_init__(self) -> None:
        if not len(self.per_record):
            right = (self.decisions == self.inside).astype(np.float64)
            object.__setattr__(self, "per_record", right)
        if self.baseline is None:
            object.__setattr__(self, "baseline", 0.0)

    @property
    def true_positive_rate(self) -> float:
        """Share of the persons inside for whom the attacker decides so."""
        return float(self.decisions[self.inside].mean())

    @property
    def false_positive_rate(self) -> float:
        """Share of the other persons whom the attacker takes for insiders."""
        return float(self.decisions[~self.inside].mean())

    @cached_property
    def advantage(self) -> Estimate:
        """True minus false positive rate, with its interval over both groups."""
        members = self.decisions[self.inside].astype(np.float64)
        others = self.decisions[~self.inside].astype(np.float64)
        means = [members[rows].mean(axis=1) for rows in resamples(len(members))]
        against = [others[rows].mean(axis=1) for rows in resamples(len(others))]
        differences = np.concatenate(means) - np.concatenate(against)[::-1]
        return interval(float(members.mean() - others.mean()), differences, len(self.inside))

    @cached_property
    def success(self) -> Estimate:
        """The advantage, unless the attack measured another success (`mean`)."""
        return self.advantage if self.mean is None else self.mean

    @property
    def gains(self) -> Floats | None:
        """None: the advantage is not a mean over records."""
        return None
