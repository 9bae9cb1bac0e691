r"""Noisy counts of units by key.

Each unit counts once for at most `max_groups` of its keys, chosen uniformly. If the keys are
public, all of them are released, including keys that nobody has, with discrete Laplace noise of
scale max_groups/epsilon. Otherwise the existence of a key is secret, too: a key is released only
if its noisy number of units is at least tau, so a key that only one unit has is released with
probability at most delta.

Equal values are released in one canonical form (`canonical_key`), because the form in the first
row would reveal that record.

References
----------
Korolova, Kenthapadi, Mishra, Ntoulas. Releasing Search Queries and Clicks Privately. WWW 2009.
doi:10.1145/1526709.1526733
Desfontaines, Voss, Gipson, Mandayam. Differentially Private Partition Selection. PoPETs 2022,
Theorem 1. doi:10.2478/popets-2022-0032
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Literal
from uuid import UUID

import numpy as np
from numpy.random import Generator

from veil.core.errors import InputError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.rng import Randomness, generator
from veil.core.types import Ids
from veil.dp.calibration import partition_chances, threshold
from veil.dp.exact.coins import coins
from veil.dp.exact.samplers import discrete_laplace
from veil.dp.inputs import count, positive, share
from veil.dp.mechanism import ADD_REMOVE, REPLACED

Select = Literal["threshold", "optimal"]
_EACH = "Every row counts as a separate unit: a person with several rows is less protected."
_NOBODY = (None, "")  # a missing unit
_SETTLED = 100_000  # units at which the list of selection probabilities must have ended
_DIGITS = 10_000  # of a decimal
_NAN = "Values, keys and units must not be nan. Remove those rows."
_KINDS = (
    "Values, keys and units must be numbers, strings, bytes, dates, times, or tuples of these."
    " Convert other types to strings."
)


@dataclass(frozen=True, eq=False)
class Histogram:
    """Noisy numbers of units by key, in the order of the keys.

    `threshold` is tau; None if the keys are public or optimal selection was used.
    """

    counts: Mapping[Any, int]
    threshold: int | None
    cost: Guarantee
    mechanism: str
    seeded: bool


def histogram(
    values: Iterable[Hashable],
    epsilon: float,
    delta: float = 0.0,
    keys: Sequence[Hashable] | None = None,
    units: Iterable[Hashable] | None = None,
    max_groups: int = 1,
    rng: Randomness = None,
    *,
    select: Select = "threshold",
) -> Histogram:
    """Release noisy counts of the units of each key.

    Parameters
    ----------
    values
        The key of each row. Equal keys are released in one form (`canonical_key`).
    epsilon, delta
        Cost of the whole histogram; delta must be positive unless the keys are public.
    keys
        All keys, if they are public: every key is released, and other values are not counted. None
        if the existence of a key is secret.
    units
        The unit of each row. Without it, every row is a unit.
    max_groups
        Maximum number of keys that a unit counts for.
    select
        How to select keys that are not public: by a "threshold" on the noisy count, or "optimal",
        which releases rare keys as often as any selection can, and spends half of epsilon and all
        of delta on the selection.

    Examples
    --------
    >>> histogram(["a", "b", "a"], 1e6, keys=["a", "b", "c"], rng=1).counts
    {'a': 2, 'b': 1, 'c': 0}
    """
    epsilon, delta = positive("epsilon", epsilon), share("delta", delta, zero=True)
    max_groups = count("max_groups", max_groups)
    listed = None if keys is None else [] if isinstance(keys, str) else list(keys)
    _check(delta, listed, select)
    draws = generator(rng)
    names, counts = _counted(values, units, listed, max_groups, draws)
    whose = "record" if units is None else "person"
    cost = Guarantee(
        "dp",
        float(epsilon),
        unit=whose,
        delta=0.0 if keys is not None else delta,
        neighbours=ADD_REMOVE if units is None else "add or remove one person with all rows",
        caveat=REPLACED if units is not None else f"{_EACH} {REPLACED}",
    )
    scale = Fraction(max_groups) / Fraction(epsilon)
    tau = None
    if keys is not None:
        method, shown = "public keys", np.ones(len(names), dtype=np.bool_)
    elif select == "optimal":
        scale *= 2  # half of epsilon selects, half counts
        method, shown = (
            "optimal selection",
            _selected(counts, epsilon / 2, delta, max_groups, draws),
        )
    else:
        method, tau = "threshold", threshold(epsilon, delta, max_groups)
    noisy = counts + discrete_laplace(scale, len(counts), draws)
    if tau is not None:
        shown = noisy >= tau
    released = {names[i]: int(noisy[i]) for i in np.flatnonzero(shown)}
    spec = f"histogram(epsilon={float(epsilon)!r}, max_groups={int(max_groups)}): {method}"
    return Histogram(released, tau, cost, spec, rng is not None)


def _check(delta: float, keys: Sequence[Hashable] | None, select: str) -> None:
    if select not in ("threshold", "optimal"):
        raise ParameterError("The 'select' argument must be 'threshold' or 'optimal'.")
    if keys is None and delta == 0:
        raise ParameterError(
            "The 'delta' argument must be > 0 if keys are not public, because the existence of a"
            " key is also secret. Set 'delta', or pass all public 'keys'."
        )
    if keys is not None and not keys:
        raise ParameterError("The 'keys' argument must be a list with at least one key, or None.")


def _counted(
    values: Iterable[Hashable],
    units: Iterable[Hashable] | None,
    keys: Sequence[Hashable] | None,
    max_groups: int,
    rng: Generator,
) -> tuple[list[Hashable], Ids]:
    """Return the keys in canonical order, and their numbers of units after bounding each unit."""
    codes, names = _coded(values)
    persons = np.arange(len(codes))
    if units is not None:
        persons, distinct = _coded(units)
        if any(unit in _NOBODY for unit in distinct):
            raise InputError(
                "Units must not be missing: rows of several people would be protected like those"
                " of one person. Remove those rows."
            )
        if len(persons) != len(codes):
            raise InputError("There must be one unit per value.")
    listed = list(dict.fromkeys(map(canonical_key, keys))) if keys is not None else names
    place = {name: i for i, name in enumerate(_ordered(listed))}
    at = np.array([place.get(name, -1) for name in names], dtype=np.int64)[codes]
    at, persons = at[at >= 0], persons[at >= 0]
    if units is not None:
        at = _bounded(at, persons, len(place), max_groups, rng)
    return list(place), np.bincount(at, minlength=len(place)).astype(np.int64)


def _bounded(at: Ids, persons: Ids, keys: int, most: int, rng: Generator) -> Ids:
    """Return at most `most` distinct keys of each unit, chosen uniformly."""
    pairs = np.unique(persons * keys + at)  # sorted: the order of the rows must not matter
    pairs = pairs[rng.permutation(len(pairs))]
    order = np.argsort(pairs // keys, kind="stable")
    whose = (pairs // keys)[order]
    first = np.searchsorted(whose, whose, side="left")
    bounded: Ids = pairs[order[np.arange(len(order)) - first < most]] % keys
    return bounded


def _selected(
    counts: Ids, epsilon: float, delta: float, max_groups: int, rng: Generator
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which keys optimal selection releases, with one coin per key."""
    share = Fraction(delta) / max_groups  # at most 1 - (1 - delta)^(1 / max_groups)
    chances = partition_chances(_below(epsilon / max_groups), _below(float(share)), _SETTLED)
    shown = np.zeros(len(counts), dtype=np.bool_)
    sizes = np.minimum(counts, len(chances) - 1)
    for size in np.unique(sizes):  # keys with equally many units have the same probability
        alike = np.flatnonzero(sizes == size)
        shown[alike] = coins(chances[size], len(alike), rng)
    return shown


def _below(value: float) -> float:
    """Return a float that is at most every real number that rounds to `value`."""
    return math.nextafter(value, 0.0)


def _coded(values: Iterable[Hashable]) -> tuple[Ids, list[Hashable]]:
    """Return an integer code for each value, and the distinct values in order of appearance."""
    if isinstance(values, str) or getattr(values, "ndim", 1) != 1:
        raise InputError("Values, keys and units must be lists, not strings or matrices.")
    place: dict[Hashable, int] = {}
    try:
        codes = [place.setdefault(canonical_key(value), len(place)) for value in values]
    except TypeError:
        raise InputError(_KINDS) from None
    return np.array(codes, dtype=np.int64), list(place)


def canonical_key(value: Hashable) -> Hashable:
    """Return the same object form for all equal values, so that a key reveals no single row.

    A number of any type becomes an int, float, Decimal or Fraction: the first of these that is
    exact. Times with a zone become UTC, and tuples are converted element by element. Other objects
    are rejected, because equal ones may still look different.

    >>> from decimal import Decimal
    >>> canonical_key((True, Decimal("1.50"), Decimal("0.10")))
    (1, 1.5, Decimal('0.1'))
    """
    if isinstance(value, np.generic):
        value = _python(value)
    if type(value) is str or type(value) is int:  # the usual types
        return value
    if value is None or isinstance(value, UUID | IPv4Address | IPv6Address):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bytes):
        return bytes(value)
    if isinstance(value, Enum) and not isinstance(value, int | float):
        return value
    if isinstance(value, tuple):
        return tuple(map(canonical_key, value))
    if isinstance(value, frozenset):
        return frozenset(
            _ordered(map(canonical_key, value))
        )  # the print order of a set depends on its history
    if isinstance(value, date | time | timedelta):
        return _canonical_time(value)
    if isinstance(value, int | float | complex | Decimal | Fraction):
        return _canonical_number(value)
    raise InputError(_KINDS)


def _python(value: np.generic) -> Any:  # noqa: ANN401 - of any type
    """Return a NumPy value as a Python object; times are truncated to microseconds."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        if np.isnat(value):
            raise InputError(_NAN)
        unit = np.datetime_data(value.dtype)[0]
        if unit in ("ns", "ps", "fs", "as"):
            value = value.astype(f"{value.dtype.kind}8[us]")
    native = value.item()
    if isinstance(native, np.generic):  # a long double
        raise InputError(_KINDS)
    return native


def _canonical_number(value: complex | Decimal | Fraction) -> Hashable:
    """Return the first of int, float, Decimal and Fraction that is exact."""
    if isinstance(value, complex) and not isinstance(value, float):
        if value.imag == 0:
            return _canonical_number(value.real)
        if value != value:
            raise InputError(_NAN)
        return complex(value.real + 0.0, value.imag + 0.0)  # -0.0 is 0.0
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Decimal) and not value.is_finite():  # treat inf like a float
        value = math.nan if value.is_nan() else math.inf if value > 0 else -math.inf
    if isinstance(value, float):
        if math.isnan(value):
            raise InputError(_NAN)
        return int(value) if value.is_integer() else float(value)
    if isinstance(value, Decimal) and value and abs(value.adjusted()) > _DIGITS:
        raise InputError(f"Values and keys must be numbers of at most {_DIGITS:,} digits.")
    exact = Fraction(value)
    if exact.denominator == 1:
        return exact.numerator
    with suppress(OverflowError):
        if Fraction(near := exact.numerator / exact.denominator) == exact:
            return near
    return _decimal(exact)


def _decimal(exact: Fraction) -> Decimal | Fraction:
    """Return a fraction as a decimal without trailing zeros, if it is one."""
    rest, powers = exact.denominator, {2: 0, 5: 0}
    for prime in powers:
        while rest % prime == 0:
            rest //= prime
            powers[prime] += 1
    if rest != 1:
        return exact
    places = max(powers.values())
    digits = abs(exact.numerator) * 10**places // exact.denominator
    numbers = tuple(map(int, Decimal(digits).as_tuple().digits))
    return Decimal((int(exact < 0), numbers, -places))  # independent of the decimal context


def _canonical_time(value: date | time | timedelta) -> Hashable:
    """Return a date, time or duration as a plain Python object, in UTC if it has a zone."""
    if value != value:  # NaT of pandas
        raise InputError(_NAN)
    if isinstance(value, timedelta):
        return timedelta(value.days, value.seconds, value.microseconds)
    if not isinstance(value, datetime | time):
        return date(value.year, value.month, value.day)
    clock = (value.hour, value.minute, value.second, value.microsecond)
    zone = value.utcoffset()
    day = value if isinstance(value, datetime) else date(2000, 1, 2)
    try:
        at = datetime(day.year, day.month, day.day, *clock, tzinfo=None if zone is None else UTC)
        at -= zone or timedelta(0)
    except OverflowError:
        raise InputError("Times must be in the years 1 to 9999 in UTC.") from None
    return at if isinstance(value, datetime) else at.timetz()


def _ordered(keys: Iterable[Hashable]) -> list[Hashable]:
    """Sort keys by type and value, never by their order in the data."""

    def rank(key: Any) -> tuple[str, Any]:  # noqa: ANN401 - keys of any kind
        if isinstance(key, int | float | Decimal | Fraction):
            return ("", key)
        if isinstance(key, date | time):
            return (type(key).__name__, key.isoformat())
        return (type(key).__name__, key if isinstance(key, str) else repr(key))

    return sorted(keys, key=rank)
