"""How much a model looks as if somebody's profile had been in it: one number per user."""

from dataclasses import dataclass

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import Model
from veil.ratings.recommenders.lists import ItemLists

_RIDGE, _SHRINK = 0.2, 5.0  # of a user's vector; ratings of 0 that she is taken to have besides


@dataclass(frozen=True, eq=False, repr=False)
class Suspects:
    """Profiles of everybody who may have been in it, with the items of the model.

    That somebody is a suspect says nothing of whether she was: who attacks may know them all.
    """

    data: Ratings
    positive: float

    def likes(self, user: int) -> Ids:
        """Return the items that a user likes."""
        rows = self.data.rows(user)
        return self.data.item[rows][self.data.value[rows] >= self.positive].astype(np.int64)

    def residual(self, user: int, means: Floats) -> tuple[Ids, Floats]:
        """Return a user's items, and her ratings less the items' means and her own."""
        rows = self.data.rows(user)
        items = self.data.item[rows].astype(np.int64)
        left = np.asarray(self.data.value[rows] - means[items], dtype=np.float64)
        return items, left - left.sum() / (len(left) + _SHRINK)


def statistics(model: Model, suspects: Suspects) -> Floats:
    """Return the statistic (n,) of all suspects that fits what the model shows."""
    lists = getattr(model, "neighbours", None)
    if isinstance(lists, ItemLists):
        return _of_lists(lists, suspects)
    shown = {**vars(model), **getattr(model, "public", {})}
    square, wide = (suspects.data.m, suspects.data.m), suspects.data.m
    for name in ("gram", "weights", "likes", "factors", "items"):
        array = shown.get(name)
        if not isinstance(array, np.ndarray) or len(array) != wide:
            continue
        given = np.asarray(array, dtype=np.float64)
        if name == "gram" and given.shape == square:
            return _of_covariance(given, _means(shown, suspects), suspects)
        if name == "weights" and given.shape == square:
            return _of_weights(given, suspects)
        if name == "likes":
            return _of_counts(given, suspects)
        if name in ("factors", "items"):
            return _of_factors(given, _means(shown, suspects), suspects)
    raise InputError(
        "membership reads lists of neighbours, weights, counts, covariances and factors of items;"
        " this model shows none of them."
    )


def _of_lists(lists: ItemLists, suspects: Suspects) -> Floats:
    """Return the mean over liked i of the sum of sim_ij over liked j that its list has."""
    found, liked = np.zeros(suspects.data.n), np.zeros(suspects.data.m + 1, dtype=bool)
    for user in range(suspects.data.n):
        own = suspects.likes(user)
        liked[own] = True
        near = liked[lists.index[own]] & (lists.index[own] >= 0)
        found[user] = (lists.sims[own] * near).sum() / max(1, len(own))
        liked[own] = False
    return found


def _of_weights(weights: Floats, suspects: Suspects) -> Floats:
    """Return the mean over liked i of what all liked j add to its score."""
    own = (suspects.likes(user) for user in range(suspects.data.n))
    return np.array([weights[np.ix_(one, one)].sum() / max(1, len(one)) for one in own])


def _of_counts(likes: Floats, suspects: Suspects) -> Floats:
    """Return how much liked items are more frequent in the model than among all suspects.

    References
    ----------
    Homer et al. Resolving Individuals Contributing Trace Amounts of DNA to Highly Complex Mixtures
    Using High-Density SNP Genotyping Microarrays. PLoS Genetics 4(8), 2008.
    """
    data = suspects.data
    rows = data.value >= suspects.positive
    expected = (np.bincount(data.item[rows], minlength=data.m) + 0.5) / (data.n + 1)
    counted = likes * (expected.sum() / max(likes.sum(), 1.0))
    excess = (counted - expected) / (expected * (1 - expected))
    base = float((excess * expected).sum())
    return np.array([excess[suspects.likes(user)].sum() - base for user in range(data.n)])


def _of_covariance(gram: Floats, means: Floats, suspects: Suspects) -> Floats:
    """Return x'(G - G_suspects)x / |x|^2, both sums divided by their traces."""
    data = suspects.data
    rows = [suspects.residual(user, means) for user in range(data.n)]
    public = np.zeros_like(gram)
    for items, left in rows:
        public[np.ix_(items, items)] += np.outer(left, left)
    apart = gram / np.trace(gram) - public / np.trace(public)
    found = np.zeros(data.n)
    for user, (items, left) in enumerate(rows):
        length = float(left @ left)
        found[user] = left @ apart[np.ix_(items, items)] @ left / length if length else 0.0
    return found


def _of_factors(factors: Floats, means: Floats, suspects: Suspects) -> Floats:
    """Return minus the mean square of what item factors leave unexplained of a profile."""
    found, wide = np.zeros(suspects.data.n), factors.shape[1]
    for user in range(suspects.data.n):
        items, left = suspects.residual(user, means)
        own = factors[items]
        vector = np.linalg.solve(own.T @ own + _RIDGE * np.eye(wide), own.T @ left)
        found[user] = -float(np.square(left - own @ vector).mean()) if len(items) else 0.0
    return found


def _means(shown: dict[str, object], suspects: Suspects) -> Floats:
    """Return the means (m,) of the items: those of the model, or of all suspects."""
    given = shown.get("means")
    if isinstance(given, np.ndarray) and given.shape == (suspects.data.m,):
        return given
    data = suspects.data
    whole = float(np.mean(data.value))
    total = np.bincount(data.item, data.value, data.m) + _SHRINK * whole
    return np.asarray(total / (data.per_item + _SHRINK), dtype=np.float64)
