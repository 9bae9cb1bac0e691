"""Items that are described as those a user likes."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

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
    r"""Score items by the cosine of their description to the sum of those a user likes.

    An item is a unit vector of weights :math:`\ln(m / df)`, one per term it has, however often.
    Columns of authors, genres or tags are lists (cut at commas), those of titles or descriptions
    words, all others one value, and that it is missing is one, too; ``"column:list"``,
    ``"column:words"`` and ``"column:value"`` say it otherwise. Unless columns are named, they are
    the lists, the words and the language: a count of ratings or their mean is of everybody,
    held-out ratings included, and must be no feature.
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
        """Describe items by columns of a table: a file, rows, or lists by column name."""
        del rng  # nothing is drawn
        chosen = positive_of(train, positive)
        if items is None:
            raise InputError(
                "content needs a table of the items: fit(train, items=..., columns=...)."
            )
        terms, by_item, weights, size = _terms(train, _columns(items), columns)
        return ContentModel(str(self), train, chosen, terms, by_item, weights, size)

    def restore(self, train: Ratings, positive: float, state: State) -> "ContentModel":
        """Take the terms of the items."""
        by_item, size = np.asarray(state["by_item"], dtype=np.int64), int(state["size"][0])
        if len(by_item) != train.m + 1:
            raise InputError(
                "The model does not fit the ratings; hand in those it was learnt from."
            )
        terms = state["terms"].astype(np.int32)
        weights = np.asarray(state["weights"], dtype=np.float64)
        return ContentModel(str(self), train, positive, terms, by_item, weights, size)


class ContentModel(Model):
    """Terms of each item with their weights, rows of length 1 (or 0)."""

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

    def scores(self, users: Ids) -> Floats:
        """Return the cosines (b, m) of items to the profiles of users."""
        scores = np.empty((len(users), self.train.m))
        for row, user in enumerate(users.tolist()):
            own = self.likes.liked[self.likes.by_user[user] : self.likes.by_user[user + 1]]
            at, _ = spread(self._by_item[own], self._by_item[own + 1])
            sums = np.bincount(self._terms[at], self._weights[at], self._size)
            profile = sums / max(float(np.linalg.norm(sums)), 1e-300)
            scores[row] = np.bincount(
                self._item, profile[self._terms] * self._weights, self.train.m
            )
        return scores

    def ratings(self, users: Ids, items: Ids) -> Floats:
        """Return the fallback: cosines are no ratings."""
        return self._fallback.ratings(users, items)

    def state(self) -> State:
        """Return the terms of the items."""
        return {
            "terms": self._terms.astype(np.int64),
            "by_item": self._by_item,
            "weights": self._weights,
            "size": np.array([self._size], dtype=np.int64),
        }


def _columns(table: Table) -> Mapping[str, Sequence[str]]:
    if isinstance(table, Mapping):
        return {str(name): [str(one) for one in values] for name, values in table.items()}
    if not isinstance(table, str | Path):
        names = dict.fromkeys(name for row in table for name in row)
        return {str(name): [str(row.get(name, "")) for row in table] for name in names}
    header, rows = read_table(Path(table))
    values = zip(*(row.values for row in rows), strict=True)
    return dict(zip(header.names, map(list, values), strict=True))


def _kind(name: str) -> Kind:
    plain = fold_name(name)
    if any(part in plain for part in _LISTS):
        return "list"
    return "words" if any(part in plain for part in _WORDS) else "value"


def _is_usual(name: str) -> bool:
    """Tell whether a column describes items, and does not count what users did."""
    return _kind(name) != "value" or any(part in fold_name(name) for part in _VALUES)


def _chosen(
    table: Mapping[str, Sequence[str]], ids: str, columns: Sequence[str] | None
) -> list[tuple[str, Kind]]:
    known = {fold_name(name): name for name in table}
    found: list[tuple[str, Kind]] = []
    usual = [name for name in table if name != ids and _is_usual(name)]
    for wanted in usual if columns is None else columns:
        name, _, kind = wanted.partition(":")
        if fold_name(name) not in known or kind not in ("", "list", "words", "value"):
            raise InputError(
                "The table of items lacks a column that is asked for; check 'columns'."
            )
        found.append((known[fold_name(name)], kind or _kind(name)))  # type: ignore[arg-type]
    if not found:
        raise InputError(
            "The table of items has no column of words, lists or languages; name those that"
            " describe them (columns, --describe-by)."
        )
    return found


def _tokens(text: str, kind: Kind) -> list[str]:
    if kind == "words":
        return _WORD.findall(text.lower())
    if kind == "value":
        return [text.strip().lower()]
    return [part.strip().lower() for part in text.split(",") if part.strip()]


def _terms(
    train: Ratings, table: Mapping[str, Sequence[str]], columns: Sequence[str] | None
) -> tuple[Positions, Ids, Floats, int]:
    """Return terms by item, where those of each begin, their weights, and how many there are."""
    ids = next((name for name in table if fold_name(name) in _IDS), None)
    if ids is None or len({len(values) for values in table.values()}) != 1:
        raise InputError(
            "The table of items needs a column 'item' with their ids, and whole rows."
        )
    chosen = _chosen(table, ids, columns)
    known, number = train.item_positions, dict[tuple[str, str], int]()
    item, term = [], []
    for row, one in enumerate(table[ids]):
        place = known.get(one)
        if place is None:
            continue
        for name, kind in chosen:
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
