"""What leaves: other ratings, or a model, with what is proved of it."""

from dataclasses import dataclass

from veil.core.guarantee import Guarantee
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import Model

SEEDED = "This release is seeded, not private: its draws can be repeated."


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """A release of ratings; released ratings hold no id of a user of the original.

    Attributes
    ----------
    data
        Released ratings, or None where a model is released.
    model
        The released model, or None. It serves its users with their own ratings, which it holds;
        what may leave is `model.public` alone.
    mechanism, cost
        Spec of the protection; what is proved for one user (or as `cost.unit` says).
    seeded
        Whether the draws can be repeated: **not private**.
    notes
        Sentences that who reads the release must know.
    rows
        For experiments alone, and never written: position of the original user behind each
        released one, or None.
    """

    data: Ratings | None
    mechanism: str
    cost: Guarantee
    seeded: bool
    notes: tuple[str, ...] = ()
    model: Model | None = None
    rows: tuple[int, ...] | None = None
