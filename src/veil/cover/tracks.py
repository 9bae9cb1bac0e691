"""Tracks: topics of equal size, by balanced spherical k-means."""

import numpy as np

from veil.core.types import Floats, Ids, Singles

_PRICED = 60  # rounds in which the prices of the centres settle
_TEMPERATURE = 0.02
_LEARNT = 12_000  # texts that the centres are learnt from
_ROUNDS = 8
_BLOCK = 16_384


def tracks(vectors: Singles, k: int) -> Ids:
    """Assign texts, by their unit vectors (n, d), to k tracks whose sizes differ by at most one.

    The same vectors give the same tracks: what is drawn has a fixed, public seed.
    """
    n = len(vectors)
    if k == 1:
        return np.zeros(n, dtype=np.int64)
    rng = np.random.default_rng(0)  # public: nothing of it protects anybody
    centres = np.array(vectors[rng.choice(n, k, replace=False)], dtype=np.float32)
    part = np.array(vectors[np.sort(rng.choice(n, min(n, _LEARNT), replace=False))])
    for _ in range(_ROUNDS):
        label = balanced(part @ centres.T, sizes(len(part), k))
        sums = np.stack([part[label == j].sum(axis=0, dtype=np.float64) for j in range(k)])
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.where(lengths > 0, lengths, 1), centres)
        centres = centres.astype(np.float32)
    near = np.empty((n, k), dtype=np.float32)
    for start in range(0, n, _BLOCK):
        near[start : start + _BLOCK] = vectors[start : start + _BLOCK] @ centres.T
    return balanced(near, sizes(n, k))


def sizes(n: int, parts: int) -> Ids:
    """Cut n into parts that differ by at most one.

    >>> sizes(7, 3).tolist()
    [3, 2, 2]
    """
    return np.array([n // parts + (part < n % parts) for part in range(parts)], dtype=np.int64)


def balanced(near: Singles, room: Ids) -> Ids:
    """Assign rows of similarities (n, k) to k columns with so much room each.

    Nearly the largest sum of similarities: prices of the columns rise while they are asked for
    too often (Sinkhorn), then the rows choose, those first for which the second choice is worst.
    """
    k = near.shape[1]
    value = near.astype(np.float64)
    price = _prices(value, room / len(near))
    value -= price
    order = np.argsort(-_regret(value), kind="stable")
    left, label = room.copy(), np.empty(len(near), dtype=np.int64)
    wishes = np.argsort(-value, axis=1, kind="stable")
    for row in order.tolist():
        for column in wishes[row].tolist():
            if left[column]:
                label[row] = column
                left[column] -= 1
                break
    if k and left.any():
        raise ValueError("There must be as much room as there are rows.")
    return label


def _prices(near: Floats, target: Floats) -> Floats:
    price = np.zeros(near.shape[1])
    for _ in range(_PRICED):
        asked = np.zeros(len(price))
        for start in range(0, len(near), _BLOCK):
            z = (near[start : start + _BLOCK] - price) / _TEMPERATURE
            p = np.exp(z - z.max(axis=1, keepdims=True))
            asked += (p / p.sum(axis=1, keepdims=True)).sum(axis=0)
        share = np.maximum(asked / len(near), 1e-9)
        price += 0.7 * _TEMPERATURE * np.log(share / target)
    return price


def _regret(value: Floats) -> Floats:
    two = -np.partition(-value, 1, axis=1)[:, :2]
    lost: Floats = two[:, 0] - two[:, 1]
    return lost
