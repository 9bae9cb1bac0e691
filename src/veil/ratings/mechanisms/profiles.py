"""Mechanisms for whole profiles: pseudonyms, and groups of at least k users."""

from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field
from typing_extensions import override

from veil.core.component import PRIVATE
from veil.core.errors import MissingExtraError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.ratings.mechanism import Mechanism, Protected
from veil.ratings.ratings import Ratings
from veil.tables.mechanisms.microaggregation import groups


class Pseudonyms(Mechanism):
    """Give each user a random id of 128 bits, recorded nowhere, and keep her ratings.

    Nothing is proved: an attacker who knows a few ratings of a user finds all of them.

    References
    ----------
    Narayanan, Shmatikov. Robust De-anonymization of Large Sparse Datasets. IEEE S&P 2008.
    doi:10.1109/SP.2008.33
    """

    name: ClassVar[str] = "pseudonyms"

    @property
    @override
    def guarantee(self) -> Guarantee:
        return Guarantee(
            "none",
            unit="user",
            caveat="Ratings identify people like a name: on goodbooks, 4 known ratings single out"
            " 91 % of the users.",
        )

    @override
    def notes(self, data: Ratings) -> tuple[str, ...]:
        note = "Times are unchanged, and identify users even better."
        return (note,) if data.time is not None else ()

    @override
    def apply(self, data: Ratings, rng: Generator) -> Protected:
        del rng
        return Protected(data, np.arange(data.n))


SMALL = 64  # users or items up to which a dense decomposition is fast enough


class KProfiles(Mechanism):
    """Group at least k users of similar taste; all of them release the profile of their group.

    MDAV compares the `factors` strongest directions of the singular value decomposition of the
    ratings, centred by user. The profile of a group has every item that a member rated, with the
    mean over the members who rated it.

    Proved: every released profile occurs at least k times. That is k-anonymity, and nothing more.

    References
    ----------
    Domingo-Ferrer, Torra. Ordinal, continuous and heterogeneous k-anonymity through
    microaggregation. DMKD 11(2), 2005 (MDAV). doi:10.1007/s10618-005-0007-5
    """

    name: ClassVar[str] = "kprofiles"
    k: Annotated[
        int,
        Field(ge=2, description="least size of a group", examples=[10], json_schema_extra=PRIVATE),
    ]
    factors: Annotated[int, Field(ge=1, le=512, description="directions of taste")] = 32

    @property
    @override
    def guarantee(self) -> Guarantee:
        return Guarantee(
            "k-anonymity",
            unit="user",
            k=self.k,
            caveat="Profiles of a group are equal, not differentially private: an item that one"
            " member rated is still in the list, a group that agrees discloses what it agrees on,"
            " and whether a user took part can often be inferred (on goodbooks, k = 10: advantage"
            " 0.2 or more). k-anonymity does not compose.",
        )

    @override
    def check(self, data: Ratings) -> None:
        if data.n < self.k:
            raise ParameterError(
                f"The 'k' parameter of kprofiles must be at most the {data.n:,} users."
            )

    @override
    def notes(self, data: Ratings) -> tuple[str, ...]:
        return ("Times are left out.",) if data.time is not None else ()

    @override
    def apply(self, data: Ratings, rng: Generator) -> Protected:
        del rng
        labels = groups(_tastes(data, self.factors), self.k)
        sizes = np.bincount(labels)
        if sizes.min() < self.k:
            raise ParameterError(
                f"A group has fewer than k = {self.k} users. Nothing is released."
            )
        keys, where = np.unique(
            labels[data.user] * np.int64(data.m) + data.item, return_inverse=True
        )
        means = np.bincount(where, data.value) / np.bincount(where)
        group, item = keys // data.m, keys % data.m
        starts = np.searchsorted(group, np.arange(len(sizes) + 1))
        lengths = np.diff(starts)[labels]  # of the profile of each user
        user = np.repeat(np.arange(data.n), lengths)
        within = np.arange(len(user)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        rows = starts[labels[user]] + within
        value = np.clip(means[rows], *data.scale)
        released = data.like(user.astype(np.int32), item[rows].astype(np.int32), value)
        return Protected(released, np.arange(data.n))


def _tastes(data: Ratings, factors: int) -> Floats:
    """Return the users (factors, n) in the strongest directions of their centred ratings."""
    try:
        from scipy.sparse import csr_array
        from scipy.sparse.linalg import svds
    except ImportError:
        raise MissingExtraError("kprofiles needs scipy: pip install 'veil[ratings]'.") from None
    total = np.bincount(data.user, data.value, data.n)
    means = total / np.maximum(data.per_user, 1)
    centred = np.asarray(data.value - means[data.user], dtype=np.float64)
    at: tuple[Ids, Ids] = (data.user.astype(np.int64), data.item.astype(np.int64))
    matrix = csr_array((centred, at), shape=(data.n, data.m))
    least = min(data.n, data.m)
    if factors >= least or least <= SMALL:
        vectors, sizes, _ = np.linalg.svd(matrix.toarray(), full_matrices=False)
        return np.ascontiguousarray((vectors * sizes)[:, :factors].T)
    vectors, sizes, _ = svds(matrix, k=factors, v0=np.ones(least), solver="arpack")
    return np.ascontiguousarray((vectors * sizes).T)
