"""The one door from values to reports, at once or block by block."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veil.core.errors import InputError, ParameterError
from veil.core.rng import Randomness, generator
from veil.dp.local.iterables import is_several
from veil.dp.local.memoise import Memo, check_key, key_for, person_bytes
from veil.dp.local.oracle import Drawing, Oracle, refuse_key
from veil.dp.local.oracles import oracle as named
from veil.dp.local.parts import Array
from veil.dp.local.persons import Persons
from veil.dp.local.reports import Reports as Reports

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
