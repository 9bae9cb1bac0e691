"""Other ids, and nothing else."""

from typing import ClassVar

import numpy as np
from numpy.random import Generator

from veil.core.guarantee import Guarantee
from veil.ratings.protection import Protected, Protection
from veil.ratings.ratings import Ratings


class Pseudonyms(Protection):
    """Give each user a random id of 128 bits, which is kept nowhere, and leave her ratings.

    Nothing is proved: who knows a few ratings of a user finds all of them.

    References
    ----------
    Narayanan, Shmatikov. Robust De-anonymization of Large Sparse Datasets. IEEE S&P 2008.
    doi:10.1109/SP.2008.33
    """

    name: ClassVar[str] = "pseudonyms"

    @property
    def guarantee(self) -> Guarantee:
        """Nothing is proved."""
        return Guarantee(
            "none",
            unit="user",
            caveat="Ratings are as good as a name: on goodbooks 4 that somebody knows single out"
            " 91 % of the users.",
        )

    def notes(self, data: Ratings) -> tuple[str, ...]:
        """Say that times are still there."""
        told = "Times are as they were, and tell users apart still better."
        return (told,) if data.time is not None else ()

    def apply(self, data: Ratings, rng: Generator) -> Protected:
        """Leave everything but the ids, which `protect` draws."""
        del rng
        return Protected(data, np.arange(data.n))
