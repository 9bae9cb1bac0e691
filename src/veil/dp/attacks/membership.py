"""Membership attacks on published means or counts."""

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
    r"""Ask for counts of random sets, and score each record by its correlation with them.

    .. math:: \langle y - p, a/n - p \rangle

    Here y marks the sets that contain the record, p is 1/2, a are the counts, and n is the number
    of members: the records whose secret is 1. It needs no linear program. A higher score means a
    likelier member.

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
        answers = ask.batch(sets)
        valid = np.isfinite(answers) & sets.any(axis=1)
        if not valid.any():
            return np.full(n, np.nan)
        members = max(1.0, 2 * float(answers[valid].mean()))  # each set contains half of them
        return membership(answers[valid] / members, 0.5, sets[valid].T)


def membership(release: object, population: ArrayLike, rows: ArrayLike) -> Floats:
    r"""Return membership scores (n,) of persons: a higher score means a likelier member.

    .. math:: \langle y - p, a/n - p \rangle

    Parameters
    ----------
    release
        a/n (d,), the published means of d attributes, or a `Release` of them. Counts (integers,
        some above 1) are divided by the number of members that fits them best, :math:`\langle a, p
        \rangle / \langle p, p \rangle`.
    population
        p, the means (d,) of the attributes in the population, one number for all of them, or the
        attributes (N, d) of a sample of the population.
    rows
        Attributes (n, d) of the persons, 0 or 1.

    References
    ----------
    Homer et al. Resolving Individuals Contributing Trace Amounts of DNA to Highly Complex
    Mixtures. PLoS Genetics 4(8), 2008. doi:10.1371/journal.pgen.1000167
    Dwork, Smith, Steinke, Ullman, Vadhan. Robust Traceability from Trace Amounts. FOCS 2015.
    doi:10.1109/FOCS.2015.46
    """
    persons = _numbers(rows, "The attributes of persons")
    if persons.ndim != 2 or not persons.size:
        raise InputError("The attributes of persons must be one row of numbers per person.")
    means = _numbers(population, "The population")
    means = means.mean(axis=0) if means.ndim == 2 else means
    if means.shape not in ((), (persons.shape[1],)):
        raise InputError(
            f"The population needs a mean for each of the {persons.shape[1]:,} attributes."
        )
    means = np.broadcast_to(means, persons.shape[1:])
    published = _means(_numbers(getattr(release, "value", release), "The release"), means)
    scores: Floats = (persons - means) @ (published - means)
    return scores


def _means(published: Floats, population: Floats) -> Floats:
    """Return published means; counts are divided by the best-fitting number of members."""
    if published.shape != population.shape:
        raise InputError(
            f"The release needs a number for each of the {len(population):,} attributes."
        )
    if not ((published == np.floor(published)).all() and published.max() > 1):
        return published
    weight = float(population @ population)
    members = max(1.0, float(published @ population) / weight) if weight else 1.0
    return published / members


def _numbers(values: object, what: str) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if not array.size or not np.isfinite(array).all():
        raise InputError(f"{what} must be finite numbers.")
    return array


class Traced(NamedTuple):
    """A description of what was published, and the advantage of the attacker."""

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
    """Publish item counts of a random group of people, and trace its members.

    Members and equally many others are sampled. The attacker knows the items of each of them, and
    the frequency of every item in the population.

    Parameters
    ----------
    persons, items
        The person and the item in each row.
    epsilons
        Budgets of the noisy counts, each for all counts together.
    members, attributes
        Number of people behind the counts, and of the most frequent items that are counted.
    max_items
        Maximum number of items that count per person, sampled at random: the sensitivity.
    """
    draws = generator(rng)
    having = _table(persons, items, attributes)
    if len(having) < 2 * members or members < 2:
        raise InputError(
            f"There must be at least two members, and twice as many persons as members. Got"
            f" {members:,} members and {len(having):,} persons instead."
        )
    indices = draws.permutation(len(having))[: 2 * members]
    people, inside = having[indices], np.arange(2 * members) < members
    means = having.mean(axis=0)
    few = _cut(people[:members], max_items, draws)

    def traced(published: str, counts: Ids) -> Traced:
        scores = membership(counts / members, means, people)
        return Traced(published, advantage(scores, inside, scores=True))

    traces = [
        traced("exact counts", people[:members].sum(axis=0)),
        traced(f"exact counts of {max_items:,} items per person", few.sum(axis=0)),
    ]
    for epsilon in epsilons:
        noise = Geometric(epsilon=epsilon, sensitivity=max_items)
        noisy = noise.draw(noise.check(few.sum(axis=0)), 1, draws)[0]
        traces.append(traced(f"{noise}", noisy))
    return traces


def _table(persons: Sequence[str], items: Sequence[str], attributes: int) -> Ids:
    """Return whether each person has each of the most frequent items, (persons, attributes)."""
    if len(persons) != len(items) or not persons:
        raise InputError("There must be one person per item, and at least one.")
    pairs = set(zip(persons, items, strict=True))
    ranked = sorted(
        Counter(item for _, item in pairs).items(), key=lambda pair: (-pair[1], pair[0])
    )
    columns = {item: place for place, (item, _) in enumerate(ranked[:attributes])}
    rows = {person: place for place, person in enumerate(sorted(set(persons)))}
    table = np.zeros((len(rows), len(columns)), dtype=np.int64)
    for person, item in pairs:
        if item in columns:
            table[rows[person], columns[item]] = 1
    return table


def _cut(people: Ids, most: int, rng: Generator) -> Ids:
    """Return at most `most` items of each person, chosen uniformly."""
    order = np.where(people > 0, rng.random(people.shape), np.inf).argsort(axis=1)
    mask = np.zeros_like(people)
    np.put_along_axis(mask, order[:, :most], 1, axis=1)
    return mask * people
