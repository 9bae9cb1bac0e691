"""Attackers that say which original row a released one is."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np
from numpy.random import Generator

from veil.core.types import Floats, Ids
from veil.tables.attacks.attacker import Scene, TableAttacker, Truth
from veil.tables.attacks.outcome import Attack
from veil.tables.attacks.records import averaged


class Guesses(Protocol):
    """Which pairs of a released and an original row an attacker takes for the same person."""

    def chance(self, released: Ids, originals: Ids) -> Floats:
        """Return how likely each pair is named: 1 / ties if it is among the best, else 0."""
        ...


@dataclass(frozen=True, eq=False)
class Links:
    """Guesses, and what else an attacker found on the way."""

    guesses: Guesses
    details: Mapping[str, object] = field(default_factory=dict)


class Linker(TableAttacker):
    """Links released rows to original ones; the risk is the share that is right.

    Ties share: a record that is one of c guesses counts 1/c. Records that were removed count 0.
    """

    family: ClassVar[str] = "Record linkage"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "rows"})

    @abstractmethod
    def links(self, scene: Scene) -> Links:
        """Guess; nothing is known of who is who."""

    def attack(self, scene: Scene, truth: Truth, rng: Generator) -> Attack:
        """Score the guesses."""
        del rng
        rows = truth.of(self.name)
        links = self.links(scene)
        chances = links.guesses.chance(np.arange(len(rows)), rows)
        details = {
            "released": float(chances.mean()),  # over released rows alone
            **links.details,
        }
        return averaged(truth.spread(chances, self.name), 1 / len(truth.original), details)
