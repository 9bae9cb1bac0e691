"""Points on a map, and traces of moving users."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats, Ids
from veil.places.crs import check_crs, quarter, row_numbers

Texts = NDArray[np.str_]
FARTHEST = 1e9  # in the unit of the code


@dataclass(frozen=True, eq=False)
class Points:
    """Places of n subjects, with optional ids, weights, times and users, all checked.

    Attributes
    ----------
    xy
        (n, 2) float64: metres, longitude and latitude in degrees, or coordinates of `crs`.
    crs
        None for a plane in metres, else a code such as ``EPSG:4326``.
    ids
        (n,) distinct texts, or None.
    weights
        (n,) numbers of people at each place, or None for one each. They must be at least 0, and
        not all 0.
    times
        (n,) seconds, or ISO 8601 texts (GMT without a zone), stored as seconds since 1970.
    users
        (n,) texts, the user of each fix of a trace, or None.
    columns
        Other columns of a file, by name. `veil.places.save` writes only those in `keep`, and no
        message shows them.
    """

    xy: Floats
    crs: str | None = None
    ids: Texts | None = None
    weights: Floats | None = None
    times: Floats | None = None
    users: Texts | None = None
    columns: Mapping[str, Sequence[object]] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        xy = _floats(self.xy, "coordinates")
        if xy.ndim != 2 or xy.shape[1] != 2:
            raise InputError("Points must be rows of two numbers. Pass an array (n, 2).")
        if not len(xy):
            raise InputError("There must be at least one point. Got none.")
        object.__setattr__(self, "crs", check_crs(self.crs))
        object.__setattr__(self, "xy", check_coordinates(xy, self.crs))
        for name in _CHECKS:
            if (values := getattr(self, name)) is not None:
                object.__setattr__(self, name, check_values(name, values, len(xy)))
        for values in self.columns.values():
            _same_length(len(values), len(xy), "columns")

    def __len__(self) -> int:
        return len(self.xy)

    def __repr__(self) -> str:  # a log line shows no coordinate
        return f"Points({len(self):,} rows, crs={self.crs!r})"

    def take(self, rows: NDArray[Any]) -> "Points":
        """Return the points at some rows, given by positions or by a mask (n,)."""
        at = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        attributes = {
            name: None if (values := getattr(self, name)) is None else values[at]
            for name in ("ids", "weights", "times", "users")
        }
        columns = {name: [values[int(i)] for i in at] for name, values in self.columns.items()}
        return Points(self.xy[at], self.crs, **attributes, columns=columns)


def check_values(name: str, values: ArrayLike, n: int) -> NDArray[Any]:
    """Return the ids, weights, times or users of n points as a checked array, or raise."""
    array: NDArray[Any] = _CHECKS[name](values, n)
    return array


def check_coordinates(xy: Floats, crs: str | None) -> Floats:
    """Return a read-only copy, or raise with the rows that are not valid coordinates."""
    bad = np.flatnonzero(~np.isfinite(xy).all(axis=1))
    if len(bad):
        raise InputError(f"{row_numbers(bad)} must be finite numbers. Repair or remove them.")
    far = np.flatnonzero(np.abs(xy).max(axis=1) > FARTHEST)
    if len(far):  # a number without digits left for metres would not move
        raise InputError(f"{row_numbers(far)} must be within 1,000,000 km of 0. Check the units.")
    right = quarter(crs)
    if right is not None:
        _check_degrees(xy, right)
    copy = xy.copy()
    copy.flags.writeable = False
    return copy


def _check_degrees(xy: Floats, right: float) -> None:
    """Check angles in the unit in which a right angle is `right`."""
    unit = "degrees" if right == 90 else "the unit of the code"
    wide = np.flatnonzero(np.abs(xy[:, 1]) > right)
    if len(wide):
        raise InputError(
            f"{row_numbers(wide)} must have a latitude (y) from -{right:g} to {right:g}, in"
            f" {unit}. Are longitude (x) and latitude swapped? In an array longitude comes first."
        )
    far = np.flatnonzero(np.abs(xy[:, 0]) > 2 * right)
    if len(far):
        raise InputError(
            f"{row_numbers(far)} must have a longitude (x) from -{2 * right:g} to {2 * right:g},"
            f" in {unit}."
        )


def _floats(values: ArrayLike, noun: str) -> Floats:
    try:
        array = np.asarray(values)
        floats = None if array.dtype.kind == "c" else array.astype(np.float64)
    except (TypeError, ValueError):
        floats = None
    if floats is None:
        raise InputError(f"The {noun} must be numbers, with as many in each row. Repair them.")
    return floats


def _same_length(length: int, n: int, noun: str) -> None:
    if length != n:
        raise InputError(f"There must be {n:,} {noun}, one per point. Got {length:,} instead.")


def _texts(values: ArrayLike, n: int, noun: str) -> Texts:
    texts = np.asarray(values).astype(str)
    _same_length(len(texts) if texts.ndim == 1 else 0, n, noun)
    return texts


def _users(values: ArrayLike, n: int) -> Texts:
    users = _texts(values, n, "users")
    entries = np.asarray(values, dtype=object)
    missing = np.flatnonzero(
        [value is None or value != value or not str(value).strip() for value in entries]
    )
    if len(missing):
        raise InputError(f"{row_numbers(missing)} must have a user. Add it, or remove them.")
    return users


def _ids(values: ArrayLike, n: int) -> Texts:
    ids = _texts(values, n, "ids")
    _, first = np.unique(ids, return_index=True)
    again = np.setdiff1d(np.arange(len(ids)), first)
    if len(again):
        raise InputError(
            f"{row_numbers(again)} must not repeat the id of an earlier row. Make ids unique."
        )
    return ids


def _weights(values: ArrayLike, n: int) -> Floats:
    weights = _numbers(values)
    _same_length(len(weights) if weights.ndim == 1 else 0, n, "weights")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise InputError(
            f"{row_numbers(bad)} must have a weight that is finite and not below 0. Correct it."
        )
    if not weights.any():
        raise InputError("At least one weight must be above 0. All are 0.")
    return weights


def _numbers(values: ArrayLike) -> Floats:
    """Return values as numbers, nan for those that are not numbers."""

    def number(value: object) -> float:
        try:
            return float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return np.nan

    try:
        return _floats(values, "weights")
    except InputError:
        listed = np.asarray(values, dtype=object)
        if listed.ndim != 1:
            raise
        return np.array([number(value) for value in listed], dtype=np.float64)


def _times(values: ArrayLike, n: int) -> Floats:
    """Return seconds since 1970 from numbers or ISO 8601 texts."""
    times = np.asarray(values)
    _same_length(len(times) if times.ndim == 1 else 0, n, "times")
    if times.dtype.kind == "M":
        moments = times.astype("datetime64[us]")
        seconds = np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / 1e6)
    else:
        try:
            seconds = times.astype(np.float64)
        except (TypeError, ValueError):
            seconds = _parsed(times)
    bad = np.flatnonzero(~np.isfinite(seconds))
    if len(bad):
        raise InputError(
            f"{row_numbers(bad)} must have a time in seconds, or such as 2008-10-23T02:53:04."
        )
    return seconds


def _parsed(times: NDArray[Any]) -> Floats:
    def seconds(text: object) -> float:
        try:
            moment = datetime.fromisoformat(str(text).strip())
        except ValueError:
            return np.nan
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()

    return np.array([seconds(text) for text in times], dtype=np.float64)


_CHECKS: dict[str, Callable[[Any, int], Any]] = {
    "ids": _ids,
    "weights": _weights,
    "times": _times,
    "users": _users,
}


def trails(points: Points) -> Iterator[Ids]:
    """Yield the rows of each user, in the order of time, then of rows.

    Without users, each row is a separate user.
    """
    if points.users is None:
        yield from np.arange(len(points))[:, None]
        return
    times = np.zeros(len(points)) if points.times is None else points.times
    order = np.lexsort([np.arange(len(points)), times, points.users])
    changes = np.flatnonzero(points.users[order][1:] != points.users[order][:-1]) + 1
    yield from np.split(order, changes)


def most_fixes(points: Points) -> int:
    """Return the largest number of fixes of a user."""
    if points.users is None:
        return 1
    return int(np.unique(points.users, return_counts=True)[1].max())


def thin(points: Points, seconds: float) -> Points:
    """Return a trace thinned to fixes of each user that are at least `seconds` apart.

    The first fix of each user stays, and the order of rows does not change. Dropped fixes are not
    released and cost nothing. Protect the result, and use it as the original in comparisons.
    """
    if not (seconds > 0 and math.isfinite(seconds)):
        raise ParameterError(f"The 'seconds' argument must be above 0. Got {seconds!r} instead.")
    if points.users is None or points.times is None:
        raise InputError("A trace to be thinned must have users and times. Pass both.")
    mask = np.zeros(len(points), dtype=np.bool_)
    for rows in trails(points):
        times, at = points.times[rows], 0
        while at < len(rows):
            mask[rows[at]] = True
            at = int(np.searchsorted(times, times[at] + seconds, side="left"))
    return points.take(mask)
