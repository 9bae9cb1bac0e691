"""Score items by a linear map between items, in closed form."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from typing_extensions import override

from veil.core.errors import InputError
from veil.core.rng import Randomness
from veil.core.types import Floats, Ids, Singles
from veil.ratings.ratings import Likes, Ratings, spread
from veil.ratings.recommender import NOTHING, Fallback, Model, Recommender, State, positive_of
from veil.ratings.shards import free_memory

MOST = 20_000  # items


class EASE(Recommender):
    r"""Score items by a linear map of likes whose diagonal is 0.

    With B the likes (n, m): :math:`P = (B^T B + reg I)^{-1}`, :math:`W_{ij} = -P_{ij} / P_{jj}`
    off the diagonal, and the scores of a user are her likes times W. It takes :math:`m^3` steps
    and three matrices of :math:`4 m^2` bytes, and raises if they do not fit into memory.

    References
    ----------
    Steck. Embarrassingly shallow autoencoders for sparse data. WWW 2019, algorithm 1.
    doi:10.1145/3308558.3313710
    """

    name: ClassVar[str] = "ease"
    implicit: ClassVar[bool] = True
    reg: Annotated[float, Field(gt=0, description="ridge")] = 200.0

    @override
    def fit(
        self, train: Ratings, positive: float | None = None, rng: Randomness = None
    ) -> "EASEModel":
        del rng  # deterministic
        limit = positive_of(train, positive)
        _check_size(train.m)
        likes = Likes.of(train, limit)
        gram = np.zeros((train.m, train.m), dtype=np.float32)
        for user in range(train.n):
            own = likes.liked[likes.by_user[user] : likes.by_user[user + 1]]
            gram[own[:, None], own] += 1
        gram[np.diag_indices(train.m)] += np.float32(self.reg)
        inverse = _inverse(gram)
        inverse /= -np.diag(inverse).copy()
        np.fill_diagonal(inverse, 0.0)
        return EASEModel(str(self), train, limit, likes, inverse)

    @override
    def restore(self, train: Ratings, positive: float, state: State) -> "EASEModel":
        weights = np.asarray(state["weights"], dtype=np.float32)
        if weights.shape != (train.m, train.m):
            raise InputError("The model does not fit the ratings. Pass those it was trained on.")
        return EASEModel(str(self), train, positive, Likes.of(train, positive), weights)


class EASEModel(Model):
    """Weights (m, m) between items."""

    def __init__(
        self, spec: str, train: Ratings, positive: float, likes: Likes, weights: Singles
    ) -> None:
        super().__init__(spec, train, positive, NOTHING, seeded=False)
        self.likes, self.weights = likes, weights
        self._fallback = Fallback.of(train)

    @override
    def scores(self, users: Ids) -> Floats:
        rows, owner = spread(self.likes.by_user[users], self.likes.by_user[users + 1])
        liked = np.zeros((len(users), self.train.m), dtype=np.float32)
        liked[owner, self.likes.liked[rows]] = 1
        return (liked @ self.weights).astype(np.float64)

    @override
    def ratings(self, users: Ids, items: Ids) -> Floats:
        return self._fallback.ratings(users, items)

    @override
    def state(self) -> State:
        return {"weights": self.weights}


def _check_size(m: int) -> None:
    room = 12 * m * m
    if m > MOST:
        raise InputError(f"ease takes at most {MOST:,} items. Got {m:,} instead. Use ials.")
    if room > free_memory():
        raise InputError(
            f"ease needs {room / 2**30:.1f} GB for {m:,} items, more than is free. Use ials."
        )


def _inverse(gram: Singles) -> Singles:
    """Return the inverse of a positive definite matrix, by Cholesky if SciPy is installed."""
    try:
        from scipy.linalg import lapack
    except ImportError:
        return np.asarray(np.linalg.inv(gram), dtype=np.float32)
    factor, _ = lapack.spotrf(gram.T, lower=1, overwrite_a=1, clean=0)
    inverse, _ = lapack.spotri(factor, lower=1, overwrite_c=1)
    lower = np.tril(inverse)
    return np.ascontiguousarray(lower + np.tril(lower, -1).T, dtype=np.float32)
