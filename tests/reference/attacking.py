"""Attackers as plain loops: whole rankings are sorted, posteriors are enumerated."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def sorted_rank(scores: Sequence[float], place: int) -> tuple[int, int]:
    """Sort the whole list, best first, and look up where the score is, and how often."""
    if place < 0:
        return len(scores) + 1, 1
    order = sorted(scores, reverse=True)
    return order.index(scores[place]) + 1, order.count(scores[place])


def cosine(a: Floats, b: Floats) -> float:
    inner = math.fsum(float(x) * float(y) for x, y in zip(a, b, strict=True))
    lengths = [math.sqrt(math.fsum(float(x) ** 2 for x in v)) for v in (a, b)]
    return inner / (lengths[0] * lengths[1]) if all(lengths) else 0.0


def inference(rows: list[Floats], log: Floats, place: int) -> tuple[int, int]:
    """Rank one query: mean of the vectors of its variants, cosine with all of the log."""
    centre = np.mean(np.array(rows, dtype=np.float64), axis=0)
    return sorted_rank([cosine(centre, vector) for vector in log], place)


def query_likelihood(
    law: Floats, query: Sequence[int], variants: Sequence[Sequence[int]]
) -> float:
    """Sum log P(y | w) over variants and places; -1 is one word, drawn uniformly."""
    total = 0.0
    for place, word in enumerate(query):
        seen = [variant[place] for variant in variants]
        with np.errstate(divide="ignore"):
            products = law[:, seen].prod(axis=1)
            total += float(np.log(products.mean() if word < 0 else products[word]))
    return total


def posterior(law: Floats, seen: Sequence[int]) -> Floats:
    """Return P(w | seen) for a uniform prior, by Bayes' rule on the whole table P(y | w)."""
    products = np.array([math.prod(float(law[w, y]) for y in seen) for w in range(len(law))])
    total = products.sum()
    return products / total if total else products
