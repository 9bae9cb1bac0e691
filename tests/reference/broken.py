"""Mechanisms as they were found broken elsewhere, each beside the claim that it still makes.

`violations` break the claim, and the audit must show it. `harmless` keep it: they harm utility
only. `SharedVariantsCMP` is in neither: see there.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from tests.reference import laws

from veil.core.guarantee import Guarantee
from veil.core.rng import laplace_ball
from veil.core.types import Floats, Ids, Kernel
from veil.text.mechanisms.mechanism import WordMechanism
from veil.text.mechanisms.words.cmp import CMP
from veil.text.mechanisms.words.custext import CusText
from veil.text.mechanisms.words.kernels import CandidateKernel, NoiseKernel
from veil.text.mechanisms.words.mahalanobis import Mahalanobis, elliptical
from veil.text.mechanisms.words.santext import SanText
from veil.text.mechanisms.words.tem import TEM
from veil.text.mechanisms.words.wbb import WBB
from veil.text.vectors.embeddings import Embeddings


@dataclass(frozen=True)
class Table:
    """Draw from a law that is written down, (V, V)."""

    rows: Floats

    def sample(self, ids: Ids, size: int, rng: Generator) -> Ids:
        draws = [rng.choice(len(self.rows), size=size, p=self.rows[i]) for i in ids.tolist()]
        return np.stack(draws, axis=1)


def table(space: Embeddings, law: Callable[[int], Floats]) -> Table:
    return Table(np.stack([law(word) for word in range(space.size)]))


class HalfNoiseCMP(CMP):
    """The scale of the noise is 1 / (2 epsilon)."""

    def bind(self, space: Embeddings) -> NoiseKernel:
        return NoiseKernel(space, lambda n, rng: laplace_ball(n, space.dim, 2 * self.epsilon, rng))


class GaussianCMP(CMP):
    """Normal noise in the place of Laplace noise: its tails are too thin."""

    def bind(self, space: Embeddings) -> NoiseKernel:
        return NoiseKernel(
            space, lambda n, rng: rng.standard_normal((n, space.dim)) / (2 * self.epsilon)
        )


@dataclass(frozen=True)
class Shared:
    """One noise for all places of a text, as forked workers draw it; or for all variants."""

    space: Embeddings
    epsilon: float
    variants: bool

    def sample(self, ids: Ids, size: int, rng: Generator) -> Ids:
        count = len(ids) if self.variants else size
        noise = laplace_ball(count, self.space.dim, self.epsilon, rng)
        spread = noise[None, :, :] if self.variants else noise[:, None, :]
        points = self.space.points(ids)[None, :, :] + spread
        points = np.broadcast_to(points, (size, len(ids), self.space.dim))
        nearest, _ = self.space.searcher.nearest(points.reshape(-1, self.space.dim), 1)
        return nearest[:, 0].reshape(size, len(ids))


class SharedPlacesCMP(CMP):
    """Every place of a text gets the same noise: its differences are plain to see."""

    def bind(self, space: Embeddings) -> Kernel:  # type: ignore[override]
        return Shared(space, self.epsilon, variants=False)


class SharedVariantsCMP(CMP):
    """Every variant gets the same noise: a single draw, repeated.

    That costs less privacy than the claim for all variants together, but the draws are not
    independent as they are declared to be, and what an audit makes of them is void.
    """

    def bind(self, space: Embeddings) -> Kernel:  # type: ignore[override]
        return Shared(space, self.epsilon, variants=True)


class RenormalisedMahalanobis(Mahalanobis):
    """The skewed direction is scaled to length 1, and the paper's metric still claimed."""

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee("metric-dp", self.epsilon, f"mahalanobis(lam={self.lam:g})")

    def bind(self, space: Embeddings) -> NoiseKernel:
        return NoiseKernel(space, elliptical(space, self.epsilon, self.lam, True))


class WholeEpsilonSanText(SanText):
    """The exponent is epsilon * d: the normaliser was forgotten in the proof."""

    def bind(self, space: Embeddings) -> Kernel:  # type: ignore[override]
        vectors = space.vectors.astype(np.float64)
        return table(space, lambda w: laws.santext(vectors, w, 2 * self.epsilon))


class ReturningTEM(TEM):
    """If the element for all far words wins, the original word is released."""

    def bind(self, space: Embeddings) -> Kernel:  # type: ignore[override]
        vectors = space.vectors.astype(np.float64)
        gamma = laws.tem_gamma(space.size, self.epsilon, self.beta)

        def law(w: int) -> Floats:
            out = laws.tem(vectors, w, self.epsilon, self.beta, self.metric)
            far = np.array(laws.distances(vectors, w, self.metric)) > gamma
            out[w] += out[far].sum()
            out[far] = 0
            return out

        return table(space, law)


class FarthestCusText(CusText):
    """Nearness is scored the wrong way round: within a group the bound holds as before."""

    def bind(self, space: Embeddings) -> CandidateKernel:
        right = super().bind(space)

        def shortlist(ids: Ids) -> tuple[Ids, Floats]:
            candidates, weights = right.shortlist(ids)
            turned: Floats = np.where(weights > -np.inf, 0.5 * self.epsilon - weights, -np.inf)
            return candidates, turned

        return CandidateKernel(space, f"farthest {self}", shortlist)


def line() -> Embeddings:
    """Words along a line in the plane, a tenth of a unit apart near zero, with long ends."""
    x = np.concatenate([np.arange(-30, 31) / 10, [-9, -7, -5, 5, 7, 9]])
    y = 0.02 * (-1.0) ** np.arange(len(x))
    words = tuple(f"w{i}" for i in range(len(x)))
    return Embeddings(words, np.stack([x, y], axis=1).astype(np.float32), "line")


def cluster() -> Embeddings:
    """Two words alone at a distance of 2, the second of them among twenty others."""
    rng = np.random.default_rng(5)
    crowd = np.array([2.0, 0.0]) + rng.normal(scale=0.01, size=(20, 2))
    vectors = np.concatenate([[[0.0, 0.0], [2.0, 0.0]], crowd])
    words = tuple(f"w{i}" for i in range(len(vectors)))
    return Embeddings(words, vectors.astype(np.float32), "cluster")


def ring() -> Embeddings:
    """Ten words, all far from each other."""
    angle = 2 * np.pi * np.arange(10) / 10
    vectors = 3 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return Embeddings(tuple(f"w{i}" for i in range(10)), vectors.astype(np.float32), "ring")


Case = tuple[WordMechanism, Embeddings, tuple[str, str]]


def violations() -> dict[str, Case]:
    return {
        "cmp, half the noise": (HalfNoiseCMP(epsilon=1), line(), ("w20", "w40")),
        "cmp, normal noise": (GaussianCMP(epsilon=1), line(), ("w25", "w35")),
        "cmp, noise shared by places": (SharedPlacesCMP(epsilon=1), line(), ("w25", "w35")),
        "mahalanobis, direction scaled": (
            RenormalisedMahalanobis(epsilon=1),
            line(),
            ("w25", "w35"),
        ),
        "santext, whole epsilon": (WholeEpsilonSanText(epsilon=1), cluster(), ("w0", "w1")),
        "tem, far words return": (ReturningTEM(epsilon=1, beta=0.8), ring(), ("w0", "w1")),
        "wbb, as published": (WBB(epsilon=1, k=2, n=3, metric="distance"), line(), ("w20", "w40")),
        "custext, own neighbours": (
            CusText(epsilon=1, k=5, mapping="neighbours"),
            line(),
            ("w20", "w40"),
        ),
    }


def harmless() -> dict[str, Case]:
    return {
        "custext, farthest": (FarthestCusText(epsilon=1, k=8), line(), ("w0", "w1")),
    }
