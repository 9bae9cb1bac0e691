"""What a mechanism claims about two words: the number that an audit holds against its samples."""

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from veil.core.types import Floats, Ids
from veil.text.mechanisms.words.custext import CusText
from veil.text.mechanisms.words.groups import groups
from veil.text.mechanisms.words.mahalanobis import Mahalanobis
from veil.text.mechanisms.words.mechanism import WordMechanism
from veil.text.mechanisms.words.vickrey import Vickrey
from veil.text.mechanisms.words.wbb import WBB
from veil.text.vectors.distances import distances
from veil.text.vectors.embeddings import Embeddings

Source = Literal["proved", "published", ""]
_MAHALANOBIS = re.compile(r"mahalanobis\(lam=([0-9.e+-]+)\)")
_ROWS = 16_384


@dataclass(frozen=True)
class Claim:
    """The largest log-ratio that is claimed, and by whom.

    `source` is "proved" where the mechanism's guarantee says so, "published" where the guarantee
    is none but the paper or its code states the bound; `bound` is None where nothing is claimed.
    """

    bound: float | None
    source: Source


NOTHING = Claim(None, "")


def claim(mechanism: WordMechanism, space: Embeddings, a: int, b: int) -> Claim:
    """Return what is claimed of two words of the space."""
    guarantee = mechanism.guarantee
    if guarantee.kind == "none":
        return _published(mechanism, space, a, b)
    if guarantee.kind == "group-dp":
        together = b in mates(mechanism, space, a)
        return Claim(guarantee.epsilon, "proved") if together else NOTHING
    gap = distance(space, a, b, guarantee.metric)
    return NOTHING if gap is None else Claim(guarantee.bound(gap), "proved")


def mates(mechanism: WordMechanism, space: Embeddings, word: int) -> Ids:
    """Return the other words of a word's group; none where the groups are not known here."""
    if not isinstance(mechanism, CusText):
        return np.empty(0, dtype=np.int64)
    members = groups(space, mechanism.k, mechanism.metric).members(np.array([word]))[0]
    return np.array([each for each in members.tolist() if each not in (-1, word)], dtype=np.int64)


def _published(mechanism: WordMechanism, space: Embeddings, a: int, b: int) -> Claim:
    """Return the bound of the paper or its code, where nothing is proved."""
    if isinstance(mechanism, WBB | CusText):  # stated as eps-DP between any two words
        return Claim(mechanism.epsilon, "published")
    if isinstance(mechanism, Mahalanobis | Vickrey):  # stated with the paper's metric
        gap = _elliptical(space, a, b, mechanism.lam)
        return Claim(mechanism.epsilon * gap, "published")
    return NOTHING


def distance(space: Embeddings, a: int, b: int, metric: str) -> float | None:
    """Return the distance of two words by the name of a metric; None if it is not known here."""
    shaped = _MAHALANOBIS.fullmatch(metric)
    if shaped is not None:
        return _elliptical(space, a, b, float(shaped[1]))
    if metric == "euclidean":
        return float(np.linalg.norm(np.diff(space.points(np.array([a, b])), axis=0)))
    if metric == "angular":
        return float(distances(space, np.array([a]), metric)[0, b])
    return None


def _elliptical(space: Embeddings, a: int, b: int, lam: float) -> float:
    r"""Return :math:`\sqrt{(x-y)^\top M^{-1} (x-y)}`."""
    gap = np.diff(space.points(np.array([a, b])), axis=0)[0]
    return float(np.sqrt(gap @ np.linalg.solve(_mixed(space, lam), gap)))


def _mixed(space: Embeddings, lam: float) -> Floats:
    """Return lam * Sigma + (1 - lam) * I, Sigma scaled to trace d.

    Computed here and not taken from the mechanism, whose shape is part of what is audited.
    """
    key = ("audited covariance", lam)
    found = space.memo.get(key, np.ndarray)
    if found is None:
        blocks = range(0, space.size, _ROWS)
        total = np.zeros(space.dim)
        for start in blocks:
            total += space.vectors[start : start + _ROWS].sum(axis=0, dtype=np.float64)
        mean = total / space.size
        scatter = np.zeros((space.dim, space.dim))
        for start in blocks:
            centred = space.vectors[start : start + _ROWS].astype(np.float64) - mean
            scatter += centred.T @ centred
        found = lam * scatter * (space.dim / np.trace(scatter)) + (1 - lam) * np.eye(space.dim)
        space.memo.put(key, found)
    mixed: Floats = found
    return mixed
