"""How likely each word is to have given what was seen in its slot."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, Protocol

import numpy as np
from pydantic import Field

from veil.core.errors import ParameterError
from veil.core.parallel import in_threads, one_blas_thread
from veil.core.rng import generator
from veil.core.types import ClosedForm, Floats, Ids
from veil.data.fetch import Report, no_progress
from veil.text.attacks.likelihood_boxes import CandidateLikelihood
from veil.text.attacks.likelihood_exponential import ExponentialLikelihood
from veil.text.mechanisms.mechanism import WordMechanism
from veil.text.mechanisms.words.cmp import CMP
from veil.text.mechanisms.words.kernels import CandidateKernel, ExponentialKernel
from veil.text.mechanisms.words.mahalanobis import Mahalanobis, root_of
from veil.text.mechanisms.words.vickrey import Vickrey
from veil.text.vectors.distances import (
    ROUNDING,
    in_chunks,
    log_mean,
    rows_at_once,
    subspace,
    summed,
)
from veil.text.vectors.embeddings import Embeddings


@dataclass(frozen=True, eq=False)
class NoiseLikelihood:
    r"""The log-density of the noise at :math:`z = \phi(y) - \phi(w)`, up to a constant.

    For CMP :math:`-\varepsilon \lVert z \rVert`; for Mahalanobis noise
    :math:`-\varepsilon \lVert A^{-1} z \rVert`. With `unit_direction` the direction Au/|Au| has
    the angular central Gaussian density, so that the log-density is
    :math:`-\varepsilon \lVert z \rVert - d \log(\lVert A^{-1} z \rVert / \lVert z \rVert)`; at
    z = 0 the mean of that density over all directions is taken, log det A. Vickrey has the density
    of its parent.

    Notes
    -----
    A surrogate: the true law integrates the density over all points nearest to y. It needs no
    factor that depends on w, because the noise is the same for all words.
    """

    space: Embeddings
    epsilon: float
    straight: Embeddings | None = None  # the words times the inverse of A
    log_det: float | None = None  # of A, where the direction has length 1

    @classmethod
    def of_mechanism(
        cls, mechanism: CMP | Mahalanobis | Vickrey, space: Embeddings
    ) -> "NoiseLikelihood":
        """Read the noise off a mechanism."""
        parent = mechanism._parent if isinstance(mechanism, Vickrey) else mechanism
        if isinstance(parent, CMP):
            return cls(space, parent.epsilon)
        root = root_of(space, parent.lam)
        vectors = np.linalg.solve(root, space.vectors.T.astype(np.float64)).T
        name = f"{space.name}, straight"
        straight = Embeddings(space.words, vectors.astype(np.float32), name, trusted=True)
        log_det = float(np.linalg.slogdet(root)[1]) if parent.unit_direction else None
        return cls(space, parent.epsilon, straight, log_det)

    @property
    def rounding(self) -> float:
        """How much two sums that are equal may differ, as a share of themselves."""
        return ROUNDING

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return 0 if self.straight is None else self.straight.vectors.nbytes

    def within(self, words: Ids, exact: Ids) -> "NoiseLikelihood":
        """Return the same over these words."""
        del exact  # it is all the same
        straight = None if self.straight is None else subspace(self.straight, words)
        return NoiseLikelihood(subspace(self.space, words), self.epsilon, straight, self.log_det)

    def prepare(self, exact: Ids, report: Report = no_progress) -> None:
        """Nothing takes long."""

    def of(self, seen: Ids, exact: Ids | None = None) -> Floats:
        """Return the sum of the log-densities for every word (V,)."""
        del exact  # it is all the same
        space = self.space if self.straight is None else self.straight
        if self.log_det is None:
            return -self.epsilon * summed(space, seen, "euclidean")
        out = -self.epsilon * summed(self.space, seen, "euclidean")
        out += self.space.dim * summed(self.space, seen, "euclidean", _log)
        out -= self.space.dim * summed(space, seen, "euclidean", _log)
        out += self.log_det * summed(self.space, seen, "euclidean", _zero)
        return out


def _log(block: Floats) -> None:
    """Take logarithms of distances; those of words that coincide cancel out later."""
    block[block == 0] = 1
    np.log(block, out=block)


def _zero(block: Floats) -> None:
    """Mark words that coincide."""
    block[:] = block == 0


_DRAWS = 20_000  # words that the mechanism is tried on
_SEED = 20261116  # the same question gives the same answer; nothing to do with a release's own
_ROWS = 2048  # words of the vocabulary at a time
_SLOTS = 32  # slots weighed at a time
_NUMBERS = 2**24  # held at a time
_RIDGE = 1e-6  # of the mean variance of a coordinate


@dataclass(frozen=True, eq=False)
class SimulatedLikelihood:
    r"""A Gaussian model of the vector that comes out, linear in the vector that goes in.

    .. math:: \phi(y) | w \sim N(m + B \phi(w), C)

    Whoever knows the mechanism can try it: it is drawn from for 20,000 words taken uniformly from
    the vocabulary, and m, B and C are fitted by least squares. The sum over what was seen then is
    a product of each word's vector with the mean of what was seen, less a term of the word's own.

    Notes
    -----
    A surrogate of any mechanism that can be drawn from. Where noise carries most words away, the
    nearest word is one that lies far out; the density of the noise at its vector then says little
    and accumulates errors, while B shrinks as it must. Outputs that are the word itself are left
    out of the fit as long as they are at most half: they are a point mass, and no Gaussian.
    """

    space: Embeddings
    slope: Floats  # (d + 1, d): what a vector seen adds for the coordinates of a word, and for 1
    own: Floats  # (V,) what each word costs

    @classmethod
    def of_mechanism(cls, mechanism: WordMechanism, space: Embeddings) -> "SimulatedLikelihood":
        """Draw from a mechanism, and fit the model."""
        rng = generator(_SEED)
        words = rng.integers(space.size, size=_DRAWS)
        drawn = mechanism.bind(space).sample(words, 1, rng)[0]
        other = drawn != words
        if 2 * np.count_nonzero(other) < _DRAWS:
            other[:] = True
        given = _extended(space.points(words[other]))
        seen = space.points(drawn[other])
        slack = _RIDGE * max(
            float(seen.var(axis=0).mean()), float(given.var(axis=0).mean()), 1e-12
        )
        moments = given.T @ given / len(given) + slack * np.eye(space.dim + 1)
        line = np.linalg.solve(moments, given.T @ seen / len(given))  # (d + 1, d): B, then m
        gaps = seen - given @ line
        spread = gaps.T @ gaps / len(gaps) + slack * np.eye(space.dim)
        slope: Floats = np.linalg.solve(spread, line.T).T
        return cls(space, slope, _own(space, slope @ line.T))

    @property
    def rounding(self) -> float:
        """How much two sums that are equal may differ, as a share of themselves."""
        return ROUNDING

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return self.own.nbytes + self.slope.nbytes

    def prepare(self, exact: Ids, report: Report = no_progress) -> None:
        """Nothing takes long any more."""

    def within(self, words: Ids, exact: Ids) -> "SimulatedLikelihood":
        """Return the same over these words."""
        del exact  # it is all the same
        return SimulatedLikelihood(subspace(self.space, words), self.slope, self.own[words])

    def of(self, seen: Ids, exact: Ids | None = None) -> Floats:
        """Return the log-likelihood of every word (V,), up to a constant."""
        del exact  # it is all the same
        (found,) = self.each([seen])
        return found

    def each(self, seen: Sequence[Ids]) -> Iterator[Floats]:
        """Yield the log-likelihoods (V,) for what was seen in many slots, some at a time."""
        step = max(1, min(_SLOTS, _NUMBERS // self.space.size))
        for start in range(0, len(seen), step):
            yield from self._together(seen[start : start + step])

    def _together(self, seen: Sequence[Ids]) -> Floats:
        """Return the log-likelihoods (slots, V)."""
        sums = np.zeros((len(seen), self.space.dim))
        for total, ids in zip(sums, seen, strict=True):
            words, counts = np.unique(ids, return_counts=True)
            total += counts @ self.space.points(words)
        times = np.array([[len(ids)] for ids in seen], dtype=np.float64)
        directions = np.concatenate([sums @ self.slope.T, -times], axis=1)  # (slots, d + 2)
        out = np.empty((len(seen), self.space.size))
        dim = self.space.dim

        def work(blocks: slice) -> None:
            points = np.ones((_ROWS, dim + 2))  # vectors, ones, and what each word costs
            for number in range(blocks.start, blocks.stop):
                rows = slice(number * _ROWS, min((number + 1) * _ROWS, self.space.size))
                count = rows.stop - rows.start
                points[:count, :dim] = self.space.vectors[rows]
                points[:count, -1] = self.own[rows]
                out[:, rows] = directions @ points[:count].T

        with one_blas_thread():
            in_threads(work, -(-self.space.size // _ROWS))
        return out


def _own(space: Embeddings, weights: Floats) -> Floats:
    """Return half the squared length of what the model expects of each word, (V,)."""
    out = np.empty(space.size)
    for start in range(0, space.size, _ROWS):
        rows = slice(start, min(start + _ROWS, space.size))
        points = _extended(space.vectors[rows].astype(np.float64))
        out[rows] = 0.5 * np.einsum("ij,ij->i", points @ weights, points)
    return out


def _extended(points: Floats) -> Floats:
    """Return rows with a 1 at their end."""
    return np.concatenate([points, np.ones((len(points), 1))], axis=1)


Surrogate = Annotated[
    Literal["simulated", "density"],
    Field(description="what stands in for the law of a mechanism that has no closed form"),
]
_SMALL = 4096  # up to so many words the laws of all are made, whatever is asked for


class Likelihood(Protocol):
    """The law of a mechanism, read backwards."""

    @property
    def nbytes(self) -> int:
        """Memory held."""
        ...

    @property
    def rounding(self) -> float:
        """How much two sums that are equal may differ, as a share of themselves."""
        ...

    def prepare(self, exact: Ids, report: Report = no_progress) -> None:
        """Do beforehand, and tell of it, what takes long and is done once."""
        ...

    def of(self, seen: Ids, exact: Ids | None = None) -> Floats:
        r"""Return :math:`\sum_j \log P(y_j | w)` for every word w, (V,), up to one constant.

        `seen` (N,) are the words seen in one slot; `exact` (k,) are words for which no
        approximation will do.
        """
        ...

    def within(self, words: Ids, exact: Ids) -> "Likelihood | None":
        """Return the same over these words (k,) only, in order, or None if that is no cheaper.

        What is seen is then given by its place among them. For `exact`, which are some of them,
        no approximation will do.
        """
        ...


def slot_likelihoods(law: Likelihood, seen: Sequence[Ids]) -> Iterator[Floats]:
    """Yield the log-likelihoods (V,) for the words seen in one slot after another."""
    if isinstance(law, SimulatedLikelihood):
        yield from law.each(seen)
    else:
        yield from map(law.of, seen)


def is_fast(law: Likelihood) -> bool:
    """Tell whether a law, once prepared, answers in a moment for all words of a large log."""
    return law.quick if isinstance(law, CandidateLikelihood | _Plain) else True


def likelihood(
    mechanism: WordMechanism, space: Embeddings, surrogate: Surrogate = "simulated"
) -> Likelihood:
    """Return the exact law of a mechanism, or else a surrogate; it is kept with the space."""
    key = ("likelihood", str(mechanism), surrogate)
    found = space.memo.get(key, _Kept)
    if found is None:
        found = _Kept(_make(mechanism, space, surrogate))
        space.memo.put(key, found)
    return found.law


class _Kept:
    """An entry of the cache of a space."""

    def __init__(self, law: Likelihood) -> None:
        self.law = law
        self.nbytes = law.nbytes


def _make(mechanism: WordMechanism, space: Embeddings, surrogate: Surrogate) -> Likelihood:
    kernel = mechanism.bind(space)
    if isinstance(kernel, ExponentialKernel):
        return ExponentialLikelihood(kernel)
    if isinstance(kernel, CandidateKernel):
        return CandidateLikelihood.of_mechanism(mechanism, kernel)
    if isinstance(kernel, ClosedForm):
        return _Plain(kernel, space)
    if surrogate == "simulated":
        return SimulatedLikelihood.of_mechanism(mechanism, space)
    if isinstance(mechanism, CMP | Mahalanobis | Vickrey):
        return NoiseLikelihood.of_mechanism(mechanism, space)
    raise ParameterError(
        f"The density of the noise of {mechanism.name} is not known; use surrogate='simulated'."
    )


class _Plain:
    """Any closed form, by its whole law: slow, for it makes the law of every word."""

    nbytes = 0
    rounding = ROUNDING

    def __init__(self, kernel: ClosedForm, space: Embeddings) -> None:
        self._kernel, self._space = kernel, space
        self.quick = space.size <= _SMALL

    def prepare(self, exact: Ids, report: Report = no_progress) -> None:
        """Nothing is kept."""

    def within(self, words: Ids, exact: Ids) -> None:
        """Every law is over all words."""

    def of(self, seen: Ids, exact: Ids | None = None) -> Floats:
        """Add up columns of the laws; in a large space words outside `exact` get their mean."""
        if self._space.size <= _SMALL:
            exact = None
        words = np.arange(self._space.size) if exact is None else exact
        out = np.full(self._space.size, np.nan)
        for part in in_chunks(words, rows_at_once(self._space)):
            out[words[part]] = self._kernel.log_probs(words[part])[:, seen].sum(axis=1)
        if exact is not None:
            out[np.isnan(out)] = log_mean(out[words])
        return out


_OTHERS = 4096  # words that stand for those of the vocabulary that are neither logged nor seen


@dataclass(frozen=True, eq=False)
class WordLikelihoods:
    """Log-likelihoods of some words, made when they are asked for.

    Behind a word that the vectors do not know stands one drawn uniformly from the vocabulary: its
    likelihood is the mean over all words. Of a large vocabulary the words of the log and those
    seen, which matter most, are counted one by one, and 4,096 others stand for the rest.

    Attributes
    ----------
    law, words
        What is asked, and over which words (k,), in order.
    shares
        (k,) logarithm of how much of the vocabulary each stands for.
    """

    law: Likelihood
    exact: Ids
    words: Ids
    shares: Floats
    part: bool
    _made: dict[bytes, Floats] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, law: Likelihood, space: Embeddings, exact: Ids, seen: Ids) -> "WordLikelihoods":
        """Return those of the words of a log, given all words that were seen."""
        alone = np.union1d(exact, seen)
        rest = np.setdiff1d(_others(space), alone, assume_unique=False)
        words = np.union1d(alone, rest)
        small = law.within(words, exact) if len(words) < space.size // 2 else None
        if small is None:
            words = np.arange(space.size)
            shares = np.full(space.size, -np.log(space.size))
            return cls(law, exact, words, shares, part=False)
        shares = np.full(len(words), -np.log(space.size))
        standing = np.searchsorted(words, rest)
        shares[standing] += np.log((space.size - len(alone)) / len(rest))
        return cls(small, exact, words, shares, part=True)

    def at(self, seen: Ids, ids: Ids) -> Floats:
        """Return the log-likelihoods (m,) of words, -1 an unknown one, given the words seen.

        Words seen that the vectors do not know say nothing.
        """
        known = np.sort(seen[seen >= 0])
        key = known.tobytes()
        if key not in self._made:
            self._made[key] = self._make(known)
        among = np.searchsorted(self.words, ids) if self.part else ids
        return self._made[key][np.where(ids < 0, len(self.words), among)]

    def _make(self, seen: Ids) -> Floats:
        if self.part:
            logs = self.law.of(np.searchsorted(self.words, seen))
        else:
            logs = self.law.of(seen, self.exact)
        weighed = logs + self.shares
        top = weighed.max(initial=-np.inf)
        mean = top + np.log(np.exp(weighed - top).sum()) if np.isfinite(top) else -np.inf
        return np.append(logs, mean)


def _others(space: Embeddings) -> Ids:
    """Return words drawn once from the vocabulary."""
    found = space.memo.get("other words", np.ndarray)
    if found is None:
        found = np.sort(generator(_SEED).permutation(space.size)[:_OTHERS])
        space.memo.put("other words", found)
    return found
