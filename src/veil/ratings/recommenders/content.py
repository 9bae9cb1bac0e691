"""Recommend items whose descriptions resemble those of liked items."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from typing_extensions import override

from veil.core.errors import InputError
from veil.core.rng import Randomness
from veil.core.types import Floats, Ids
from veil.data.rows import fold_name, read_table
from veil.ratings.ratings import Likes, Positions, Ratings, spread, starts
from veil.ratings.recommender import NOTHING, Fallback, Model, Recommender, State, positive_of

Table = Mapping[str, Sequence[str]] | Sequence[Mapping[str, str]] | str | Path
_IDS = ("item", "itemid", "item_id", "placeid", "movieid", "movie_id", "bookid", "book_id", "id")
_LISTS = ("author", "genre", "tag", "cuisine", "categor", "actor")
_WORDS = ("title", "name", "description", "text", "summary")
_VALUES = ("language",)
_WORD = re.compile(r"[^\W_]+")
Kind = Literal["list", "words", "value"]


class Content(Recommender):
    r"""Score items by the cosine between their description and the sum of the liked ones.

    An item is a unit vector of weights :math:`\ln(m / df)`, one per distinct term. Columns of
    authors, genres or tags are lists (split at commas), titles and descriptions are words, and all
    others a single value, where a missing value is also a value. ``"column:list"``,
    ``"column:words"`` and ``"column:value"`` override this. By default it uses the lists, the
    words and the language: counts or means of ratings come from all users, including held-out
    ratings, and must not be features.
    """

    name: ClassVar[str] = "content"
    implicit: ClassVar[bool] = True

    def fit(
        self,
        train: Ratings,
        positive: float | None = None,
        rng: Randomness = None,
        items: Table | None = None,
        columns: Sequence[str] | None = None,
    ) -> "ContentModel":
        """Return a model of items by columns of a table: a file, rows, or lists by column name."""
        del rng  # deterministic
        limit = positive_of(train, positive)
        if items is None:
            raise InputError(
                "content needs a table of the items. Try fit(train, items=..., columns=...)."
            )
        terms, by_item, weights, size = _terms(train, _columns(items), columns)
        return ContentModel(str(self), train, limit, terms, by_item, weights, size)

    @override
    def restore(self, train: Ratings, positive: float, state: State) -> "ContentModel":
        by_item, size = np.asarray(state["by_item"], dtype=np.int64), int(state["size"][0])
        if len(by_item) != train.m + 1:
            raise InputError("The model does not fit the ratings. Pass those it was trained on.")
        terms = state["terms"].astype(np.int32)
        weights = np.asarray(state["weights"], dtype=np.float64)
        return ContentModel(str(self), train, positive, terms, by_item, weights, size)


class ContentModel(Model):
    """Weighted terms of each item, in rows of length 1 (or 0)."""

    def __init__(
        self,
        spec: str,
        train: Ratings,
        positive: float,
        terms: Positions,
        by_item: Ids,
        weights: Floats,
        size: int,
    ) -> None:
        super().__init__(spec, train, positive, NOTHING, seeded=False)
        self.likes = Likes.of(train, positive)
        self._terms, self._by_item, self._weights, self._size = terms, by_item, weights, size
        self._item = np.repeat(np.arange(train.m), np.diff(by_item))
        self._fallback = Fallback.of(train)

    @override
    def scores(self, users: Ids) -> Floats:
        scores = np.empty((len(users), self.train.m))
        for row, user in enumerate(users.tolist()):
            own = self.likes.liked[self.likes.by_user[user] : self.likes.by_user[user + 1]]
            rows, _ = spread(self._by_item[own], self._by_item[own + 1])
            sums = np.bincount(self._terms[rows], self._weights[rows], self._size)
            profile = sums / max(float(np.linalg.norm(sums)), 1e-300)
            scores[row] = np.bincount(
                self._item, profile[self._terms] * self._weights, self.train.m
            )
        return scores

    @override
    def ratings(self, users: Ids, items: Ids) -> Floats:
        return self._fallback.ratings(users, items)

    @override
    def state(self) -> State:
        return {
            "terms": self._terms.astype(np.int64),
            "by_item": self._by_item,
            "weights": self._weights,
            "size": np.array([self._size], dtype=np.int64),
        }


def _columns(table: Table) -> Mapping[str, Sequence[str]]:
    if isinstance(table, Mapping):
        return {str(name): [str(value) for value in values] for name, values in table.items()}
    if not isinstance(table, str | Path):
        names = dict.fromkeys(name for row in table for name in row)
        return {str(name): [str(row.get(name, "")) for row in table] for name in names}
    header, rows = read_table(Path(table))
    values = zip(*(row.values for row in rows), strict=True)
    return dict(zip(header.names, map(list, values), strict=True))


def _kind(name: str) -> Kind:
    folded = fold_name(name)
    if any(part in folded for part in _LISTS):
        return "list"
    return "words" if any(part in folded for part in _WORDS) else "value"


def _is_usual(name: str) -> bool:
    """Return whether a column describes items, rather than counting actions of users."""
    return _kind(name) != "value" or any(part in fold_name(name) for part in _VALUES)


def _select_columns(
    table: Mapping[str, Sequence[str]], ids: str, columns: Sequence[str] | None
) -> list[tuple[str, Kind]]:
    folded = {fold_name(name): name for name in table}
    pairs: list[tuple[str, Kind]] = []
    usual = [name for name in table if name != ids and _is_usual(name)]
    for column in usual if columns is None else columns:
        name, _, kind = column.partition(":")
        if fold_name(name) not in folded or kind not in ("", "list", "words", "value"):
            raise InputError("The table of items lacks one of the columns. Check 'columns'.")
        pairs.append((folded[fold_name(name)], kind or _kind(name)))  # type: ignore[arg-type]
    if not pairs:
        raise InputError(
            "The table of items has no column of words, lists or languages. Name those that"
            " describe items (columns, --describe-by)."
        )
    return pairs


def _tokens(text: str, kind: Kind) -> list[str]:
    if kind == "words":
        return _WORD.findall(text.lower())
    if kind == "value":
        return [text.strip().lower()]
    return [part.strip().lower() for part in text.split(",") if part.strip()]


def _terms(
    train: Ratings, table: Mapping[str, Sequence[str]], columns: Sequence[str] | None
) -> tuple[Positions, Ids, Floats, int]:
    """Return terms sorted by item, the start of each item, their weights, and their number."""
    ids = next((name for name in table if fold_name(name) in _IDS), None)
    if ids is None or len({len(values) for values in table.values()}) != 1:
        raise InputError(
            "The table of items needs a column 'item' with their ids, and complete rows."
        )
    described = _select_columns(table, ids, columns)
    positions, number = train.item_positions, dict[tuple[str, str], int]()
    item, term = [], []
    for row, item_id in enumerate(table[ids]):
        place = positions.get(item_id)
        if place is None:
            continue
        for name, kind in described:
            for token in set(_tokens(table[name][row], kind)):
                item.append(place)
                term.append(number.setdefault((name, token), len(number)))
    size = max(len(number), 1)
    pairs = np.unique(np.array(item, dtype=np.int64) * size + np.array(term, dtype=np.int64))
    terms, owner = (pairs % size).astype(np.int32), pairs // size
    rarity = np.log(train.m / np.maximum(np.bincount(terms, minlength=size), 1))
    weights = rarity[terms]
    lengths = np.sqrt(np.bincount(owner, weights**2, train.m))
    weights = weights / np.where(lengths > 0, lengths, 1.0)[owner]
    return terms, starts(owner.astype(np.int32), train.m), weights, size
