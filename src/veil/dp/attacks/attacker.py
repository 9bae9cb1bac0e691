"""What an attacker on answers is given, and what it declares."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.component import Component
from veil.core.errors import InputError
from veil.core.types import Floats
from veil.dp.attacks.asking import Mask, Questions


class Attacker(Component):
    """Finds a secret number of each record from answers about sets of records.

    `gives` says whether what it finds are guesses of the secret, or scores of which only the order
    means anything.
    """

    gives: ClassVar[Literal["guesses", "scores"]] = "guesses"

    @abstractmethod
    def found(self, ask: Questions, n: int, rng: Generator) -> Floats:
        """Return what is found of each of n records (n,); nan where there is no guess."""


class Targeted(Attacker):
    """Asks for one record at a time."""

    target: Annotated[
        int | None, Field(ge=0, description="the one record, from 0; none: every record")
    ] = None

    @abstractmethod
    def begin(self, ask: Questions, n: int, rng: Generator) -> Callable[[Mask], float]:
        """Ask what every target needs; return what finds the secret of the record in a set."""

    def found(self, ask: Questions, n: int, rng: Generator) -> Floats:
        """Attack the target, or every record."""
        if self.target is not None and self.target >= n:
            raise InputError(
                f"The target of {self.name} must be a record from 0 to {n - 1:,}. Got"
                f" {self.target} instead."
            )
        guesses = np.full(n, np.nan)
        secret = self.begin(ask, n, rng)
        for at in range(n) if self.target is None else (self.target,):
            guesses[at] = secret(np.arange(n) == at)
        return guesses
