"""How many of a population are like each released row."""

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.tables.attacks.attacker import Scene
from veil.tables.attacks.compatible import Compatible
from veil.tables.attacks.patterns import Patterns
from veil.tables.labels import Missing
from veil.tables.table import Table


def frequencies(scene: Scene, population: Table, missing: Missing) -> Floats:
    """Return for each released row how many of the population its labels cover (m,)."""
    for name in scene.qi:
        if name not in population:
            raise InputError(f"The population lacks the quasi-identifier '{name}'.")
    released, _ = scene.patterns
    people = Patterns.of([population.column(name) for name in scene.qi])
    covers = scene.covers(population, scene.qi, missing)
    counts = Compatible(covers, released, people).over_known(people.sizes[:, None])[:, 0]
    absent = int((counts == 0).sum())
    if absent:
        raise InputError(
            f"The population lacks {absent:,} of {len(released):,} classes of the release; it must"
            " list everybody who is in it. (With missing='any' a missing value matches every one.)"
        )
    return counts[released.at]


def table_of(scene: Scene, by: str) -> Table:
    """Return the population, or say that a table of it is missing."""
    if not isinstance(scene.population, Table):
        raise InputError(
            f"The attacker {by} needs a table of the population with the quasi-identifiers; hand"
            " it in by population=."
        )
    return scene.population


def size_of(scene: Scene) -> float | None:
    """Return how many the population are, or None; they are at least those released."""
    people = scene.population
    if people is None:
        return None
    n = float(len(people)) if isinstance(people, Table) else float(people)
    if not np.isfinite(n) or n < len(scene.released):
        raise InputError(
            f"A population must have at least as many as the {len(scene.released):,} rows of the"
            " release."
        )
    return n
