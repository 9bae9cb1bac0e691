"""What leaves: reports, what they cost, and no value."""

from dataclasses import dataclass, replace

from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.dp.local.oracle import ANY_TWO, Oracle
from veil.dp.local.parts import Array

_ANEW = (
    "Every report is a new release: a person who reports several times spends as many times"
    " epsilon."
)
_STAYS = "The bound is for all reports of a person together while the value stays the same."
_LATER = "Other values of a person in later reports with the key cost again."
_ALIKE = "any two histories of one person whose kept answers change at the same reports"


@dataclass(frozen=True, eq=False)
class Reports:
    """Reports of n values; they satisfy `veil.core.types.Release`.

    Attributes
    ----------
    oracle
        Who made them.
    data, index
        Arrays whose first axis is the reports: what was reported, and what is public beside it
        (hash functions, cohorts, buckets), None where there is nothing.
    seeded
        True when the draws can be repeated by who knows the seed: **not private**.
    memoised
        Whether bits of a person stay the same forever, by a key.
    most
        Reports of the person who has most; None if it was not told whose they are.
    overlap
        The mean, over the reports, of how many reports share their memoised bits: variances of
        estimates grow by it. 1 where nothing is memoised.
    values
        Different values of the person who has most of them; None where nothing is memoised.
    """

    oracle: Oracle
    data: Array
    index: Array | None
    seeded: bool
    memoised: bool = False
    most: int | None = None
    overlap: float = 1.0
    values: int | None = None

    def __post_init__(self) -> None:
        told = (self.most is None or self.most >= 1) and 1 <= self.overlap < float("inf")
        if not told or self.data.ndim < 1 or not len(self.data):
            raise InputError("There must be at least one report; there is none.")
        counted = self.oracle.memoises and 1 <= (self.values or 0) <= (self.most or 0)
        if self.memoised and not counted:
            raise InputError("The reports cannot be memoised ones; ask for them again.")
        self.oracle.verify(self.data, self.index)

    @property
    def n(self) -> int:
        """Number of reports."""
        return len(self.data)

    @property
    def mechanism(self) -> str:
        """Spec of the oracle."""
        return str(self.oracle)

    @property
    def cost(self) -> Guarantee:
        """What is proved of the reports of one person."""
        if self.memoised and self.values is not None:
            return kept_cost(self.oracle, self.values)
        return cost_of(self.oracle, self.most)

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        return f"Reports({self.n:,} of {self.mechanism})"


def kept_cost(oracle: Oracle, values: int) -> Guarantee:
    """Return what is proved of memoised reports when the person with most values has so many."""
    once = oracle.guarantee
    answers = oracle.answers(values)
    added = once.compose(answers, "person")
    told = _STAYS if values == 1 else (
        f"The person with most different values has {values:,}, and {answers:,} answers are kept"
        " for them, which cost epsilon each."
    )  # fmt: skip
    return replace(added, neighbours=_ALIKE).with_caveat(f"{told} {oracle.changes} {_LATER}")


def cost_of(oracle: Oracle, most: int | None) -> Guarantee:
    """Return what is proved when the person with most reports has so many."""
    once = oracle.guarantee
    if most is None:
        return once.with_caveat(_ANEW)
    told = f"Every report is a new release; the person with most reports has {most:,}."
    added = once.compose(most, "person")
    return Guarantee(
        added.kind, added.epsilon, unit="person", neighbours=ANY_TWO.replace("report", "person"),
        caveat=added.caveat,
    ).with_caveat(told)  # fmt: skip
