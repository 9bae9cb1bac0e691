"""Output distribution of a mechanism for a word: exact if known, else by simulation."""

import math
from dataclasses import dataclass

import numpy as np

from veil.core.errors import LawError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.rng import Randomness, generator
from veil.core.types import ClosedForm, Floats, Kernel
from veil.text.mechanisms.mechanism import TextMechanism, WordMechanism
from veil.text.vectors.distances import METRICS, distances
from veil.text.vectors.embeddings import Embeddings

_Z95 = 1.959963984540054  # two-sided 95 % point of the normal distribution


@dataclass(frozen=True, slots=True)
class Explanation:
    """The output distribution of a mechanism for one word.

    Attributes
    ----------
    top
        The most likely outputs with their probabilities, in order.
    itself
        P(M(w) = w), the probability that the word is unchanged (N_w in the literature).
    support
        The smallest number of outputs with 1 - `eta` of the mass (S_w).
    entropy, min_entropy
        Shannon and min-entropy of the output, in bits.
    samples
        Number of draws that the numbers were estimated from, or 0 if they are exact. Estimated
        support and entropy are too low if some possible outputs were not drawn.
    interval
        95 % Wilson interval of an estimated `itself`.
    """

    word: str
    top: tuple[tuple[str, float], ...]
    itself: float
    support: int
    eta: float
    entropy: float
    min_entropy: float
    samples: int = 0
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class LogRatio:
    """The largest log-ratio of two words' output probabilities.

    `value` is the largest log P(y|a) - log P(y|b) in either direction, infinite if an output is
    possible for only one of the words. `output` is the y that attains it. `bound` is the proven
    bound at the words' `distance`: infinite if nothing is proved, nan if the guarantee uses
    another distance.
    """

    words: tuple[str, str]
    value: float
    output: str
    distance: float
    bound: float


def _bind(mechanism: TextMechanism, space: Embeddings) -> Kernel:
    if not isinstance(mechanism, WordMechanism):
        raise LawError(
            f"{mechanism.name} rewrites whole queries, so single words have no distribution."
            " Choose a mechanism that replaces words."
        )
    return mechanism.bind(space)


def law(mechanism: TextMechanism, space: Embeddings, words: list[str]) -> Floats:
    """Return the exact probabilities P(v | w) as (len(words), |V|), in the order of the space."""
    return _closed_form(mechanism, space).probs(space.ids(words))


def _closed_form(mechanism: TextMechanism, space: Embeddings) -> ClosedForm:
    kernel = _bind(mechanism, space)
    if not isinstance(kernel, ClosedForm):
        raise LawError(
            f"{mechanism.name} has no closed-form distribution (it perturbs a vector and takes the"
            " nearest word). Estimate it by simulation with 'explain'."
        )
    return kernel


def explain(
    mechanism: TextMechanism,
    space: Embeddings,
    word: str,
    *,
    top: int = 10,
    eta: float = 0.05,
    samples: int = 20_000,
    rng: Randomness = None,
) -> Explanation:
    """Return the output distribution of a mechanism for a word, exact or from `samples` draws."""
    if not 0 < eta < 1:
        raise ParameterError(
            f"The 'eta' argument must be between 0 and 1. Got {eta!r:.40} instead."
        )
    if not 1 <= samples <= 10_000_000:
        raise ParameterError("The 'samples' argument must be between 1 and 10,000,000.")
    ids = space.ids([word])
    kernel = _bind(mechanism, space)
    if isinstance(kernel, ClosedForm):
        probabilities = kernel.probs(ids)[0]
        sampled = 0
    else:
        outputs = kernel.sample(ids, samples, generator(rng))
        probabilities = np.bincount(outputs[:, 0], minlength=space.size) / samples
        sampled = samples
    itself = float(probabilities[ids[0]])
    order = np.argsort(-probabilities, kind="stable")
    likeliest = [i for i in order[:top].tolist() if probabilities[i] > 0]
    positive = probabilities[probabilities > 0]
    covered = np.cumsum(probabilities[order])
    return Explanation(
        word=space.words[int(ids[0])],
        top=tuple((space.words[i], float(probabilities[i])) for i in likeliest),
        itself=itself,
        support=int(np.searchsorted(covered, (1 - eta) * covered[-1] * (1 - 1e-12)) + 1),
        eta=eta,
        entropy=float(-(positive * np.log2(positive)).sum()),
        min_entropy=float(-np.log2(positive.max())),
        samples=sampled,
        interval=wilson(itself, sampled) if sampled else None,
    )


def log_ratio(mechanism: TextMechanism, space: Embeddings, first: str, second: str) -> LogRatio:
    """Return the exact worst-case log-ratio between two words."""
    ids = space.ids([first, second])
    logs = _closed_form(mechanism, space).log_probs(ids)
    with np.errstate(invalid="ignore"):  # -inf - -inf: possible for neither
        gap = np.abs(logs[0] - logs[1])
    gap[np.isneginf(logs).all(axis=0)] = 0
    worst = int(np.argmax(gap))
    guarantee = mechanism.guarantee
    distance = math.nan
    if guarantee.metric in METRICS:
        distance = float(distances(space, ids[:1], guarantee.metric)[0, ids[1]])
    return LogRatio(
        words=(space.words[int(ids[0])], space.words[int(ids[1])]),
        value=float(gap[worst]),
        output=space.words[worst],
        distance=distance,
        bound=_bound(guarantee, distance, float(gap[worst])),
    )


def _bound(guarantee: Guarantee, distance: float, value: float) -> float:
    """Return the proven bound, infinite if by design an output identifies one of the words.

    That is so for words of different groups, and for words that may be kept.
    """
    if guarantee.kind in ("group-dp", "umldp") and math.isinf(value):
        return math.inf
    return guarantee.bound(distance)


def wilson(share: float, samples: int) -> tuple[float, float]:
    """Return the 95 % Wilson interval of a share of samples."""
    z2 = _Z95**2 / samples
    centre = (share + z2 / 2) / (1 + z2)
    half = _Z95 / (1 + z2) * math.sqrt(share * (1 - share) / samples + z2 / (4 * samples))
    return max(0.0, centre - half), min(1.0, centre + half)
