"""Who rated what: positions of users and items, and values on a scale."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.core.formatting import count_of
from veil.core.types import Floats, Ids

_WHOLE = re.compile(r"-?[1-9][0-9]*|0")


def in_order(ids: Iterable[str]) -> list[str]:
    """Return each id once, sorted.

    >>> in_order(["10", "9", "9"]), in_order(["10", "9", "09"])
    (['9', '10'], ['09', '10', '9'])
    """
    distinct = set(ids)
    if all(_WHOLE.fullmatch(one) for one in distinct):
        return sorted(distinct, key=int)
    return sorted(distinct)


Words = NDArray[np.uint64]
_GOLDEN, _FIRST, _SECOND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)


def mix(words: Words) -> Words:
    """Return SplitMix64 of each word, modulo 2^64."""
    x = words + _GOLDEN
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return np.asarray(x ^ (x >> np.uint64(31)), dtype=np.uint64)


def id_hashes(ids: Sequence[str]) -> Words:
    """Return H(id) (n,): the little-endian BLAKE2b-64 of each id."""
    digests = b"".join(blake2b(one.encode(), digest_size=8).digest() for one in ids)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def pair_hashes(users: Words, items: Words, salt: int) -> Words:
    """Return h(u, i) = mix(H(u) ^ mix(H(i) ^ salt)) of pairs of hashes of ids."""
    return mix(users ^ mix(items ^ np.uint64(salt)))


def top(scores: Floats, k: int) -> tuple[Ids, Floats]:
    """Return positions and scores (n, k) of the best of rows (n, m); -1 and -inf pad.

    >>> top(np.array([[1.0, 3.0, 3.0, -np.inf]]), 4)[0].tolist()
    [[1, 2, 0, -1]]
    """
    least = np.partition(scores, -k, axis=1)[:, -k:].min(axis=1)
    index = np.full((len(scores), k), -1, dtype=np.int64)
    best = np.full((len(scores), k), -np.inf)
    for row, (line, bound) in enumerate(zip(scores, least, strict=True)):
        among = np.flatnonzero((line >= bound) & (line > -np.inf))
        chosen = among[np.argsort(-line[among], kind="stable")[:k]]
        index[row, : len(chosen)], best[row, : len(chosen)] = chosen, line[chosen]
    return index, best


Positions = NDArray[np.int32]
Values = NDArray[np.float64] | NDArray[np.float32]
Scale = tuple[float, float]


@dataclass(frozen=True, eq=False, repr=False)  # a log line shows no id and no rating
class Ratings:
    """Ratings of n users for m items, sorted by user and then by item.

    A rating of 0 is a rating, and not a gap. Nothing here is built by hand: `of_arrays` sorts and
    checks, `veil.ratings.load` reads files.

    Attributes
    ----------
    users, items
        Ids in order: see `veil.ratings.ratings`. A user or an item may have no rating here: both
        parts of a split keep those of the whole.
    user, item
        (N,) positions in `users` and `items`.
    value
        (N,) ratings.
    time
        (N,) seconds since 1970, or None.
    scale
        Lowest and highest rating there can be.
    declared
        Whether somebody said so. A scale that was read off the data is data: no method of which
        differential privacy is proved takes it.
    public
        Whether `items` is a list that anybody may know (True), or has an item because somebody
        rated it (False); None where nobody said.
    """

    users: tuple[str, ...]
    items: tuple[str, ...]
    user: Positions
    item: Positions
    value: Values
    time: NDArray[np.float64] | None
    scale: Scale
    declared: bool
    public: bool | None = None

    def __len__(self) -> int:
        return len(self.user)

    def __repr__(self) -> str:
        return f"Ratings({len(self):,} of {self.n:,} users for {self.m:,} items)"

    @property
    def n(self) -> int:
        """Number of users."""
        return len(self.users)

    @property
    def m(self) -> int:
        """Number of items."""
        return len(self.items)

    @cached_property
    def starts(self) -> Ids:
        """(n + 1,) where the ratings of each user begin; the last is the end."""
        return _starts(self.user, self.n)

    @cached_property
    def order(self) -> Ids:
        """(N,) rows sorted by item and then by user."""
        return np.asarray(np.argsort(self.item, kind="stable"), dtype=np.int64)

    @cached_property
    def item_starts(self) -> Ids:
        """(m + 1,) where the ratings of each item begin in `order`; the last is the end."""
        return np.concatenate([[0], np.cumsum(self.per_item)]).astype(np.int64)

    @property
    def per_user(self) -> Ids:
        """(n,) number of ratings of each user."""
        return np.diff(self.starts)

    @cached_property
    def per_item(self) -> Ids:
        """(m,) number of ratings of each item."""
        return np.bincount(self.item, minlength=self.m).astype(np.int64)

    @cached_property
    def user_positions(self) -> dict[str, int]:
        """Position of each user by id."""
        return {one: position for position, one in enumerate(self.users)}

    @cached_property
    def item_positions(self) -> dict[str, int]:
        """Position of each item by id."""
        return {one: position for position, one in enumerate(self.items)}

    def rows(self, user: int) -> slice:
        """Return where the ratings of a user are."""
        return slice(int(self.starts[user]), int(self.starts[user + 1]))

    def take(self, rows: NDArray[np.bool_] | Ids) -> "Ratings":
        """Return some rows, in order, with users and items of the whole."""
        time = None if self.time is None else self.time[rows]
        return replace(
            self, user=self.user[rows], item=self.item[rows], value=self.value[rows], time=time
        )

    def of_users(self, chosen: Ids) -> "Ratings":
        """Return the ratings of some users (positions, rising), who are renumbered."""
        place = np.full(self.n, -1, dtype=np.int32)
        place[chosen] = np.arange(len(chosen), dtype=np.int32)
        part = self.take(place[self.user] >= 0)
        names = tuple(self.users[one] for one in chosen.tolist())
        return replace(part, users=names, user=place[part.user])

    def like(self, user: Positions, item: Positions, value: Values) -> "Ratings":
        """Return other ratings of the same users and items, sorted; times are left out."""
        order = np.lexsort((item, user))
        return replace(self, user=user[order], item=item[order], value=value[order], time=None)


def of_arrays(
    users: Sequence[str],
    items: Sequence[str],
    user: NDArray[np.integer],
    item: NDArray[np.integer],
    value: NDArray[np.floating],
    time: NDArray[np.floating] | None = None,
    scale: Scale | None = None,
    public: bool | None = None,
) -> Ratings:
    """Sort and check ratings whose users and items are positions in lists of ids in order.

    A duplicate, a value that is not finite or outside the scale raises, by the number of rows or
    by the row, never by an id.
    """
    if not len(user):
        raise InputError("There is no rating; hand in at least one.")
    _check_values(value, scale)
    order = np.lexsort((item, user))
    user, item, value = user[order], item[order], value[order]
    same = int(((user[1:] == user[:-1]) & (item[1:] == item[:-1])).sum())
    if same:
        raise InputError(
            f"A user rates an item once; {count_of(same, 'row')} too many: keep one of each user"
            " and item."
        )
    found = (float(value.min()), float(value.max())) if scale is None else scale
    return Ratings(
        tuple(users),
        tuple(items),
        user.astype(np.int32),
        item.astype(np.int32),
        value if value.dtype == np.float32 else value.astype(np.float64),
        None if time is None else time[order].astype(np.float64),
        (float(found[0]), float(found[1])),
        scale is not None,
        public,
    )


def _check_values(value: NDArray[np.floating], scale: Scale | None) -> None:
    if scale is not None:
        check_scale(scale)
    wrong = ~np.isfinite(value)
    if scale is not None:
        wrong |= (value < scale[0]) | (value > scale[1])
    if wrong.any():
        row, within = int(np.argmax(wrong)) + 1, "" if scale is None else " within the scale"
        raise InputError(
            f"Row {row:,} has a rating that is no finite number{within}; repair or leave it out."
        )


def check_scale(scale: Scale) -> None:
    """Raise if a scale is not two finite numbers that rise."""
    try:
        low, high = scale
        numbers = all(
            isinstance(one, int | float | np.number) and not isinstance(one, bool)
            for one in (low, high)
        )
        right = numbers and -math.inf < float(low) < float(high) < math.inf
    except (TypeError, ValueError, OverflowError):
        right = False
    if not right:
        raise InputError("A scale has a lowest and a higher highest rating, both finite.")


def _starts(user: Positions, n: int) -> Ids:
    return np.searchsorted(user, np.arange(n + 1)).astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Likes:
    """Likes of n users for m items: `liked` in order of users, `likers` in order of items.

    `by_user` (n + 1,) and `by_item` (m + 1,) say where those of each begin.
    """

    by_user: Ids
    liked: Positions
    by_item: Ids
    likers: Positions

    @classmethod
    def of(cls, train: Ratings, positive: float) -> "Likes":
        """Take the ratings >= `positive`."""
        rows = train.value >= positive
        user, item = train.user[rows], train.item[rows]
        order = np.argsort(item, kind="stable")
        return cls(starts(user, train.n), item, starts(item, train.m), user[order])

    @property
    def per_user(self) -> Ids:
        """(n,) number of likes of each user."""
        return np.diff(self.by_user)

    @property
    def per_item(self) -> Ids:
        """(m,) number of likes of each item."""
        return np.diff(self.by_item)


def starts(positions: Positions, size: int) -> Ids:
    """Return (size + 1,) where rows of each position would begin if they were sorted."""
    counts = np.bincount(positions, minlength=size)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def spread(begin: Ids, end: Ids) -> tuple[Ids, Ids]:
    """Return the places begin..end-1 of all ranges in a row, and the range each belongs to.

    >>> [part.tolist() for part in spread(np.array([3, 9]), np.array([5, 10]))]
    [[3, 4, 9], [0, 0, 1]]
    """
    sizes = end - begin
    owner = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    offset = np.arange(len(owner), dtype=np.int64) - (np.cumsum(sizes) - sizes)[owner]
    return begin[owner] + offset, owner


Spread = tuple[int, float, int]


@dataclass(frozen=True)
class Description:
    """Sizes; the share of pairs that are rated; ratings per user and item: least, median, most."""

    ratings: int
    users: int
    items: int
    filled: float
    scale: Scale
    declared: bool
    mean: float
    levels: int
    per_user: Spread
    per_item: Spread
    timed: bool


def describe(data: Ratings) -> Description:
    """Count ratings, users and items."""
    return Description(
        ratings=len(data),
        users=data.n,
        items=data.m,
        filled=len(data) / (data.n * data.m),
        scale=data.scale,
        declared=data.declared,
        mean=float(np.mean(data.value, dtype=np.float64)),
        levels=len(np.unique(data.value)),
        per_user=_spread(data.per_user),
        per_item=_spread(data.per_item),
        timed=data.time is not None,
    )


def _spread(counts: Ids) -> Spread:
    return int(counts.min()), float(np.median(counts)), int(counts.max())
