r"""Test a claimed epsilon with samples.

For two words w, w' and any set E of outputs, a claim is a bound
:math:`\ln \Pr[E|w] - \ln \Pr[E|w'] \le B`. The audit samples the mechanism, chooses E on one half
of the samples, and bounds both probabilities on the other half (Clopper and Pearson), so that

.. math:: \ln \frac{\text{lower}(\Pr[E|w])}{\text{upper}(\Pr[E|w'])}

is a lower bound on the true loss, except with a stated probability. If it exceeds B, the claim is
false for this code. If it does not, nothing is proved: the samples may miss a fault.

Two views are tested. One position: the output for w against the output for w'. Two positions: the
outputs for the texts (w, w) and (w, w'), reduced to the second word and whether both outputs are
equal. This view exposes noise that is shared between positions or workers. The two texts differ in
one word, so the claim is the same.

References
----------
Ding, Wang, Wang, Zhang, Kifer. Detecting Violations of Differential Privacy. CCS 2018.
doi:10.1145/3243734.3243818
Clopper, Pearson. The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial.
Biometrika 26(4), 1934. doi:10.1093/biomet/26.4.404

Notes
-----
The error probability is divided among all bounds of an audit (pairs x views x 2 directions x 2).
For any choice of events, a correct mechanism is refuted with probability at most `error`.
The audit assumes that the samples of one call are independent, as every kernel promises. For a
kernel that repeats one sample for all variants it is void, although such a release costs less than
it claims.
"""

import math
import re
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator

from veil.core.errors import InputError, ParameterError
from veil.core.rng import Randomness, generator
from veil.core.types import Floats, Ids, Kernel
from veil.measures.bounds import log_ratio, lower_share, upper_share
from veil.text.mechanisms.mechanism import WordMechanism
from veil.text.mechanisms.words.custext import CusText, groups
from veil.text.mechanisms.words.mahalanobis import Mahalanobis
from veil.text.mechanisms.words.vickrey import Vickrey
from veil.text.mechanisms.words.wbb import WBB
from veil.text.vectors.distances import distances
from veil.text.vectors.embeddings import Embeddings

Source = Literal["proved", "published", ""]
_MAHALANOBIS = re.compile(r"mahalanobis\(lam=([0-9.e+-]+)\)")
_ROWS = 16_384


@dataclass(frozen=True)
class Claim:
    """The largest log-ratio that is claimed, and the source of the claim.

    `source` is "proved" if the mechanism's guarantee states the bound, and "published" if there is
    no guarantee but the paper or its code states it. `bound` is None if nothing is claimed.
    """

    bound: float | None
    source: Source


NOTHING = Claim(None, "")


def claim(mechanism: WordMechanism, space: Embeddings, a: int, b: int) -> Claim:
    """Return the claim for two words of the embeddings."""
    guarantee = mechanism.guarantee
    if guarantee.kind == "none":
        return _published(mechanism, space, a, b)
    if guarantee.kind == "group-dp":
        together = b in group_members(mechanism, space, a)
        return Claim(guarantee.epsilon, "proved") if together else NOTHING
    distance = named_distance(space, a, b, guarantee.metric)
    return NOTHING if distance is None else Claim(guarantee.bound(distance), "proved")


def group_members(mechanism: WordMechanism, space: Embeddings, word: int) -> Ids:
    """Return the other words in the group of a word, or no words if the groups are not known."""
    if not isinstance(mechanism, CusText):
        return np.empty(0, dtype=np.int64)
    members = groups(space, mechanism.k, mechanism.metric).members(np.array([word]))[0]
    return np.array([i for i in members.tolist() if i not in (-1, word)], dtype=np.int64)


def _published(mechanism: WordMechanism, space: Embeddings, a: int, b: int) -> Claim:
    """Return the bound stated by the paper or its code, for a mechanism without a guarantee."""
    if isinstance(mechanism, WBB | CusText):  # stated as eps-DP between any two words
        return Claim(mechanism.epsilon, "published")
    if isinstance(mechanism, Mahalanobis | Vickrey):  # stated with the paper's metric
        distance = _mahalanobis_distance(space, a, b, mechanism.lam)
        return Claim(mechanism.epsilon * distance, "published")
    return NOTHING


def named_distance(space: Embeddings, a: int, b: int, metric: str) -> float | None:
    """Return the distance of two words in the named metric, or None if it is not known here."""
    match = _MAHALANOBIS.fullmatch(metric)
    if match is not None:
        return _mahalanobis_distance(space, a, b, float(match[1]))
    if metric == "euclidean":
        return float(np.linalg.norm(np.diff(space.points(np.array([a, b])), axis=0)))
    if metric == "angular":
        return float(distances(space, np.array([a]), metric)[0, b])
    return None


def _mahalanobis_distance(space: Embeddings, a: int, b: int, lam: float) -> float:
    r"""Return :math:`\sqrt{(x-y)^\top M^{-1} (x-y)}`."""
    difference = np.diff(space.points(np.array([a, b])), axis=0)[0]
    return float(np.sqrt(difference @ np.linalg.solve(_covariance(space, lam), difference)))


def _covariance(space: Embeddings, lam: float) -> Floats:
    """Return lam * Sigma + (1 - lam) * I, with Sigma scaled to trace d.

    It is not taken from the mechanism, because the audit must also test how the mechanism computes
    it.
    """
    key = ("audited covariance", lam)
    covariance = space.memo.get(key, np.ndarray)
    if covariance is None:
        blocks = range(0, space.size, _ROWS)
        total = np.zeros(space.dim)
        for start in blocks:
            total += space.vectors[start : start + _ROWS].sum(axis=0, dtype=np.float64)
        mean = total / space.size
        scatter = np.zeros((space.dim, space.dim))
        for start in blocks:
            centred = space.vectors[start : start + _ROWS].astype(np.float64) - mean
            scatter += centred.T @ centred
        sigma = scatter * (space.dim / np.trace(scatter))
        covariance = lam * sigma + (1 - lam) * np.eye(space.dim)
        space.memo.put(key, covariance)
    mixed: Floats = covariance
    return mixed


Verdict = Literal["REFUTED", "not refuted", "out of reach", "nothing is claimed"]
_MIN_SAMPLES = 1_000
_VIEWS = 2


@dataclass(frozen=True)
class PairAudit:
    """The result of an audit for two words.

    Attributes
    ----------
    words
        The word under which the event is likelier, and the other word.
    claimed, source
        The claimed bound (None if there is none), and whether it is "proved" by the guarantee or
        only "published".
    lower
        The measured bound: the true log-ratio is at least this.
    places
        The view that gave it: 1 or 2 positions.
    hits, trials
        Occurrences of the event under each word, and the number of samples for each.
    """

    words: tuple[str, str]
    claimed: float | None
    source: Source
    lower: float
    places: int
    hits: tuple[int, int]
    trials: int

    @property
    def exceeded(self) -> bool:
        """Whether the samples refute the claim."""
        return self.claimed is not None and self.lower > self.claimed

    @property
    def reached(self) -> float:
        """Measured bound as a share of the claim: above 1 it is refuted; -1 without a claim."""
        if self.claimed is None:
            return -1.0
        return self.lower / self.claimed if self.claimed else math.inf if self.lower else 0.0


@dataclass(frozen=True)
class ClaimAudit:
    """The audit of a mechanism on `pairs` of words, and its probability of a false refutation."""

    mechanism: str
    pairs: tuple[PairAudit, ...]
    samples: int
    error: float

    @property
    def worst(self) -> PairAudit:
        """The pair whose measured bound is the largest share of its claim.

        It is compared as a share, because for two nearly equal words the claim is small.
        """
        return max(self.pairs, key=lambda pair: (pair.reached, pair.lower))

    @property
    def exceeded(self) -> bool:
        """Whether the claim is refuted for any pair."""
        return any(pair.exceeded for pair in self.pairs)

    @property
    def reach(self) -> float:
        """Largest bound that this number of samples can show. Higher claims cannot be refuted."""
        trials, share = self.samples - self.samples // 2, _share(self.error, len(self.pairs))
        return math.log(lower_share(trials, trials, share) / upper_share(0, trials, share))

    @property
    def verdict(self) -> Verdict:
        """The verdict. A claim that is not refuted is not thereby proved."""
        claims = [pair.claimed for pair in self.pairs if pair.claimed is not None]
        if not claims:
            return "nothing is claimed"
        if self.exceeded:
            return "REFUTED"
        return "not refuted" if min(claims) < self.reach else "out of reach"

    def __str__(self) -> str:
        worst = self.worst
        if worst.claimed is None:
            claim = "nothing is claimed"
        else:
            claim = f"{worst.source} bound {worst.claimed:.3f}"
        verdict = "REFUTED" if self.exceeded else "not refuted"
        return f"{self.mechanism}: measured >= {worst.lower:.3f}, {claim}: {verdict}"


def audit_claim(
    mechanism: WordMechanism,
    space: Embeddings,
    words: tuple[str, str] | None = None,
    *,
    samples: int = 20_000,
    pairs: int = 4,
    error: float = 1e-6,
    rng: Randomness = None,
) -> ClaimAudit:
    """Sample a mechanism and test its claim.

    Parameters
    ----------
    words
        Two words to compare. Without them, `pairs` pairs are chosen, in turn a random word with
        its nearest word and with a random word (always of its group, if the claim is for groups).
    samples
        Samples for each of the two inputs of a pair. They limit what can be shown: even an
        unbounded loss measures about 6.3 with the default, and ln 10 more with ten times as many.
    error
        Largest probability that this audit refutes a correct mechanism.
    """
    _check(samples, pairs, error)
    source = generator(rng)
    indices = [_word_ids(space, words)] if words else _choose(mechanism, space, pairs, source)
    kernel = mechanism.bind(space)
    share = _share(error, len(indices))
    audits = []
    for a, b in indices:
        limit = _limit(mechanism, space, kernel, a, b)
        audits.append(_audit(kernel, space, (a, b), limit, samples, share, source))
    return ClaimAudit(str(mechanism), tuple(audits), samples, error)


def line_space() -> Embeddings:
    """Return embeddings of words along a line, at distances of a hundredth.

    In these, mechanisms nearly reach their claims, and a violation shows in few samples: at an
    epsilon of 10, neighbours may differ by 0.1 and the two ends by 6. For words as far apart as
    those of GloVe, claims are so high that no number of samples would refute them.
    """
    x = np.arange(-30, 31) / 100
    y = 0.002 * (-1.0) ** np.arange(len(x))  # a second dimension, for shapes and angles
    words = tuple(f"word{i}" for i in range(len(x)))
    return Embeddings(words, np.stack([x, y], axis=1).astype(np.float32), "line")


def _share(error: float, pairs: int) -> float:
    """Divide the error probability among all bounds of an audit."""
    return error / (pairs * _VIEWS * 2 * 2)


def _audit(
    kernel: Kernel,
    space: Embeddings,
    pair: tuple[int, int],
    limit: tuple[Claim, int],
    samples: int,
    share: float,
    rng: Generator,
) -> PairAudit:
    """Bound the loss in both views and directions, and return the largest bound."""
    a, b = pair
    claim, first = limit
    outputs = [kernel.sample(np.array(text), samples, rng) for text in ((a, a), (a, b))]
    trials = samples - samples // 2
    audits = []
    for places in range(1, _VIEWS + 1):
        codes = [_encode(output, places, first) for output in outputs]
        for i, j in ((0, 1), (1, 0)):
            lower, hits = log_ratio(codes[i], codes[j], share)
            names = (space.words[pair[i]], space.words[pair[j]])
            audits.append(PairAudit(names, claim.bound, claim.source, lower, places, hits, trials))
    return max(audits, key=lambda audit: audit.lower)


def _encode(outputs: Ids, places: int, first: int) -> Ids:
    """Return a number for each output in a view, -1 for outputs that the claim does not cover."""
    last = outputs[:, 1]
    code = last if places == 1 else 2 * last + (outputs[:, 0] == last)
    return np.where(last >= first, code, -1)


def _limit(
    mechanism: WordMechanism, space: Embeddings, kernel: Kernel, a: int, b: int
) -> tuple[Claim, int]:
    """Return the claim and the id of the first word that it covers, as an output."""
    if mechanism.guarantee.kind != "umldp":
        return claim(mechanism, space, a, b), 0
    first = getattr(kernel, "first", None)
    if not isinstance(first, int):  # the sensitive outputs are not known
        return Claim(None, ""), 0
    return claim(mechanism, space, a, b), first


def _word_ids(space: Embeddings, words: tuple[str, str]) -> tuple[int, int]:
    if isinstance(words, str) or len(words) != 2:
        raise InputError("An audit compares two different words. Pass two words, or none.")
    a, b = space.ids(words).tolist()
    if a == b:
        raise InputError("An audit compares two different words. These two are the same.")
    return a, b


def _choose(
    mechanism: WordMechanism, space: Embeddings, pairs: int, rng: Generator
) -> list[tuple[int, int]]:
    """Pair random words with their nearest words and with random words, in turn."""
    if space.size < 2:
        raise InputError(f"An audit needs at least 2 words. {space.name} has {space.size}.")
    words = []
    for number in range(pairs):
        a = int(rng.integers(space.size))
        others = (
            group_members(mechanism, space, a) if mechanism.guarantee.kind == "group-dp" else None
        )
        if others is not None and len(others):
            b = int(rng.choice(others))
        elif number % 2 == 0:
            nearest, _ = space.searcher.nearest(space.points(np.array([a])), 2)
            b = int(nearest[0][nearest[0] != a][0])
        else:
            b = (a + 1 + int(rng.integers(space.size - 1))) % space.size
        words.append((a, b))
    return words


def _check(samples: int, pairs: int, error: float) -> None:
    for name, value, least in (("samples", samples, _MIN_SAMPLES), ("pairs", pairs, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ParameterError(f"The '{name}' of an audit must be a whole number >= {least}.")
    if not isinstance(error, float) or not 0 < error < 1:
        raise ParameterError("The 'error' of an audit must be a number between 0 and 1.")
