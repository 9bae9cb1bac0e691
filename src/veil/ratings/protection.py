"""What every protection of ratings declares."""

from abc import abstractmethod
from dataclasses import dataclass

from numpy.random import Generator

from veil.core.component import Component
from veil.core.errors import InputError, LawError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.ratings.ratings import Ratings


@dataclass(frozen=True, eq=False, repr=False)
class Protected:
    """Ratings that a protection made, and position (n',) of the user behind each released one."""

    data: Ratings
    rows: Ids


class Protection(Component):
    """Maps ratings to ratings; `guarantee` is for one unit, `cost` for the data at hand."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What is proved for one unit."""

    def check(self, data: Ratings) -> None:
        """Raise if `data` cannot be protected as promised; nothing is drawn before."""
        del data

    def cost(self, data: Ratings) -> Guarantee:
        """Return what is proved of the release of `data`."""
        del data
        return self.guarantee

    def notes(self, data: Ratings) -> tuple[str, ...]:
        """Return sentences that who reads the release must know."""
        del data
        return ()

    @abstractmethod
    def apply(self, data: Ratings, rng: Generator) -> Protected:
        """Protect ratings; users keep their positions, and get other ids in `protect`."""

    def log_likelihood(self, data: Ratings) -> Floats:
        """Return ln P(released | true), (L, L): a row for each true level, a column per release.

        Everybody may know it; who attacks a release by its law needs no more. For krr and dlaplace
        the levels are those of the scale, from the lowest (see `veil.ratings.levels`): of `data`
        only its scale is read. For bits they are no like and like, for each user and item. A
        protection without a law in closed form raises `LawError`.
        """
        del data
        raise LawError(f"{self.name} has no law in closed form.")


def declared(data: Ratings, name: str) -> tuple[float, float]:
    """Return the scale, which somebody must have declared: observed bounds are data."""
    if not data.declared:
        raise InputError(
            f"{name} needs a declared scale, since observed bounds are data: declare it"
            " (scale=(low, high), --scale LOW HIGH)."
        )
    return data.scale
