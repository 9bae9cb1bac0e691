"""Ratings: positions of users and items, and values on a scale."""

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
    if all(_WHOLE.fullmatch(name) for name in distinct):
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
    digests = b"".join(blake2b(name.encode(), digest_size=8).digest() for name in ids)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def pair_hashes(users: Words, items: Words, salt: int) -> Words:
    """Return h(u, i) = mix(H(u) ^ mix(H(i) ^ salt)) for pairs of id hashes."""
    return mix(users ^ mix(items ^ np.uint64(salt)))


def top(scores: Floats, k: int) -> tuple[Ids, Floats]:
    """Return positions and scores (n, k) of the k best in each row, padded with -1 and -inf.

    >>> top(np.array([[1.0, 3.0, 3.0, -np.inf]]), 4)[0].tolist()
    [[1, 2, 0, -1]]
    """
    least = np.partition(scores, -k, axis=1)[:, -k:].min(axis=1)
    index = np.full((len(scores), k), -1, dtype=np.int64)
    best = np.full((len(scores), k), -np.inf)
    for row, (line, bound) in enumerate(zip(scores, least, strict=True)):
        among = np.flatnonzero((line >= bound) & (line > -np.inf))
        order = among[np.argsort(-line[among], kind="stable")[:k]]
        index[row, : len(order)], best[row, : len(order)] = order, line[order]
    return index, best


Positions = NDArray[np.int32]
Values = NDArray[np.float64] | NDArray[np.float32]
Scale = tuple[float, float]


@dataclass(frozen=True, eq=False, repr=False)  # keeps ids and ratings out of logs
class Ratings:
    """Ratings of n users for m items, sorted by user and then by item.

    A rating of 0 is a rating, not a missing one. Construct it with `of_arrays`, which sorts and
    checks, or with `veil.ratings.load` from files.

    Attributes
    ----------
    users, items
        Sorted ids (see `in_order`). Users and items without ratings are allowed: both parts of a
        split keep all users and items.
    user, item
        (N,) positions in `users` and `items`.
    value
        (N,) ratings.
    time
        (N,) seconds since 1970, or None.
    scale
        Lowest and highest possible rating.
    declared
        Whether the user declared the scale. An observed scale is private data, so no
        differentially private mechanism accepts it.
    public
        True if `items` is a public list, False if an item is listed because a user rated it, None
        if not declared.
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
        """(n + 1,) start of the ratings of each user; the last is the end."""
        return _starts(self.user, self.n)

    @cached_property
    def order(self) -> Ids:
        """(N,) rows sorted by item and then by user."""
        return np.asarray(np.argsort(self.item, kind="stable"), dtype=np.int64)

    @cached_property
    def item_starts(self) -> Ids:
        """(m + 1,) start of the ratings of each item in `order`; the last is the end."""
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
        return {name: position for position, name in enumerate(self.users)}

    @cached_property
    def item_positions(self) -> dict[str, int]:
        """Position of each item by id."""
        return {name: position for position, name in enumerate(self.items)}

    def rows(self, user: int) -> slice:
        """Return the rows of a user's ratings."""
        return slice(int(self.starts[user]), int(self.starts[user + 1]))

    def take(self, rows: NDArray[np.bool_] | Ids) -> "Ratings":
        """Return some rows, in order, with all users and items."""
        time = None if self.time is None else self.time[rows]
        return replace(
            self, user=self.user[rows], item=self.item[rows], value=self.value[rows], time=time
        )

    def of_users(self, subset: Ids) -> "Ratings":
        """Return the ratings of some users (sorted positions), and renumber the users."""
        place = np.full(self.n, -1, dtype=np.int32)
        place[subset] = np.arange(len(subset), dtype=np.int32)
        part = self.take(place[self.user] >= 0)
        names = tuple(self.users[user] for user in subset.tolist())
        return replace(part, users=names, user=place[part.user])

    def like(self, user: Positions, item: Positions, value: Values) -> "Ratings":
        """Return other ratings of the same users and items, sorted and without times."""
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
    """Return sorted and checked ratings from positions in sorted lists of ids.

    Duplicates raise, and so do values that are not finite or not on the scale. Errors name the
    row or the number of rows, never an id.
    """
    if not len(user):
        raise InputError("There are no ratings. Pass at least one.")
    _check_values(value, scale)
    order = np.lexsort((item, user))
    user, item, value = user[order], item[order], value[order]
    same = int(((user[1:] == user[:-1]) & (item[1:] == item[:-1])).sum())
    if same:
        raise InputError(
            f"A user can rate an item only once. Got {count_of(same, 'row')} too many. Keep one of"
            " each user and item."
        )
    bounds = (float(value.min()), float(value.max())) if scale is None else scale
    return Ratings(
        tuple(users),
        tuple(items),
        user.astype(np.int32),
        item.astype(np.int32),
        value if value.dtype == np.float32 else value.astype(np.float64),
        None if time is None else time[order].astype(np.float64),
        (float(bounds[0]), float(bounds[1])),
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
            f"Row {row:,} has a rating that is not a finite number{within}. Correct or remove it."
        )


def check_scale(scale: Scale) -> None:
    """Raise unless a scale is two finite, increasing numbers."""
    try:
        low, high = scale
        numbers = all(
            isinstance(bound, int | float | np.number) and not isinstance(bound, bool)
            for bound in (low, high)
        )
        right = numbers and -math.inf < float(low) < float(high) < math.inf
    except (TypeError, ValueError, OverflowError):
        right = False
    if not right:
        raise InputError("A scale must be a lowest and a higher highest rating, both finite.")


def _starts(user: Positions, n: int) -> Ids:
    return np.searchsorted(user, np.arange(n + 1)).astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Likes:
    """Likes of n users for m items: `liked` in order of users, `likers` in order of items.

    `by_user` (n + 1,) and `by_item` (m + 1,) are the starts of each user and item.
    """

    by_user: Ids
    liked: Positions
    by_item: Ids
    likers: Positions

    @classmethod
    def of(cls, train: Ratings, positive: float) -> "Likes":
        """Return the ratings >= `positive` as likes."""
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
    """Return the start (size + 1,) of each position among sorted positions."""
    counts = np.bincount(positions, minlength=size)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def spread(begin: Ids, end: Ids) -> tuple[Ids, Ids]:
    """Return the indices begin..end-1 of all ranges in a row, and the range each belongs to.

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
    """Sizes, the share of rated pairs, and (least, median, most) ratings per user and per item."""

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
    """Return the sizes and spreads of ratings."""
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
