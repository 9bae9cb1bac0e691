"""Tracing: who is behind counts of what people have, as words or genes."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from veil.core.errors import InputError
from veil.core.rng import Randomness, generator
from veil.core.types import Ids
from veil.dp.attacks.advantage import advantage
from veil.dp.attacks.membership import membership
from veil.dp.mechanisms.geometric import Geometric
from veil.measures.estimate import Estimate


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
