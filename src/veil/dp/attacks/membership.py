"""Membership: who is behind published means or counts."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from pydantic import Field

from veil.core.errors import InputError
from veil.core.estimate import Estimate
from veil.core.rng import Randomness, generator
from veil.core.types import Floats, Ids
from veil.dp.attack import Attack, Questions, advantage
from veil.dp.mechanisms.laplace import Geometric


class Membership(Attack):
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

    def run(self, ask: Questions, n: int, rng: Generator) -> Floats:
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


class Traced(NamedTuple):
    """What was published, in words, and the advantage of who knows the people."""

    published: str
    risk: Estimate


def tracing(
    persons: Sequence[str],
    items: Sequence[str],
    epsilons: Sequence[float] = (10.0, 1.0),
    members: int = 400,
    attributes: int = 2_000,
    max_items: int = 20,
    rng: Randomness = None,
) -> list[Traced]:
    """Publish how many of some people have each item, and find out who they are.

    The people are drawn, and as many others; the attacker knows what each of them has, and how
    frequent every item is among all.

    Parameters
    ----------
    persons, items
        Row by row, who has what.
    epsilons
        Budgets of the noisy counts, all of them together.
    members, attributes
        How many people are behind the counts, and how many of the most frequent items are counted.
    max_items
        How many items of a person count at most, chosen at random: the sensitivity.
    """
    draws = generator(rng)
    having = _table(persons, items, attributes)
    if len(having) < 2 * members or members < 2:
        raise InputError(
            f"There must be twice as many persons as members, and two members at least:"
            f" {len(having):,} persons, {members:,} members."
        )
    chosen = draws.permutation(len(having))[: 2 * members]
    people, inside = having[chosen], np.arange(2 * members) < members
    means = having.mean(axis=0)
    few = _cut(people[:members], max_items, draws)

    def traced(published: str, counts: Ids) -> Traced:
        scores = membership(counts / members, means, people)
        return Traced(published, advantage(scores, inside, scores=True))

    found = [
        traced("exact counts", people[:members].sum(axis=0)),
        traced(f"exact counts of {max_items:,} items a person", few.sum(axis=0)),
    ]
    for epsilon in epsilons:
        noise = Geometric(epsilon=epsilon, sensitivity=max_items)
        noisy = noise.draw(noise.check(few.sum(axis=0)), 1, draws)[0]
        found.append(traced(f"{noise}", noisy))
    return found


def _table(persons: Sequence[str], items: Sequence[str], attributes: int) -> Ids:
    """Return who has which of the most frequent items (persons, attributes), 0 or 1."""
    if len(persons) != len(items) or not persons:
        raise InputError("There must be a person for each item, and at least one.")
    pairs = set(zip(persons, items, strict=True))
    ranked = sorted(Counter(item for _, item in pairs).items(), key=lambda one: (-one[1], one[0]))
    columns = {item: place for place, (item, _) in enumerate(ranked[:attributes])}
    rows = {person: place for place, person in enumerate(sorted(set(persons)))}
    found = np.zeros((len(rows), len(columns)), dtype=np.int64)
    for person, item in pairs:
        if item in columns:
            found[rows[person], columns[item]] = 1
    return found


def _cut(people: Ids, most: int, rng: Generator) -> Ids:
    """Keep at most so many items of each person, chosen uniformly."""
    order = np.where(people > 0, rng.random(people.shape), np.inf).argsort(axis=1)
    kept = np.zeros_like(people)
    np.put_along_axis(kept, order[:, :most], 1, axis=1)
    return kept * people
