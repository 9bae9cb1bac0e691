"""Attacks on restricted answers, step by step: why restrictions are not enough.

Each function returns the questions and answers as sentences, and what the attacker concludes from
the answers only.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from veil.core.errors import InputError, ParameterError, RefusedError
from veil.core.rng import Randomness, generator
from veil.dp.attack import Mask, NoisyCounts, attack, bits
from veil.dp.attacks.differencing import Averaging, Differencing, Tracker
from veil.dp.mechanisms import mechanism as named
from veil.dp.restricted import StatisticalDatabase, numbers

_SHOWN = 12  # questions listed one by one


@dataclass(frozen=True)
class Demonstration:
    """The questions with their answers, and the value that the attacker inferred, or nan."""

    lines: tuple[str, ...]
    value: float

    def __str__(self) -> str:
        return "\n".join(self.lines)


class _Log:
    """Asks a database, and records its answers."""

    def __init__(self, database: StatisticalDatabase, what: str) -> None:
        self._database, self._what = database, what
        self.lines: list[str] = []

    def __call__(self, mask: Mask) -> float:
        many = int(mask.sum())
        question = f"The {self._what} of {'all ' if many == len(mask) else ''}{many:,} records"
        try:
            answer = self._database.ask(mask, self._what)
        except RefusedError:
            self.lines.append(f"{question}: refused")
            raise
        self.lines.append(f"{question}: {_format(answer)}")
        return answer


def differencing(values: ArrayLike, target: int, min_size: int = 1) -> Demonstration:
    """Ask about all records, and all but one; size control refuses both.

    >>> print(differencing([3, 5, 9], 1))
    The sum of all 3 records: 17
    The sum of 2 records: 12
    So record 1 has 5, after 2 questions, none about it alone.
    """
    return _single(values, target, min_size, Differencing(target=target))


def tracker(
    values: ArrayLike, target: int, min_size: int = 1, rng: Randomness = None
) -> Demonstration:
    """Defeat size control: ask about two halves, and one of them padded with the target."""
    return _single(values, target, min_size, Tracker(target=target), rng)


def _single(
    values: ArrayLike,
    target: int,
    min_size: int,
    by: Differencing | Tracker,
    rng: Randomness = None,
) -> Demonstration:
    """Infer the value of one record from sums of larger sets."""
    database = StatisticalDatabase(values, min_size=min_size)
    log = _Log(database, "sum")
    value = float(attack(by, log, database.n, rng)[target])
    if math.isfinite(value):
        count = len(log.lines)
        how = "; the last is one half plus the record" if by.name == "tracker" else ""
        end = f"So record {target} has {_format(value)}, after {count} questions, none"
        return Demonstration((*log.lines, f"{end} about it alone{how}."), value)
    return Demonstration((*log.lines, f"Nothing follows about record {target}."), value)


def averaging(
    secret: ArrayLike,
    target: int,
    mechanism: str = "geometric(epsilon=0.1)",
    times: int = 1_000,
    rng: Randomness = None,
) -> Demonstration:
    """Ask the same question many times: with fresh noise, and with a reused answer."""
    bit, draws, noise = bits(secret), generator(rng), named(mechanism)
    ask = NoisyCounts(bit, noise, draws)
    by = Averaging(times=times, target=target)
    fresh = float(attack(by, ask, len(bit), draws)[target])
    cache: dict[bytes, float] = {}

    def once(mask: Mask) -> float:
        return cache.setdefault(mask.tobytes(), ask(mask))

    same = float(attack(by, once, len(bit), draws)[target])
    single, many = noise.guarantee, noise.guarantee.compose(times, noise.guarantee.unit)
    lines = (
        f"Record {target} alone, {times:,} times with fresh noise by {noise}: {fresh:,.2f} on"
        f" average. So its secret is {int(fresh >= 0.5)}.",
        f"One answer has {single}; all of them have {many}.",
        f"If the first answer is reused: {same:,.2f} on average, and asking again reveals nothing"
        " more.",
    )
    return Demonstration(lines, fresh)


def denial(values: ArrayLike, audit: str = "max") -> Demonstration:
    """Ask for the maximum of all, then without each record: a denial reveals whose it is.

    >>> print(denial([2, 9, 4]))
    The max of all 3 records: 9
    The max of 2 records: 9
    The max of 2 records: refused
    Without record 1 it is refused, so record 1 has 9: the denial revealed it.
    """
    if audit not in ("max", "max-simulatable"):
        raise ParameterError("The audit of denial must be 'max' or 'max-simulatable'.")
    records = numbers(values)
    if len(records) < 3:
        raise InputError("The attack denial needs at least three records.")
    database = StatisticalDatabase(records, audit=audit)
    log = _Log(database, "max")
    top = float(log(np.ones(database.n, dtype=np.bool_)))
    refused = _without_each(log, database.n, simulatable=audit != "max")
    lines = log.lines[:_SHOWN]
    if len(log.lines) > _SHOWN:
        lines = [*lines[:-1], f"... {len(log.lines) - _SHOWN:,} more ...", log.lines[-1]]
    if audit == "max-simulatable":
        end = (
            f"{len(refused):,} of {database.n:,} are refused, regardless of the values: a denial"
            " reveals nothing."
        )
        return Demonstration((*lines, end), math.nan)
    if len(refused) != 1:
        return Demonstration(
            (*lines, "Nothing is refused: several records have the maximum."), math.nan
        )
    end = (
        f"Without record {refused[0]} it is refused, so record {refused[0]} has {_format(top)}:"
        " the denial revealed it."
    )
    return Demonstration((*lines, end), top)


def _without_each(log: _Log, n: int, *, simulatable: bool) -> list[int]:
    """Ask for the maximum without each record, and return those for which it is refused."""
    refused = []
    for at in range(n):
        try:
            log(np.arange(n) != at)
        except RefusedError:
            refused.append(at)
            if not simulatable:  # the denial revealed it
                break
    return refused


def _format(number: float) -> str:
    return f"{number:,.12g}"
