"""Catalogues of items: public ones, and noisy ones released from the ratings."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.random import Generator

from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.rng import Randomness, generator
from veil.core.types import Ids
from veil.dp.calibration import threshold
from veil.dp.exact.samplers import discrete_laplace
from veil.dp.inputs import count, positive
from veil.ratings.accounting import checked_delta
from veil.ratings.ratings import Ratings

NEIGHBOURS = "add or remove one user with all her ratings"

ASSUMED = (
    "The list of items is assumed to be public: an item listed because one user rated it is"
    " disclosed."
)
UNSAID = (
    "It is not declared whether the list of items is public. Pass the file of all items"
    " (catalogue=, --catalogue) if it is, and catalogue=False if not."
)


def require_catalogue(data: Ratings, name: str) -> None:
    """Raise if the items are the rated ones: listing one would reveal a rating."""
    if data.public is False:
        raise InputError(
            f"{name} needs a public catalogue. Here the items are the rated ones, and listing one"
            " reveals a rating. Load the ratings with catalogue= all items that exist, or release"
            " the list first: veil.ratings.catalogue.threshold_catalogue."
        )


def catalogue_notes(data: Ratings) -> tuple[str, ...]:
    """Return a note if it is not declared whether the catalogue is public."""
    return () if data.public else (UNSAID,)


def threshold_catalogue(
    data: Ratings,
    epsilon: float,
    delta: float | None = None,
    items: int = 40,
    rng: Randomness = None,
) -> tuple[Ratings, Guarantee]:
    r"""Release the items that many users rated; return their ratings and the cost.

    At most `items` ratings of each user count, chosen at random. An item is listed if its count
    plus discrete Laplace noise of scale items/epsilon is at least tau. For each user, the
    probabilities that items are listed that only she rated add up to at most delta. Proved: the
    list is (epsilon, delta)-DP when a user is added or removed. A model of the ratings costs
    extra. Draws are exact.

    References
    ----------
    Korolova, Kenthapadi, Mishra, Ntoulas. Releasing Search Queries and Clicks Privately. WWW 2009,
    Algorithm 1. doi:10.1145/1526709.1526733
    """
    budget, most = positive("epsilon", epsilon), count("items", items)
    settled = checked_delta(delta, data.n)
    tau, draws = threshold(budget, settled, most), generator(rng)
    counts = bounded_counts(data, np.arange(len(data)), most, draws)
    noisy = counts + discrete_laplace(most / Fraction(budget), data.m, draws)
    listed = np.flatnonzero((noisy >= tau) & (counts > 0))
    cost = Guarantee("dp", budget, unit="user", delta=settled, neighbours=NEIGHBOURS)
    place = np.full(data.m, -1, dtype=np.int32)
    place[listed] = np.arange(len(listed), dtype=np.int32)
    part = data.take(place[data.item] >= 0)
    if not len(part):
        raise InputError(
            "No item is rated by enough users to be listed. Use a larger 'epsilon' or 'delta'."
        )
    names = tuple(data.items[place] for place in listed.tolist())
    return replace(part, items=names, item=place[part.item], public=True), cost


def bounded_counts(data: Ratings, rows: Ids, most: int, rng: Generator) -> Ids:
    """Return item counts (m,) over `rows`, with at most `most` random rows of each user."""
    mixed = rows[rng.permutation(len(rows))]
    mixed = mixed[np.argsort(data.user[mixed], kind="stable")]
    user = data.user[mixed]
    place = np.arange(len(user)) - np.searchsorted(user, user)
    return np.bincount(data.item[mixed[place < most]], minlength=data.m).astype(np.int64)
