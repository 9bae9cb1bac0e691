"""The papers' definitions as plain loops in float64: slow, obvious, and written independently.

Each function gives P(. | w) over the whole vocabulary for one word.
"""

import math

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def euclidean(vectors: Floats, a: int, b: int) -> float:
    return math.sqrt(
        sum((float(x) - float(y)) ** 2 for x, y in zip(vectors[a], vectors[b], strict=True))
    )


def cosine(vectors: Floats, a: int, b: int) -> float:
    if a == b:
        return 0.0
    inner = sum(float(x) * float(y) for x, y in zip(vectors[a], vectors[b], strict=True))
    norms = [math.sqrt(sum(float(x) ** 2 for x in vectors[i])) for i in (a, b)]
    return 1 - inner / (norms[0] * norms[1])


def angular(vectors: Floats, a: int, b: int) -> float:
    return math.acos(max(-1.0, min(1.0, 1 - cosine(vectors, a, b))))


METRICS = {"euclidean": euclidean, "cosine": cosine, "angular": angular}


def distances(vectors: Floats, w: int, metric: str = "euclidean") -> list[float]:
    return [METRICS[metric](vectors, w, v) for v in range(len(vectors))]


def _normalise(weights: list[float]) -> Floats:
    total = math.fsum(weights)
    return np.array([weight / total for weight in weights])


def santext(vectors: Floats, w: int, epsilon: float) -> Floats:
    return _normalise([math.exp(-epsilon * d / 2) for d in distances(vectors, w)])


def santext_plus(vectors: Floats, w: int, epsilon: float, sensitive: set[int], p: float) -> Floats:
    gaps = distances(vectors, w)
    weights = [math.exp(-epsilon * d / 2) * (v in sensitive) for v, d in enumerate(gaps)]
    inside = _normalise(weights)
    if w in sensitive:
        return inside
    kept = np.zeros(len(gaps))
    kept[w] = 1 - p
    return p * inside + kept


def tem_gamma(words: int, epsilon: float, beta: float) -> float:
    return 2 / epsilon * math.log((1 - beta) * (words - 1) / beta)


def tem_gumbel(
    vectors: Floats, w: int, epsilon: float, beta: float, count: int, rng: Generator
) -> NDArray[np.int64]:
    """Draw as the paper writes it: Gumbel noise, and one element that stands for all others."""
    gaps = np.array(distances(vectors, w))
    gamma = tem_gamma(len(gaps), epsilon, beta)
    near = np.flatnonzero(gaps <= gamma)
    far = np.flatnonzero(gaps > gamma)
    scores = -gaps[near]
    if len(far):
        scores = np.append(scores, -gamma + 2 * math.log(len(far)) / epsilon)
    out = np.empty(count, dtype=np.int64)
    for i in range(count):
        winner = int(np.argmax(scores + rng.gumbel(0, 2 / epsilon, len(scores))))
        out[i] = near[winner] if winner < len(near) else rng.choice(far)
    return out


def tem(vectors: Floats, w: int, epsilon: float, beta: float, metric: str) -> Floats:
    gaps = distances(vectors, w, metric)
    gamma = tem_gamma(len(gaps), epsilon, beta)
    return _normalise([math.exp(-epsilon * min(d, gamma) / 2) for d in gaps])


def custext_groups(vectors: Floats, k: int) -> list[list[int]]:
    """Cut greedily in order of frequency; a single word left over joins the last group."""
    free = list(range(len(vectors)))
    groups = []
    while len(free) > k:
        seed = free[0]
        near = sorted((euclidean(vectors, seed, v), v) for v in free if v != seed)
        group = [seed] + [v for _, v in near[: k - 1]]
        groups.append(group)
        free = [v for v in free if v not in group]
    if len(free) == 1 and groups:
        groups[-1] += free
    elif free:
        groups.append(free)
    return groups


def custext(vectors: Floats, w: int, epsilon: float, candidates: list[int], metric: str) -> Floats:
    gaps = {v: METRICS[metric](vectors, w, v) for v in candidates}
    low, high = min(gaps.values()), max(gaps.values())
    weights = [0.0] * len(vectors)
    for v, d in gaps.items():
        score = (high - d) / (high - low) if high > low else 1.0
        weights[v] = math.exp(epsilon * score / 2)
    return _normalise(weights)


def neighbours(vectors: Floats, w: int, k: int, metric: str) -> list[int]:
    gaps = distances(vectors, w, metric)
    others = sorted((d, v) for v, d in enumerate(gaps) if v != w)
    return [w] + [v for _, v in others[: k - 1]]


def wbb(
    vectors: Floats, w: int, epsilon: float, k: int, n: int, metric: str, weights: str
) -> Floats:
    angle, gap = distances(vectors, w, "cosine"), distances(vectors, w)
    m = {
        "angle": angle,
        "distance": gap,
        "product": [a * b for a, b in zip(angle, gap, strict=True)],
    }[metric]
    others = sorted((d, v) for v, d in enumerate(m) if v != w)
    box = [v for _, v in others[k - 1 : k - 1 + n]]
    values = [m[v] for v in box]
    mean = math.fsum(values) / n
    std = math.sqrt(math.fsum((x - mean) ** 2 for x in values) / n)
    out = [0.0] * len(vectors)
    for v in box:
        u = 1 / (1 + math.exp((m[v] - mean) / std if std else 0.0))
        out[v] = math.exp(epsilon * u / 2) if weights == "exponential" else epsilon * u / 2
    return _normalise(out)
