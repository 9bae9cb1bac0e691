"""Attack a database through its questions, and what an attacker gains over a blind guess."""

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from veil.core.errors import InputError
from veil.core.estimate import Estimate, interval, resamples
from veil.core.rng import Randomness, generator
from veil.core.types import Floats, Ids
from veil.dp.attacks import ATTACKS
from veil.dp.attacks.attacker import Ask, Attack, Mask, Questions
from veil.dp.inputs import count
from veil.dp.mechanism import Mechanism


def advantage(guess: ArrayLike, truth: ArrayLike, *, scores: bool | None = None) -> Estimate:
    r"""Return the risk, from 0 to 1, of guesses or of scores, with its interval over the records.

    .. math:: \max\left(0, \frac{\text{accuracy} - \text{base}}{1 - \text{base}}\right)
       \quad \text{or} \quad \max(0, \text{TPR} - \text{FPR})

    The base is the share of the most frequent secret, which a blind guess reaches. A guess counts
    as the secret that is nearest among those that occur: bits are rounded at 1/2. No guess (nan)
    gains nothing, and loses nothing.

    Parameters
    ----------
    guess
        (n,) guesses, or scores.
    truth
        (n,) the secrets; of scores, who is a member: 0 or 1.
    scores
        Whether `guess` are scores, of which the higher say 1. The threshold for one half of the
        members and of the others (every second of each) is the best one of the other half, and the
        other way round. None: scores are what is told for bits and is not 0, 1 or nan alone.

    Examples
    --------
    >>> float(advantage([1, 1, 0, np.nan], [1, 1, 0, 0]))
    0.75
    >>> float(advantage([0.7, 0.6, 0.9, -0.2, 0.1, 0.3], [1, 1, 1, 0, 0, 0]))
    1.0
    """
    return mean_advantage(gains(guess, truth, scores=scores)[None])


def gains(guess: ArrayLike, truth: ArrayLike, *, scores: bool | None = None) -> Floats:
    """Return what each record (n,) adds to the advantage, which is their mean cut to [0, 1]."""
    guesses, secrets = _pair(guess, truth)
    bits = bool(np.isin(secrets, (0.0, 1.0)).all())
    ranked = bits and not np.isin(guesses[np.isfinite(guesses)], (0.0, 1.0)).all()
    if not (ranked if scores is None else scores):
        return guess_gains(guesses, secrets)
    if not bits:
        raise InputError("Who is a member must be told by 0 and 1.")
    return trace_gains(guesses, secrets == 1)


def mean_advantage(added: Floats) -> Estimate:
    """Return the mean advantage of several runs (runs, n), with its interval over the records."""
    cut = [np.clip(added[:, drawn].mean(axis=2), 0, 1).mean(axis=0)
           for drawn in resamples(added.shape[1])]  # fmt: skip
    value = float(np.clip(added.mean(axis=1), 0, 1).mean())
    return interval(value, np.concatenate(cut), added.shape[1])


def guess_gains(guesses: Floats, secrets: Floats) -> Floats:
    """Return the gain of each guess (n,): 1 if it is right, below 0 if wrong, 0 if there is none.

    Their mean is the advantage. Where all secrets are equal there is nothing to gain.
    """
    values, counts = np.unique(secrets, return_counts=True)
    base = counts.max() / len(secrets)
    if base == 1:
        return np.zeros(len(secrets))
    made = np.isfinite(guesses)
    middles = (values[1:] + values[:-1]) / 2
    nearest = values[np.searchsorted(middles, np.where(made, guesses, 0.0), side="right")]
    return np.where(made, ((nearest == secrets) - base) / (1 - base), 0.0)


def trace_gains(
    scores: Floats, members: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
) -> Floats:
    """Return what each person adds (n,) to the true and takes from the false positive rate.

    Their mean is the advantage. No score (nan) is the lowest.
    """
    n, inside = len(scores), int(members.sum())
    if min(inside, n - inside) < 2:
        raise InputError("Scores are judged by at least two members and two others.")
    ranked = np.where(np.isfinite(scores), scores, -np.inf)
    half = np.zeros(n, dtype=np.bool_)
    for kind in (members, ~members):
        half[np.flatnonzero(kind)[::2]] = True
    said = np.zeros(n, dtype=np.bool_)
    for part in (half, ~half):
        said[part] = ranked[part] >= _threshold(ranked[~part], members[~part])
    weights = np.where(members, n / inside, -n / (n - inside))
    return np.where(said, weights, 0.0)


def _threshold(scores: Floats, members: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> float:
    """Return the score from which on saying "member" gains most: in the middle of a gap."""
    order = np.argsort(-scores, kind="stable")
    steps = np.where(members[order], 1 / members.sum(), -1 / (~members).sum())
    gained, ranked = np.cumsum(steps), np.append(scores[order], -np.inf)
    gained[ranked[1:] == ranked[:-1]] = -np.inf  # equal scores go together
    best = int(np.argmax(gained))
    if gained[best] <= 0:
        return np.inf
    pair = ranked[best : best + 2]
    return float(pair.mean() if np.isfinite(pair).all() else pair[0])


def _pair(guess: ArrayLike, truth: ArrayLike) -> tuple[Floats, Floats]:
    try:
        guesses = np.asarray(guess, dtype=np.float64)
        secrets = np.asarray(truth, dtype=np.float64)
    except (TypeError, ValueError):
        guesses, secrets = np.empty(0), np.empty(0)
    if guesses.ndim != 1 or guesses.shape != secrets.shape or not guesses.size:
        raise InputError("There must be one guess for each secret, at least one, as numbers.")
    if not np.isfinite(secrets).all() or np.isinf(guesses).any():
        raise InputError("Secrets must be finite numbers, and guesses finite or nan.")
    return guesses, secrets


QUESTIONS = 400  # counts that an analyst asks for
RATE = 0.5  # share of ones that is known to all
_AT_ONCE = 16  # answers that are drawn together


class NoisyCounts:
    """Answers how many of a set have the secret, with fresh noise for every answer.

    `size` answers are drawn for each question and their mean is given, which costs that many times
    as much. It is handed to attackers in place of the secret.
    """

    def __init__(self, secret: Ids, mechanism: Mechanism, rng: Generator, size: int = 1) -> None:
        self._secret, self._mechanism, self._rng, self._size = secret, mechanism, rng, size
        self._drawn: dict[
            int, list[float]
        ] = {}  # by exact answer: independent draws, each for one

    def __call__(self, mask: Mask) -> float:
        """Answer one question."""
        exact = int(self._secret[mask].sum())
        left = self._drawn.setdefault(exact, [])
        if not left:
            given = self._mechanism.check(exact)
            draws = self._mechanism.draw(given, _AT_ONCE * self._size, self._rng)
            left += draws.reshape(_AT_ONCE, self._size).mean(axis=1).tolist()
        return left.pop()


def bits(secret: ArrayLike) -> Ids:
    """Return a secret of 0 and 1, or of truth values, as (n,)."""
    given = np.asarray(secret)
    fine = given.ndim == 1 and given.size > 0 and given.dtype.kind in "biuf"
    if not fine or not np.isin(given, (0, 1)).all():
        raise InputError("The secret must be 0 or 1 for each record, at least one.")
    return given.astype(np.int64)


def workload(n: int, rng: Generator, queries: int = QUESTIONS) -> Mask:
    """Draw the sets (queries, n) that an analyst asks about: each record with probability 1/2."""
    return rng.integers(0, 2, (queries, n)).astype(np.bool_)


def usefulness(truth: Floats | Ids, answers: Floats, blind: Floats) -> float:
    r"""Return how much better answers are than the best that are made without the data.

    .. math:: \max(0, 1 - \text{MAE}/\text{MAE}_\text{blind})
    """
    error = float(np.abs(answers - truth).mean())
    unaided = float(np.abs(blind - truth).mean())
    if unaided == 0:  # nothing is to be learnt
        return float(error == 0)
    return max(0.0, 1 - error / unaided)


def attack(spec: str | Attack, ask: Ask, n: int, rng: Randomness = None) -> Floats:
    """Guess the secret of each of n records.

    Parameters
    ----------
    spec
        The attacker: reconstruction, differencing, tracker, averaging or membership, with its
        parameters.
    ask
        Answers a question: handed which of the n records are meant, as truth values (n,), it
        returns their count or sum, exact or noisy, or raises RefusedError. It is all that the
        attacker learns from.
    n
        Number of records.

    Returns
    -------
    Floats
        (n,) guesses, nan where there is none; of membership scores, the higher the likelier.

    Examples
    --------
    >>> import numpy as np
    >>> secret = np.array([1, 0, 0, 1, 1])
    >>> attack("differencing", lambda mask: secret[mask].sum(), 5).tolist()
    [1.0, 0.0, 0.0, 1.0, 1.0]
    """
    size, by = count("n", n), attacker_of(spec)
    return by.found(Questions(ask), size, generator(rng))


def count_questions(spec: str | Attack, n: int) -> int:
    """Return how many questions an attacker puts to n records.

    >>> count_questions("differencing", 100)
    101
    """
    ask = Questions(lambda _: 0.0)
    attacker_of(spec).found(ask, n, generator(0))
    return ask.asked


def attacker_of(spec: str | Attack) -> Attack:
    """Return an attacker from its spec, as ``reconstruction(queries=400)``."""
    return spec if isinstance(spec, Attack) else ATTACKS.parse(spec)
