r"""Hold a claimed epsilon against samples.

For two words w, w' and any set E of outputs a claim says
:math:`\ln \Pr[E|w] - \ln \Pr[E|w'] \le B`. The audit draws from the mechanism, chooses E on one
half of the samples, and bounds both probabilities on the other half (Clopper and Pearson), so that

.. math:: \ln \frac{\text{lower}(\Pr[E|w])}{\text{upper}(\Pr[E|w'])}

is, but for a stated chance of error, a lower bound on the true loss. If it exceeds B, the claim is
false of this code. If it does not, nothing is proved: a fault may hide from the samples.

Two views are tested. One place: the output for w against that for w'. Two places: the outputs for
the texts (w, w) and (w, w'), of which the second word and whether both came out alike are looked
at; noise that is shared between places or workers shows there. The second text differs from the
first in one word, so that the claim is the same.

References
----------
Ding, Wang, Wang, Zhang, Kifer. Detecting Violations of Differential Privacy. CCS 2018.
doi:10.1145/3243734.3243818
Clopper, Pearson. The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial.
Biometrika 26(4), 1934. doi:10.1093/biomet/26.4.404

Notes
-----
The chance of error is divided among all bounds of an audit (pairs x views x 2 directions x 2), so
that a correct mechanism is accused with a chance of at most `error`, whatever is chosen.
The draws of one call are taken to be independent, as every kernel promises: an audit of one that
repeats a draw for all variants is void, though such a release costs less than it claims.
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
        together = b in group_members(mechanism, space, a)
        return Claim(guarantee.epsilon, "proved") if together else NOTHING
    gap = named_distance(space, a, b, guarantee.metric)
    return NOTHING if gap is None else Claim(guarantee.bound(gap), "proved")


def group_members(mechanism: WordMechanism, space: Embeddings, word: int) -> Ids:
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


def named_distance(space: Embeddings, a: int, b: int, metric: str) -> float | None:
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


Verdict = Literal["REFUTED", "not refuted", "out of reach", "nothing is claimed"]
_FEWEST = 1_000
_VIEWS = 2


@dataclass(frozen=True)
class PairAudit:
    """What was found of two words.

    Attributes
    ----------
    words
        The word under which the event is likelier, and the other.
    claimed, source
        The bound that is claimed, None where there is none; "proved" by the guarantee, or
        "published" only.
    lower
        The bound that was measured: the true log-ratio is at least this.
    places
        1 or 2: the view that showed it.
    hits, trials
        How often the event came under either word, in how many samples each.
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
        """What part of the claim was measured; above 1 it is refuted, -1 if there is none."""
        if self.claimed is None:
            return -1.0
        return self.lower / self.claimed if self.claimed else math.inf if self.lower else 0.0


@dataclass(frozen=True)
class ClaimAudit:
    """The audit of a mechanism: `pairs` of words, and the chance that it accuses wrongly."""

    mechanism: str
    pairs: tuple[PairAudit, ...]
    samples: int
    error: float

    @property
    def worst(self) -> PairAudit:
        """The pair whose measured bound comes nearest to its claim, or exceeds it the most.

        That is in proportion: two words that are nearly the same may hardly differ.
        """
        return max(self.pairs, key=lambda pair: (pair.reached, pair.lower))

    @property
    def exceeded(self) -> bool:
        """Whether the claim is refuted for any pair."""
        return any(pair.exceeded for pair in self.pairs)

    @property
    def reach(self) -> float:
        """The most that so many samples can show: a claim above it cannot be refuted by them."""
        trials, share = self.samples - self.samples // 2, _share(self.error, len(self.pairs))
        return math.log(lower_share(trials, trials, share) / upper_share(0, trials, share))

    @property
    def verdict(self) -> Verdict:
        """What came of it; a claim that is not refuted is not thereby proved."""
        claims = [pair.claimed for pair in self.pairs if pair.claimed is not None]
        if not claims:
            return "nothing is claimed"
        if self.exceeded:
            return "REFUTED"
        return "not refuted" if min(claims) < self.reach else "out of reach"

    def __str__(self) -> str:
        worst = self.worst
        if worst.claimed is None:
            said = "nothing is claimed"
        else:
            said = f"{worst.source} bound {worst.claimed:.3f}"
        verdict = "REFUTED" if self.exceeded else "not refuted"
        return f"{self.mechanism}: measured >= {worst.lower:.3f}, {said}: {verdict}"


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
    """Draw from a mechanism and hold what it claims against the samples.

    Parameters
    ----------
    words
        Two words to tell apart; without them `pairs` pairs are chosen: a random word with its
        nearest, and with a random one (of its group, where the claim is for groups).
    samples
        Draws for each of the two inputs of a pair. They limit what can be shown: even an unbounded
        loss measures 6.3 or so with the default, and ln 10 more with ten times as many.
    error
        Largest chance that a correct mechanism is accused by this audit.
    """
    _check(samples, pairs, error)
    source = generator(rng)
    chosen = [_named(space, words)] if words else _choose(mechanism, space, pairs, source)
    kernel = mechanism.bind(space)
    share = _share(error, len(chosen))
    found = []
    for a, b in chosen:
        said = _limit(mechanism, space, kernel, a, b)
        found.append(_audit(kernel, space, (a, b), said, samples, share, source))
    return ClaimAudit(str(mechanism), tuple(found), samples, error)


def line_space() -> Embeddings:
    """Return words that stand a hundredth apart along a line.

    There a claim is nearly reached, and what exceeds it shows in few samples: at an epsilon of 10,
    neighbours may differ by 0.1 and the two ends by 6. Of words as far apart as those of GloVe,
    claims are so high that no number of samples would refute them.
    """
    x = np.arange(-30, 31) / 100
    y = 0.002 * (-1.0) ** np.arange(len(x))  # a second dimension, for shapes and angles
    words = tuple(f"word{i}" for i in range(len(x)))
    return Embeddings(words, np.stack([x, y], axis=1).astype(np.float32), "line")


def _share(error: float, pairs: int) -> float:
    """Divide the chance of error among all bounds of an audit."""
    return error / (pairs * _VIEWS * 2 * 2)


def _audit(
    kernel: Kernel,
    space: Embeddings,
    pair: tuple[int, int],
    said: tuple[Claim, int],
    samples: int,
    share: float,
    rng: Generator,
) -> PairAudit:
    """Bound the loss in both views and directions, and keep the largest bound."""
    a, b = pair
    stated, first = said
    drawn = [kernel.sample(np.array(text), samples, rng) for text in ((a, a), (a, b))]
    found = []
    for places in range(1, _VIEWS + 1):
        seen = [_code(outputs, places, first) for outputs in drawn]
        for one, other in ((0, 1), (1, 0)):
            lower, hits = log_ratio(seen[one], seen[other], share)
            names = (space.words[pair[one]], space.words[pair[other]])
            trials = samples - samples // 2
            found.append(
                PairAudit(names, stated.bound, stated.source, lower, places, hits, trials)
            )
    return max(found, key=lambda each: each.lower)


def _code(outputs: Ids, places: int, first: int) -> Ids:
    """Give what is looked at a number; -1 for outputs that the claim does not cover."""
    last = outputs[:, 1]
    code = last if places == 1 else 2 * last + (outputs[:, 0] == last)
    return np.where(last >= first, code, -1)


def _limit(
    mechanism: WordMechanism, space: Embeddings, kernel: Kernel, a: int, b: int
) -> tuple[Claim, int]:
    """Return the claim, and the first output that it covers (all words from there on)."""
    if mechanism.guarantee.kind != "umldp":
        return claim(mechanism, space, a, b), 0
    first = getattr(kernel, "first", None)
    if not isinstance(first, int):  # which outputs are sensitive is not known
        return Claim(None, ""), 0
    return claim(mechanism, space, a, b), first


def _named(space: Embeddings, words: tuple[str, str]) -> tuple[int, int]:
    if isinstance(words, str) or len(words) != 2:
        raise InputError("An audit tells two words apart; give two, or none.")
    a, b = space.ids(words).tolist()
    if a == b:
        raise InputError("An audit tells two words apart; the two given are the same.")
    return a, b


def _choose(
    mechanism: WordMechanism, space: Embeddings, pairs: int, rng: Generator
) -> list[tuple[int, int]]:
    """Pair random words with their nearest and with random ones, in turn."""
    if space.size < 2:
        raise InputError(f"An audit needs at least 2 words; {space.name} has {space.size}.")
    chosen = []
    for number in range(pairs):
        a = int(rng.integers(space.size))
        others = (
            group_members(mechanism, space, a) if mechanism.guarantee.kind == "group-dp" else None
        )
        if others is not None and len(others):
            b = int(rng.choice(others))
        elif number % 2 == 0:
            near, _ = space.searcher.nearest(space.points(np.array([a])), 2)
            b = int(near[0][near[0] != a][0])
        else:
            b = (a + 1 + int(rng.integers(space.size - 1))) % space.size
        chosen.append((a, b))
    return chosen


def _check(samples: int, pairs: int, error: float) -> None:
    for name, value, least in (("samples", samples, _FEWEST), ("pairs", pairs, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ParameterError(f"The '{name}' of an audit must be a whole number >= {least}.")
    if not isinstance(error, float) or not 0 < error < 1:
        raise ParameterError("The 'error' of an audit must be a number between 0 and 1.")
