"""The likelihood of each word, given the words seen in its slot."""

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
    :math:`-\varepsilon \lVert z \rVert - d \log(\lVert A^{-1} z \rVert / \lVert z \rVert)`. At
    z = 0 the mean of that density over all directions is used, log det A. Vickrey has the density
    of its parent.

    Notes
    -----
    A surrogate: the true distribution integrates the density over all points nearest to y. No
    factor depends on w, because the noise is the same for all words.
    """

    space: Embeddings
    epsilon: float
    straight: Embeddings | None = None  # the words times the inverse of A
    log_det: float | None = None  # of A, if the direction is scaled to length 1

    @classmethod
    def of_mechanism(
        cls, mechanism: CMP | Mahalanobis | Vickrey, space: Embeddings
    ) -> "NoiseLikelihood":
        """Return the likelihood for the noise of a mechanism."""
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
        """Largest relative difference of two sums that are equal."""
        return ROUNDING

    @property
    def nbytes(self) -> int:
        """Memory use in bytes."""
        return 0 if self.straight is None else self.straight.vectors.nbytes

    def within(self, words: Ids, exact: Ids) -> "NoiseLikelihood":
        """Return the likelihood restricted to these words."""
        del exact  # nothing is approximated
        straight = None if self.straight is None else subspace(self.straight, words)
        return NoiseLikelihood(subspace(self.space, words), self.epsilon, straight, self.log_det)

    def prepare(self, exact: Ids, report: Report = no_progress) -> None:
        """Do nothing: there is nothing to prepare."""

    def of(self, seen: Ids, exact: Ids | None = None) -> Floats:
        """Return the sum of the log-densities (V,) for every word."""
        del exact  # nothing is approximated
        space = self.space if self.straight is None else self.straight
        if self.log_det is None:
            return -self.epsilon * summed(space, seen, "euclidean")
        out = -self.epsilon * summed(self.space, seen, "euclidean")
        out += self.space.dim * summed(self.space, seen, "euclidean", _log)
        out -= self.space.dim * summed(space, seen, "euclidean", _log)
        out += self.log_det * summed(self.space, seen, "euclidean", _zero)
        return out


def _log(block: Floats) -> None:
    """Take logarithms of distances. Those of words at the same point cancel later."""
    block[block == 0] = 1
    np.log(block, out=block)


def _zero(block: Floats) -> None:
    """Mark words at the same point."""
    block[:] = block == 0


_DRAWS = 20_000  # words that the mechanism is run on
_SEED = 20261116  # makes results reproducible; unrelated to the seed of a release
_ROWS = 2048  # words of the vocabulary at a time
_SLOTS = 32  # slots at a time
_NUMBERS = 2**24  # in memory at a time
_RIDGE = 1e-6  # times the mean variance of a coordinate


@dataclass(frozen=True, eq=False)
class SimulatedLikelihood:
    r"""A Gaussian model of the output vector, linear in the input vector.

    .. math:: \phi(y) | w \sim N(m + B \phi(w), C)

    An attacker who knows the mechanism can run it. It is run on 20,000 words drawn uniformly from
    the vocabulary, and m, B and C are fitted by least squares. The log-likelihood of a word is
    then a product of its vector with the sum of the vectors seen, minus a term of the word.

    Notes
    -----
    A surrogate for any mechanism that can be sampled. If noise moves most words far away, the
    nearest word is an outlier. The density of the noise at its vector then carries little
    information and accumulates errors, while B shrinks accordingly. Outputs equal to the input are
    left out of the fit if they are at most half: they are a point mass, not Gaussian.
    """

    space: Embeddings
    slope: Floats  # (d + 1, d): weight of a vector seen for each coordinate of a word, and for 1
    own: Floats  # (V,) term of each word

    @classmethod
    def of_mechanism(cls, mechanism: WordMechanism, space: Embeddings) -> "SimulatedLikelihood":
        """Sample a mechanism and fit the model."""
        rng = generator(_SEED)
        words = rng.integers(space.size, size=_DRAWS)
        outputs = mechanism.bind(space).sample(words, 1, rng)[0]
        changed = outputs != words
        if 2 * np.count_nonzero(changed) < _DRAWS:
            changed[:] = True
        inputs = _extended(space.points(words[changed]))
        seen = space.points(outputs[changed])
        slack = _RIDGE * max(
            float(seen.var(axis=0).mean()), float(inputs.var(axis=0).mean()), 1e-12
        )
        moments = inputs.T @ inputs / len(inputs) + slack * np.eye(space.dim + 1)
        line = np.linalg.solve(moments, inputs.T @ seen / len(inputs))  # (d + 1, d): B, then m
        gaps = seen - inputs @ line
        spread = gaps.T @ gaps / len(gaps) + slack * np.eye(space.dim)
        slope: Floats = np.linalg.solve(spread, line.T).T
        return cls(space, slope, _own(space, slope @ line.T))

    @property
    def rounding(self) -> float:
        """Largest relative difference of two sums that are equal."""
        return ROUNDING

    @property
    def nbytes(self) -> int:
        """Memory use in bytes."""
        return self.own.nbytes + self.slope.nbytes

    def prepare(self, exact: Ids, report: Report = no_progress) -> None:
        """Do nothing: the model is already fitted."""

    def within(self, words: Ids, exact: Ids) -> "SimulatedLikelihood":
        """Return the likelihood restricted to these words."""
        del exact  # nothing is approximated
        return SimulatedLikelihood(subspace(self.space, words), self.slope, self.own[words])

    def of(self, seen: Ids, exact: Ids | None = None) -> Floats:
        """Return the log-likelihood (V,) of every word, up to a constant."""
        del exact  # nothing is approximated
        (logs,) = self.of_slots([seen])
        return logs

    def of_slots(self, seen: Sequence[Ids]) -> Iterator[Floats]:
        """Yield the log-likelihoods (V,) for the words seen in each of many slots."""
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
            points = np.ones((_ROWS, dim + 2))  # vectors, ones, and the terms of the words
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
    """Return half the squared length (V,) of the output that the model expects for each word."""
    out = np.empty(space.size)
    for start in range(0, space.size, _ROWS):
        rows = slice(start, min(start + _ROWS, space.size))
        points = _extended(space.vectors[rows].astype(np.float64))
        out[rows] = 0.5 * np.einsum("ij,ij->i", points @ weights, points)
    return out


def _extended(points: Floats) -> Floats:
    """Append a column of ones."""
    return np.concatenate([points, np.ones((len(points), 1))], axis=1)


Surrogate = Annotated[
    Literal["simulated", "density"],
    Field(description="approximation for a mechanism without a closed form"),
]
_SMALL = 4096  # up to this vocabulary size, the distributions of all words are computed


class Likelihood(Protocol):
    """The likelihood of words given outputs of a mechanism."""

    @property
    def nbytes(self) -> int:
        """Memory use in bytes."""
        ...

    @property
    def rounding(self) -> float:
        """Largest relative difference of two sums that are equal."""
        ...

    def prepare(self, exact: Ids, report: Report = no_progress) -> None:
        """Do the slow work that is needed once, and report progress."""
        ...

    def of(self, seen: Ids, exact: Ids | None = None) -> Floats:
        r"""Return :math:`\sum_j \log P(y_j | w)` (V,) for every word w, up to one constant.

        `seen` (N,) are the words seen in one slot. For the words `exact` (k,), nothing may be
        approximated.
        """
        ...

    def within(self, words: Ids, exact: Ids) -> "Likelihood | None":
        """Return the likelihood restricted to these sorted words (k,), or None if not cheaper.

        Words seen are then given by their position among `words`. For the words `exact`, a subset
        of `words`, nothing may be approximated.
        """
        ...


def slot_likelihoods(law: Likelihood, seen: Sequence[Ids]) -> Iterator[Floats]:
    """Yield the log-likelihoods (V,) for the words seen in each slot."""
    if isinstance(law, SimulatedLikelihood):
        yield from law.of_slots(seen)
    else:
        yield from map(law.of, seen)


def is_fast(law: Likelihood) -> bool:
    """Return whether a prepared likelihood is fast for all words of a large log."""
    return law.quick if isinstance(law, CandidateLikelihood | _ClosedFormLikelihood) else True


def likelihood(
    mechanism: WordMechanism, space: Embeddings, surrogate: Surrogate = "simulated"
) -> Likelihood:
    """Return the exact likelihood of a mechanism, or else a surrogate, once per embeddings."""
    key = ("likelihood", str(mechanism), surrogate)
    entry = space.memo.get(key, _CacheEntry)
    if entry is None:
        entry = _CacheEntry(_make(mechanism, space, surrogate))
        space.memo.put(key, entry)
    return entry.law


class _CacheEntry:
    """An entry of the cache of embeddings."""

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
        return _ClosedFormLikelihood(kernel, space)
    if surrogate == "simulated":
        return SimulatedLikelihood.of_mechanism(mechanism, space)
    if isinstance(mechanism, CMP | Mahalanobis | Vickrey):
        return NoiseLikelihood.of_mechanism(mechanism, space)
    raise ParameterError(
        f"The density of the noise of {mechanism.name} is not known. Use surrogate='simulated'."
    )


class _ClosedFormLikelihood:
    """Any closed form. Slow, because it computes the whole distribution of every word."""

    nbytes = 0
    rounding = ROUNDING

    def __init__(self, kernel: ClosedForm, space: Embeddings) -> None:
        self._kernel, self._space = kernel, space
        self.quick = space.size <= _SMALL

    def prepare(self, exact: Ids, report: Report = no_progress) -> None:
        """Do nothing: no result is cached."""

    def within(self, words: Ids, exact: Ids) -> None:
        """Return None: every distribution is over all words."""

    def of(self, seen: Ids, exact: Ids | None = None) -> Floats:
        """Sum columns of distributions; in a large vocabulary, words not in `exact` get a mean."""
        if self._space.size <= _SMALL:
            exact = None
        words = np.arange(self._space.size) if exact is None else exact
        out = np.full(self._space.size, np.nan)
        for part in in_chunks(words, rows_at_once(self._space)):
            out[words[part]] = self._kernel.log_probs(words[part])[:, seen].sum(axis=1)
        if exact is not None:
            out[np.isnan(out)] = log_mean(out[words])
        return out


_OTHERS = 4096  # words that represent those of the vocabulary that are neither logged nor seen


@dataclass(frozen=True, eq=False)
class WordLikelihoods:
    """Log-likelihoods of some words, computed on demand.

    A word that the vectors do not know is replaced by one drawn uniformly from the vocabulary, so
    its likelihood is the mean over all words. For a large vocabulary, the words of the log and
    those seen, which matter most, are counted individually, and 4,096 others represent the rest.

    Attributes
    ----------
    law, words
        The likelihood, and the sorted words (k,) it is restricted to.
    shares
        (k,) logarithm of the share of the vocabulary that each word represents.
    """

    law: Likelihood
    exact: Ids
    words: Ids
    shares: Floats
    part: bool
    _cache: dict[bytes, Floats] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, law: Likelihood, space: Embeddings, exact: Ids, seen: Ids) -> "WordLikelihoods":
        """Return the likelihoods for the words of a log, given all words that were seen."""
        individual = np.union1d(exact, seen)
        rest = np.setdiff1d(_others(space), individual, assume_unique=False)
        words = np.union1d(individual, rest)
        small = law.within(words, exact) if len(words) < space.size // 2 else None
        if small is None:
            words = np.arange(space.size)
            shares = np.full(space.size, -np.log(space.size))
            return cls(law, exact, words, shares, part=False)
        shares = np.full(len(words), -np.log(space.size))
        shares[np.searchsorted(words, rest)] += np.log((space.size - len(individual)) / len(rest))
        return cls(small, exact, words, shares, part=True)

    def at(self, seen: Ids, ids: Ids) -> Floats:
        """Return the log-likelihoods (m,) of words (-1: unknown), given the words seen.

        Words seen that the vectors do not know carry no information.
        """
        outputs = np.sort(seen[seen >= 0])
        key = outputs.tobytes()
        if key not in self._cache:
            self._cache[key] = self._make(outputs)
        positions = np.searchsorted(self.words, ids) if self.part else ids
        return self._cache[key][np.where(ids < 0, len(self.words), positions)]

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
    """Return a fixed random sample of the vocabulary."""
    words = space.memo.get("other words", np.ndarray)
    if words is None:
        words = np.sort(generator(_SEED).permutation(space.size)[:_OTHERS])
        space.memo.put("other words", words)
    return words
