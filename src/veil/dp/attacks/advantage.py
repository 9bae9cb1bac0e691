"""What an attacker gains over a blind guess."""

import numpy as np
from numpy.typing import ArrayLike

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.measures.estimate import Estimate, interval, resamples


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
    return averaged(gains(guess, truth, scores=scores)[None])


def gains(guess: ArrayLike, truth: ArrayLike, *, scores: bool | None = None) -> Floats:
    """Return what each record (n,) adds to the advantage, which is their mean cut to [0, 1]."""
    guesses, secrets = _pair(guess, truth)
    bits = bool(np.isin(secrets, (0.0, 1.0)).all())
    ranked = bits and not np.isin(guesses[np.isfinite(guesses)], (0.0, 1.0)).all()
    if not (ranked if scores is None else scores):
        return guessed(guesses, secrets)
    if not bits:
        raise InputError("Who is a member must be told by 0 and 1.")
    return traced(guesses, secrets == 1)


def averaged(added: Floats) -> Estimate:
    """Return the mean advantage of several runs (runs, n), with its interval over the records."""
    cut = [np.clip(added[:, drawn].mean(axis=2), 0, 1).mean(axis=0)
           for drawn in resamples(added.shape[1])]  # fmt: skip
    value = float(np.clip(added.mean(axis=1), 0, 1).mean())
    return interval(value, np.concatenate(cut), added.shape[1])


def guessed(guesses: Floats, secrets: Floats) -> Floats:
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


def traced(scores: Floats, members: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Floats:
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
