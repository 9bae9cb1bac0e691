"""Attacks on restricted answers, step by step: why restriction is not enough.

Each function returns the questions and answers in sentences, and the finding of the attacker, who
gets nothing but answers.
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

_SHOWN = 12  # questions that are listed one by one


@dataclass(frozen=True)
class Demonstration:
    """The questions with their answers, and the value that the attacker found, or nan."""

    lines: tuple[str, ...]
    found: float

    def __str__(self) -> str:
        return "\n".join(self.lines)


class _Log:
    """Asks a database, and records its answers."""

    def __init__(self, database: StatisticalDatabase, what: str) -> None:
        self._database, self._what = database, what
        self.lines: list[str] = []

    def __call__(self, mask: Mask) -> float:
        many = int(mask.sum())
        asked = f"The {self._what} of {'all ' if many == len(mask) else ''}{many:,} records"
        try:
            answer = self._database.ask(mask, self._what)
        except RefusedError:
            self.lines.append(f"{asked}: refused")
            raise
        self.lines.append(f"{asked}: {_said(answer)}")
        return answer


def differencing(values: ArrayLike, target: int, min_size: int = 1) -> Demonstration:
    """Ask for all, and for all but one; control of sizes refuses both.

    >>> print(differencing([3, 5, 9], 1))
    The sum of all 3 records: 17
    The sum of 2 records: 12
    Hence record 1 has 5: 2 questions, none of which was about it alone.
    """
    return _single(values, target, min_size, Differencing(target=target))


def tracker(
    values: ArrayLike, target: int, min_size: int = 1, rng: Randomness = None
) -> Demonstration:
    """Get around control of sizes: ask for two halves, and for one padded with the target."""
    return _single(values, target, min_size, Tracker(target=target), rng)


def _single(
    values: ArrayLike,
    target: int,
    min_size: int,
    by: Differencing | Tracker,
    rng: Randomness = None,
) -> Demonstration:
    """Find the value of one record by sums of others."""
    database = StatisticalDatabase(values, min_size=min_size)
    log = _Log(database, "sum")
    found = float(attack(by, log, database.n, rng)[target])
    if math.isfinite(found):
        count = len(log.lines)
        how = "; the last is one half with it" if by.name == "tracker" else ""
        end = f"Hence record {target} has {_said(found)}: {count} questions, none of which was"
        return Demonstration((*log.lines, f"{end} about it alone{how}."), found)
    return Demonstration((*log.lines, f"Nothing follows about record {target}."), found)


def averaging(
    secret: ArrayLike,
    target: int,
    mechanism: str = "geometric(epsilon=0.1)",
    times: int = 1_000,
    rng: Randomness = None,
) -> Demonstration:
    """Ask the same question many times, with fresh noise, and of answers that are kept."""
    bit, draws, noise = bits(secret), generator(rng), named(mechanism)
    ask = NoisyCounts(bit, noise, draws)
    by = Averaging(times=times, target=target)
    fresh = float(attack(by, ask, len(bit), draws)[target])
    kept: dict[bytes, float] = {}

    def once(mask: Mask) -> float:
        return kept.setdefault(mask.tobytes(), ask(mask))

    same = float(attack(by, once, len(bit), draws)[target])
    one, many = noise.guarantee, noise.guarantee.compose(times, noise.guarantee.unit)
    lines = (
        f"Record {target} alone, {times:,} times with fresh noise by {noise}: {fresh:,.2f} on"
        f" average. Hence its secret is {int(fresh >= 0.5)}.",
        f"That is {one} for one answer, and {many} for all of them.",
        f"Where an answer is kept and given again: {same:,.2f} on average, and nothing is learnt"
        " by asking again.",
    )
    return Demonstration(lines, fresh)


def denial(values: ArrayLike, audit: str = "max") -> Demonstration:
    """Ask for the maximum of all, and then without each: a denial tells whose it is.

    >>> print(denial([2, 9, 4]))
    The max of all 3 records: 9
    The max of 2 records: 9
    The max of 2 records: refused
    Without record 1 it is refused. So it is record 1 that has 9: the denial told it.
    """
    if audit not in ("max", "max-simulatable"):
        raise ParameterError("A denial is shown of the audit 'max' or 'max-simulatable'.")
    known = numbers(values)
    if len(known) < 3:
        raise InputError("A denial is shown of at least three records.")
    database = StatisticalDatabase(known, audit=audit)
    log = _Log(database, "max")
    top = float(log(np.ones(database.n, dtype=np.bool_)))
    refused = _without_each(log, database.n, simulatable=audit != "max")
    lines = log.lines[:_SHOWN]
    if len(log.lines) > _SHOWN:
        lines = [*lines[:-1], f"... {len(log.lines) - _SHOWN:,} more ...", log.lines[-1]]
    if audit == "max-simulatable":
        end = (
            f"{len(refused):,} of {database.n:,} are refused, whatever the values are: a denial"
            " tells nothing."
        )
        return Demonstration((*lines, end), math.nan)
    if len(refused) != 1:
        return Demonstration((*lines, "Nothing is refused: several records have it."), math.nan)
    end = (
        f"Without record {refused[0]} it is refused. So it is record {refused[0]} that has"
        f" {_said(top)}: the denial told it."
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
            if not simulatable:  # the denial told it
                break
    return refused


def _said(number: float) -> str:
    return f"{number:,.12g}"
