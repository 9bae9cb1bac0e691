"""The contract of attackers on answers: how they ask, and what they declare."""

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field

from veil.core.component import Component
from veil.core.errors import InputError, ParameterError, RefusedError
from veil.core.types import Floats

Mask = NDArray[np.bool_]
Ask = Callable[[Mask], Any]  # a set of records (n,) to a number: a count, or a sum of a secret


class Questions:
    """All that an attacker has: it asks, and nothing else tells it anything.

    `asked` counts the questions, also those that were refused. A refusal is nan. The empty set is
    not asked about: its sum is 0.
    """

    def __init__(self, ask: Ask) -> None:
        if not callable(ask):
            raise ParameterError("The 'ask' of an attack must be a function of a set of records.")
        self._ask = ask
        self.asked = 0

    def __call__(self, mask: Mask) -> float:
        """Ask about a set of records (n,)."""
        if not mask.any():
            return 0.0
        self.asked += 1
        try:
            answer = self._ask(mask.copy())
        except RefusedError:
            return math.nan
        return _number(answer)

    def each(self, masks: Mask) -> Floats:
        """Ask about several sets (m, n), one after the other."""
        return np.array([self(mask) for mask in masks])


def _number(answer: object) -> float:
    try:
        found = float(np.asarray(answer, dtype=np.float64).reshape(()))
    except (TypeError, ValueError):
        found = math.nan
    if not math.isfinite(found):
        raise InputError("What is asked must answer by one finite number, or raise RefusedError.")
    return found


class Attack(Component):
    """Finds a secret number of each record from answers about sets of records.

    `gives` says whether what it finds are guesses of the secret, or scores of which only the order
    means anything.
    """

    gives: ClassVar[Literal["guesses", "scores"]] = "guesses"

    @abstractmethod
    def found(self, ask: Questions, n: int, rng: Generator) -> Floats:
        """Return what is found of each of n records (n,); nan where there is no guess."""


class Targeted(Attack):
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
