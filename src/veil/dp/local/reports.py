"""From values to reports, at once or block by block, and what reports cost."""

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


class Persons:
    """Counts the reports of persons, of whom 8 bytes of a hash are kept, never the name.

    Two names with the same hash count as one person: costs are then told too large, not too small.
    """

    def __init__(self) -> None:
        self._hashes: list[Words] = []
        self._values: list[Array] = []

    def add(self, names: Sequence[bytes], values: Array | None = None) -> None:
        """Count one report for each name; values (n,), as an oracle reads them, are told apart."""
        numbers = (octet_hash(name) for name in names)
        self._hashes.append(np.fromiter(numbers, dtype=np.uint64, count=len(names)))
        if values is not None:
            self._values.append(values)

    def counted(self) -> tuple[int, float]:
        """Return the largest number of reports of a person, and the mean of it over reports."""
        _, counts = np.unique(np.concatenate(self._hashes), return_counts=True)
        squares = float((counts.astype(np.float64) ** 2).sum())
        return int(counts.max()), squares / float(counts.sum())

    def different(self) -> int | None:
        """Return the largest number of different values of a person, if values were added."""
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
    """Report each value once, by an oracle or its spec.

    Parameters
    ----------
    values
        Texts, codes from 0, or numbers, as the oracle takes them.
    users
        Whose values they are, texts or whole numbers. The cost then counts the reports of the
        person who has most (with a key, the different values); without them it is that of one
        report.
    key
        32 secret bytes. With them and users, what the oracle can memoise stays the same forever
        (rappor, dbitflip, one_bit); all other oracles refuse it. A key belongs to one question:
        one attribute of a person. The same attribute under two specs, also of one oracle, costs
        both: their bits have nothing in common.
    rng
        None for fresh randomness of the operating system. A seed or a generator makes the reports
        repeatable, which is for experiments: they are marked as seeded and **not private**.
    question
        What is asked, where one key serves several attributes: each has bits of its own.
    """
    desk = Desk(named(oracle), users is not None, key, rng, question)
    drawn = list(desk.drawn(values, users))
    if not drawn:
        raise InputError("There must be at least one value; there is none.")
    data = np.concatenate([block for block, _ in drawn])
    beside = [index for _, index in drawn if index is not None]
    return desk.reports(data, np.concatenate(beside) if beside else None)


def report_blocks(
    values: Values,
    oracle: str | Oracle,
    users: Users | None = None,
    key: bytes | None = None,
    rng: Randomness = None,
    *,
    question: str = "",
) -> Iterator[Reports]:
    """Report values block by block, in bounded memory: the same reports as `report` makes.

    The cost of a block is that of its own reports; those of a person in several blocks add up.
    """
    desk = Desk(named(oracle), users is not None, key, rng, question)
    for data, index in desk.drawn(values, users):
        yield desk.reports(data, index)
        desk.persons = Persons()


@brief()
@dataclass
class Desk:
    """Draws blocks of reports; `persons` counts whose they are."""

    oracle: Oracle
    told: bool  # whose values they are
    key: bytes | None
    rng: Randomness
    question: str = ""
    persons: Persons = field(default_factory=Persons)

    def __post_init__(self) -> None:
        if self.key is not None:
            self.key = check_key(self.key)
            refuse_key(self.oracle)
            if not self.told:
                raise ParameterError("A key needs users: say whose values they are.")
            self.key = key_for(self.key, str(self.oracle), self.question)
        elif self.question:
            raise ParameterError(
                "A question needs a key, whose bits it tells apart; leave it out."
            )
        self._draws: Generator = generator(self.rng)

    def drawn(self, values: Values, users: Users | None) -> Iterator[Drawing]:
        """Yield data and index of blocks whose size depends on the oracle alone."""
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
            raise _not_alike()

    def reports(self, data: Array, index: Array | None) -> Reports:
        """Return reports with what they cost."""
        most, overlap = self.persons.counted() if self.told else (None, 1.0)
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
    """Cut what can be cut, and read what can only be read, into blocks of so many rows."""
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
        raise _not_alike()
    return person_bytes(names)


def _not_alike() -> InputError:
    return InputError("There must be one user for each value; the two differ in length.")
