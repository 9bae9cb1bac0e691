"""Membership: who is behind published means, by whom they lean towards."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from pydantic import Field

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.dp.attacks.asking import Questions
from veil.dp.attacks.attacker import Attacker


class Membership(Attacker):
    r"""Ask for the counts of random sets, and score each record by how the counts lean to it.

    .. math:: \langle y - p, a/n - p \rangle

    Here y says in which sets a record is, p is 1/2, and a are the counts, of n in all; those whose
    secret is 1 are the members. It needs no linear program, and gives scores: the higher, the
    likelier a member.

    References
    ----------
    Dwork, Smith, Steinke, Ullman, Vadhan. Robust Traceability from Trace Amounts. FOCS 2015.
    doi:10.1109/FOCS.2015.46
    """

    name: ClassVar[str] = "membership"
    gives: ClassVar[Literal["guesses", "scores"]] = "scores"
    queries: Annotated[int, Field(ge=1, le=10**5, description="random sets asked about")] = 400

    def found(self, ask: Questions, n: int, rng: Generator) -> Floats:
        """Ask about sets that each record is in with probability 1/2."""
        sets = rng.integers(0, 2, (self.queries, n)).astype(np.bool_)
        answers = ask.each(sets)
        known = np.isfinite(answers) & sets.any(axis=1)
        if not known.any():
            return np.full(n, np.nan)
        members = max(1.0, 2 * float(answers[known].mean()))  # half of them are in a set
        return membership(answers[known] / members, 0.5, sets[known].T)


def membership(release: object, population: ArrayLike, rows: ArrayLike) -> Floats:
    r"""Return scores (n,) of persons: the higher, the likelier they are behind a release.

    .. math:: \langle y - p, a/n - p \rangle

    Parameters
    ----------
    release
        (d,) a/n, the published means of d attributes, or a `Release` of them. Counts, that is
        whole numbers of which some are above 1, are divided by the number of members that fits
        them best, :math:`\langle a, p \rangle / \langle p, p \rangle`.
    population
        p, the means (d,) of the attributes among all people, one number for all of them, or the
        attributes (N, d) of a sample of people.
    rows
        (n, d) the attributes of the persons, 0 or 1.

    References
    ----------
    Homer et al. Resolving Individuals Contributing Trace Amounts of DNA to Highly Complex
    Mixtures. PLoS Genetics 4(8), 2008. doi:10.1371/journal.pgen.1000167
    Dwork, Smith, Steinke, Ullman, Vadhan. Robust Traceability from Trace Amounts. FOCS 2015.
    doi:10.1109/FOCS.2015.46
    """
    persons = _numbers(rows, "The attributes of persons")
    if persons.ndim != 2 or not persons.size:
        raise InputError("The attributes of persons must be one row of numbers for each.")
    means = _numbers(population, "The population")
    means = means.mean(axis=0) if means.ndim == 2 else means
    if means.shape not in ((), (persons.shape[1],)):
        raise InputError(
            f"The population must have a mean for each of the {persons.shape[1]:,} attributes."
        )
    means = np.broadcast_to(means, persons.shape[1:])
    seen = _means(_numbers(getattr(release, "value", release), "The release"), means)
    scores: Floats = (persons - means) @ (seen - means)
    return scores


def _means(seen: Floats, population: Floats) -> Floats:
    """Return published means; counts are divided by how many members fit them best."""
    if seen.shape != population.shape:
        raise InputError(
            f"The release must have a number for each of the {len(population):,} attributes."
        )
    if not ((seen == np.floor(seen)).all() and seen.max() > 1):
        return seen
    weight = float(population @ population)
    members = max(1.0, float(seen @ population) / weight) if weight else 1.0
    return seen / members


def _numbers(given: object, what: str) -> Floats:
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.array(np.nan)
    if not found.size or not np.isfinite(found).all():
        raise InputError(f"{what} must be finite numbers.")
    return found
