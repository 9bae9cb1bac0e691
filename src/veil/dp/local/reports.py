"""Randomise values into reports, at once or block by block, and account for their cost."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veil.core.errors import InputError, ParameterError
from veil.core.formatting import brief
from veil.core.guarantee import Guarantee
from veil.core.rng import Randomness, generator
from veil.dp.local.aggregate import is_several
from veil.dp.local.hashing import Words, octet_hash
from veil.dp.local.memoise import Memo, check_key, key_for, person_bytes
from veil.dp.local.oracle import ANY_TWO, Drawing, Oracle, refuse_key
from veil.dp.local.oracles import oracle as named
from veil.dp.local.packed import Array

_ANEW = (
    "Every report is a new release: a person who reports several times spends epsilon each time."
)
_STAYS = "The bound covers all reports of a person together, while the value stays the same."
_LATER = "New values of a person in later reports with this key cost extra."
_ALIKE = "any two histories of one person whose memoised answers change at the same reports"


@dataclass(frozen=True, eq=False)
class Reports:
    """Reports of n values; satisfies `veil.core.types.Release`.

    Attributes
    ----------
    oracle
        The mechanism that made the reports.
    data, index
        Arrays with one row per report: the reported values, and public data (hash functions,
        cohorts, buckets), or None.
    seeded
        True if anyone with the seed can reproduce the draws: **not private**.
    memoised
        Whether a key keeps the bits of a person the same forever.
    most
        Largest number of reports of one person; None if the users are unknown.
    overlap
        Mean number of reports that share their memoised bits, over the reports: variances of
        estimates grow by this factor. 1 if nothing is memoised.
    values
        Largest number of distinct values of one person; None if nothing is memoised.
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
        valid = (self.most is None or self.most >= 1) and 1 <= self.overlap < float("inf")
        if not valid or self.data.ndim < 1 or not len(self.data):
            raise InputError("At least one report is required.")
        counted = self.oracle.memoises and 1 <= (self.values or 0) <= (self.most or 0)
        if self.memoised and not counted:
            raise InputError("These cannot be memoised reports. Request them again.")
        self.oracle.verify(self.data, self.index)

    @property
    def n(self) -> int:
        """Number of reports."""
        return len(self.data)

    @property
    def mechanism(self) -> str:
        """Spec of the mechanism."""
        return str(self.oracle)

    @property
    def cost(self) -> Guarantee:
        """The guarantee for the reports of one person."""
        if self.memoised and self.values is not None:
            return memoised_cost(self.oracle, self.values)
        return cost_of(self.oracle, self.most)

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        return f"Reports({self.n:,} of {self.mechanism})"


def memoised_cost(oracle: Oracle, values: int) -> Guarantee:
    """Return the cost of memoised reports if one person has at most `values` distinct values."""
    once = oracle.guarantee
    answers = oracle.answers(values)
    added = once.compose(answers, "person")
    caveat = _STAYS if values == 1 else (
        f"The person with the most distinct values has {values:,}; up to {answers:,} memoised"
        " answers cost epsilon each."
    )  # fmt: skip
    return replace(added, neighbours=_ALIKE).with_caveat(f"{caveat} {oracle.changes} {_LATER}")


def cost_of(oracle: Oracle, most: int | None) -> Guarantee:
    """Return the cost if one person has at most `most` reports (None: a single report)."""
    once = oracle.guarantee
    if most is None:
        return once.with_caveat(_ANEW)
    caveat = f"Every report is a new release. The person with the most reports has {most:,}."
    added = once.compose(most, "person")
    return Guarantee(
        added.kind, added.epsilon, unit="person", neighbours=ANY_TWO.replace("report", "person"),
        caveat=added.caveat,
    ).with_caveat(caveat)  # fmt: skip


class Persons:
    """Counts the reports of persons, storing an 8-byte hash of each name, never the name.

    Two names with the same hash count as one person, so costs may be overstated, never
    understated.
    """

    def __init__(self) -> None:
        self._hashes: list[Words] = []
        self._values: list[Array] = []

    def add(self, names: Sequence[bytes], values: Array | None = None) -> None:
        """Count one report per name, and its encoded value (n,), if given."""
        numbers = (octet_hash(name) for name in names)
        self._hashes.append(np.fromiter(numbers, dtype=np.uint64, count=len(names)))
        if values is not None:
            self._values.append(values)

    def counted(self) -> tuple[int, float]:
        """Return the largest number of reports of a person, and the mean number over reports."""
        _, counts = np.unique(np.concatenate(self._hashes), return_counts=True)
        squares = float((counts.astype(np.float64) ** 2).sum())
        return int(counts.max()), squares / float(counts.sum())

    def different(self) -> int | None:
        """Return the largest number of distinct values of a person, or None without values."""
        if not self._values:
            return None
        persons, values = np.concatenate(self._hashes), np.concatenate(self._values)
        order = np.lexsort((values, persons))
        persons, values = persons[order], values[order]
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = (persons[1:] != persons[:-1]) | (values[1:] != values[:-1])
        return int(np.unique(persons[new], return_counts=True)[1].max())


Values = Iterable[Any] | NDArray[Any]
Users = Iterable[Any] | NDArray[Any]


def report(
    values: Values,
    oracle: str | Oracle,
    users: Users | None = None,
    key: bytes | None = None,
    rng: Randomness = None,
    *,
    question: str = "",
) -> Reports:
    """Report each value once, with a local mechanism or its spec.

    Parameters
    ----------
    values
        Texts, codes from 0, or numbers, as the mechanism takes them.
    users
        The user of each value, as text or integer. The cost then covers all reports of any
        person: it counts the largest number of reports of one person (with a key, of distinct
        values). Without users it is the cost of one report.
    key
        32 secret bytes. With a key and users, whatever the mechanism can memoise stays the same
        forever (rappor, dbitflip, one_bit); other mechanisms reject a key. A key belongs to one
        question: one attribute of a person. Reporting an attribute under two specs costs both,
        even of the same mechanism, because their bits are independent.
    rng
        None for fresh randomness from the operating system. A seed or a generator is for
        experiments: the reports are reproducible, marked as seeded, and **not private**.
    question
        Name of the attribute, if one key is used for several: each gets independent bits.
    """
    desk = Desk(named(oracle), users is not None, key, rng, question)
    drawings = list(desk.draw_blocks(values, users))
    if not drawings:
        raise InputError("At least one value is required.")
    data = np.concatenate([block for block, _ in drawings])
    indexes = [index for _, index in drawings if index is not None]
    return desk.reports(data, np.concatenate(indexes) if indexes else None)


def report_blocks(
    values: Values,
    oracle: str | Oracle,
    users: Users | None = None,
    key: bytes | None = None,
    rng: Randomness = None,
    *,
    question: str = "",
) -> Iterator[Reports]:
    """Report values block by block, in bounded memory; the reports equal those of `report`.

    The cost of a block covers only its own reports. Reports of a person in several blocks add up.
    """
    desk = Desk(named(oracle), users is not None, key, rng, question)
    for data, index in desk.draw_blocks(values, users):
        yield desk.reports(data, index)
        desk.persons = Persons()


@brief()
@dataclass
class Desk:
    """Draws blocks of reports; `persons` counts the reports of each user."""

    oracle: Oracle
    has_users: bool
    key: bytes | None
    rng: Randomness
    question: str = ""
    persons: Persons = field(default_factory=Persons)

    def __post_init__(self) -> None:
        if self.key is not None:
            self.key = check_key(self.key)
            refuse_key(self.oracle)
            if not self.has_users:
                raise ParameterError("A key needs users. Pass the user of each value.")
            self.key = key_for(self.key, str(self.oracle), self.question)
        elif self.question:
            raise ParameterError("A question needs a key. Pass a key, or remove the question.")
        self._draws: Generator = generator(self.rng)

    def draw_blocks(self, values: Values, users: Users | None) -> Iterator[Drawing]:
        """Yield data and index of blocks whose size depends only on the mechanism."""
        rows = self.oracle.rows
        names = None if users is None else blocks(users, rows)
        for block in blocks(values, rows):
            persons = None if names is None else _persons(next(names, ()), len(block))
            x = self.oracle.check(block)
            memo = None
            if persons is not None:
                self.persons.add(persons, None if self.key is None else x)
                memo = None if self.key is None else Memo(self.key, persons)
            yield self.oracle.draw(x, self._draws, memo)
        if names is not None and len(next(names, ())):
            raise _length_error()

    def reports(self, data: Array, index: Array | None) -> Reports:
        """Return reports with their cost."""
        most, overlap = self.persons.counted() if self.has_users else (None, 1.0)
        memoised = self.key is not None
        return Reports(
            self.oracle,
            data,
            index,
            seeded=self.rng is not None,
            memoised=memoised,
            most=most,
            overlap=overlap if memoised else 1.0,
            values=self.persons.different(),
        )


def blocks(values: Values, rows: int) -> Iterator[Sequence[Any] | NDArray[Any]]:
    """Yield blocks of `rows` values of a sequence or an iterable."""
    if not is_several(values):
        raise InputError("Values and users must be lists, arrays or other iterables.")
    if isinstance(values, np.ndarray | list | tuple):
        for start in range(0, len(values), rows):
            yield values[start : start + rows]
        return
    rest = iter(values)
    while block := list(islice(rest, rows)):
        yield block


def _persons(names: Sequence[Any] | NDArray[Any], count: int) -> list[bytes]:
    if len(names) != count:
        raise _length_error()
    return person_bytes(names)


def _length_error() -> InputError:
    return InputError("There must be one user per value. The lengths differ.")
