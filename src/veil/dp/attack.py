"""Attacks on a database through its answers, and their advantage over blind guessing.

Every attack subclasses `Attack` and learns only from `Questions`. `attack` runs one by its spec,
and `score` turns its guesses into an outcome.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from veil.core.component import Component
from veil.core.errors import InputError, ParameterError, RefusedError
from veil.core.estimate import Estimate, bootstrap, interval, resamples
from veil.core.outcome import Choice
from veil.core.rng import Randomness, generator
from veil.core.types import Floats, Ids
from veil.dp.inputs import count
from veil.dp.mechanism import Mechanism

Mask = NDArray[np.bool_]
Ask = Callable[[Mask], Any]  # maps a set of records (n,) to a number: a count, or a secret's sum


class Questions:
    """The database as an attacker sees it: only answers to questions.

    `asked` counts the questions, including refused ones. A refusal returns nan. The empty set is
    answered with 0 and not counted.
    """

    def __init__(self, ask: Ask) -> None:
        if not callable(ask):
            raise ParameterError("The 'ask' argument must be a function of a set of records.")
        self._ask = ask
        self.asked = 0

    def __call__(self, mask: Mask) -> float:
        """Ask about a set of records (n,)."""
        if not mask.any():
            return 0.0
        self.asked += 1
        try:
            answer = self._ask(mask.copy())
        except RefusedError:
            return math.nan
        return _number(answer)

    def batch(self, masks: Mask) -> Floats:
        """Return the answers (m,) for several sets (m, n), asked in turn."""
        return np.array([self(mask) for mask in masks])


def _number(answer: object) -> float:
    try:
        number = float(np.asarray(answer, dtype=np.float64).reshape(()))
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError("'ask' must return one finite number, or raise RefusedError.")
    return number


class Attack(Component):
    """Guesses a secret number for each record from answers about sets of records.

    `gives` is "guesses" for guesses of the secret, or "scores" if only their order matters.
    """

    gives: ClassVar[Literal["guesses", "scores"]] = "guesses"

    @abstractmethod
    def run(self, ask: Questions, n: int, rng: Generator) -> Floats:
        """Return a guess or score (n,) for each of n records; nan for no guess."""


class Targeted(Attack):
    """An attack on one record at a time."""

    target: Annotated[
        int | None, Field(ge=0, description="record to attack, from 0; none: every record")
    ] = None

    @abstractmethod
    def begin(self, ask: Questions, n: int, rng: Generator) -> Callable[[Mask], float]:
        """Ask the questions that all targets share; return a function that guesses one secret."""

    def run(self, ask: Questions, n: int, rng: Generator) -> Floats:
        """Attack the target, or every record."""
        if self.target is not None and self.target >= n:
            raise InputError(
                f"The target of {self.name} must be a record from 0 to {n - 1:,}. Got"
                f" {self.target} instead."
            )
        guesses = np.full(n, np.nan)
        secret = self.begin(ask, n, rng)
        for at in range(n) if self.target is None else (self.target,):
            guesses[at] = secret(np.arange(n) == at)
        return guesses


def attack(spec: str | Attack, ask: Ask, n: int, rng: Randomness = None) -> Floats:
    """Guess the secret of each of n records.

    Parameters
    ----------
    spec
        The attack: reconstruction, differencing, tracker, averaging or membership, with its
        parameters.
    ask
        Function of a set of the n records, a boolean array (n,): it returns their count or sum,
        exact or noisy, or raises RefusedError. The attacker learns from nothing else.
    n
        Number of records.

    Returns
    -------
    Floats
        (n,) guesses, nan for no guess; for membership, scores: a higher score means a likelier
        member. `score` turns both into an outcome.

    Examples
    --------
    >>> import numpy as np
    >>> secret = np.array([1, 0, 0, 1, 1])
    >>> attack("differencing", lambda mask: secret[mask].sum(), 5).tolist()
    [1.0, 0.0, 0.0, 1.0, 1.0]
    """
    size, by = count("n", n), attacker_of(spec)
    return by.run(Questions(ask), size, generator(rng))


def count_questions(spec: str | Attack, n: int) -> int:
    """Return the number of questions that an attack asks about n records.

    >>> count_questions("differencing", 100)
    101
    """
    ask = Questions(lambda _: 0.0)
    attacker_of(spec).run(ask, n, generator(0))
    return ask.asked


def attacker_of(spec: str | Attack) -> Attack:
    """Return an attack from its spec, such as ``reconstruction(queries=400)``."""
    from veil.dp.attacks import ATTACKS

    return spec if isinstance(spec, Attack) else ATTACKS.parse(spec)


def score(guess: ArrayLike, truth: ArrayLike, *, scores: bool | None = None) -> Choice:
    """Return the outcome of guesses of bits, or of membership scores.

    Arguments are those of `advantage`. The two worlds are a secret of 0 and of 1. `risk` is the
    advantage, and `baseline` the share of the more frequent bit, or 0 for scores. No guess (nan)
    decides for 0 and succeeds as often as the baseline.
    """
    guesses, secrets = _pair(guess, truth)
    if not np.isin(secrets, (0.0, 1.0)).all():
        raise InputError("Secrets must be 0 or 1.")
    inside = secrets == 1
    ranked = not np.isin(guesses[np.isfinite(guesses)], (0.0, 1.0)).all()
    ranked = ranked if scores is None else scores
    added = gains(guesses, secrets, scores=ranked)
    risk = mean_advantage(added[None])
    if ranked:
        return Choice(
            unit="record", decisions=added != 0, inside=inside, scores=guesses, estimate=risk
        )
    base = max(float(inside.mean()), 1 - float(inside.mean()))
    success = base + (1 - base) * added
    return Choice(
        unit="record",
        per_record=success,
        baseline=base,
        mean=bootstrap(success),
        estimate=risk,
        decisions=np.where(np.isfinite(guesses), guesses, 0.0) >= 0.5,
        inside=inside,
    )


def advantage(guess: ArrayLike, truth: ArrayLike, *, scores: bool | None = None) -> Estimate:
    r"""Return the risk of guesses or scores, from 0 to 1, with an interval over the records.

    .. math:: \max\left(0, \frac{\text{accuracy} - \text{base}}{1 - \text{base}}\right)
       \quad \text{or} \quad \max(0, \text{TPR} - \text{FPR})

    The base is the share of the most frequent secret: the success of a blind guess. A guess counts
    as the nearest secret that occurs, so bits are rounded at 1/2. No guess (nan) neither gains nor
    loses.

    Parameters
    ----------
    guess
        (n,) guesses, or scores.
    truth
        (n,) the secrets; for scores, 1 for members and 0 for others.
    scores
        Whether `guess` contains scores; higher scores mean 1. Members and non-members are split
        into two halves (every second of each), and each half uses the best threshold of the other.
        None: guesses of bits are scores if any is not 0, 1 or nan.

    Examples
    --------
    >>> float(advantage([1, 1, 0, np.nan], [1, 1, 0, 0]))
    0.75
    >>> float(advantage([0.7, 0.6, 0.9, -0.2, 0.1, 0.3], [1, 1, 1, 0, 0, 0]))
    1.0
    """
    return mean_advantage(gains(guess, truth, scores=scores)[None])


def gains(guess: ArrayLike, truth: ArrayLike, *, scores: bool | None = None) -> Floats:
    """Return the gain of each record (n,); the advantage is their mean, clipped to [0, 1]."""
    guesses, secrets = _pair(guess, truth)
    bits = bool(np.isin(secrets, (0.0, 1.0)).all())
    ranked = bits and not np.isin(guesses[np.isfinite(guesses)], (0.0, 1.0)).all()
    if not (ranked if scores is None else scores):
        return guess_gains(guesses, secrets)
    if not bits:
        raise InputError("Membership labels must be 0 or 1.")
    return trace_gains(guesses, secrets == 1)


def mean_advantage(added: Floats) -> Estimate:
    """Return the mean advantage of several runs (runs, n), with its interval over the records."""
    cut = [np.clip(added[:, sample].mean(axis=2), 0, 1).mean(axis=0)
           for sample in resamples(added.shape[1])]  # fmt: skip
    value = float(np.clip(added.mean(axis=1), 0, 1).mean())
    return interval(value, np.concatenate(cut), added.shape[1])


def guess_gains(guesses: Floats, secrets: Floats) -> Floats:
    """Return the gain of each guess (n,): 1 if right, negative if wrong, 0 for no guess.

    Their mean is the advantage. If all secrets are equal, there is nothing to gain.
    """
    values, counts = np.unique(secrets, return_counts=True)
    base = counts.max() / len(secrets)
    if base == 1:
        return np.zeros(len(secrets))
    present = np.isfinite(guesses)
    middles = (values[1:] + values[:-1]) / 2
    nearest = values[np.searchsorted(middles, np.where(present, guesses, 0.0), side="right")]
    return np.where(present, ((nearest == secrets) - base) / (1 - base), 0.0)


def trace_gains(
    scores: Floats, members: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
) -> Floats:
    """Return what each person (n,) adds to the true positive rate, or to the false one, negated.

    Their mean is the advantage. No score (nan) ranks lowest.
    """
    n, inside = len(scores), int(members.sum())
    if min(inside, n - inside) < 2:
        raise InputError("Scores need at least two members and two non-members.")
    ranked = np.where(np.isfinite(scores), scores, -np.inf)
    half = np.zeros(n, dtype=np.bool_)
    for kind in (members, ~members):
        half[np.flatnonzero(kind)[::2]] = True
    inside_guess = np.zeros(n, dtype=np.bool_)
    for part in (half, ~half):
        inside_guess[part] = ranked[part] >= _threshold(ranked[~part], members[~part])
    weights = np.where(members, n / inside, -n / (n - inside))
    return np.where(inside_guess, weights, 0.0)


def _threshold(scores: Floats, members: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> float:
    """Return the threshold with the largest gain, in the middle between two scores."""
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
        raise InputError("There must be one number per secret, and at least one secret.")
    if not np.isfinite(secrets).all() or np.isinf(guesses).any():
        raise InputError("Secrets must be finite numbers; guesses must be finite or nan.")
    return guesses, secrets


QUESTIONS = 400  # counts that an analyst asks
RATE = 0.5  # publicly known share of ones
_AT_ONCE = 16  # answers drawn at a time


class NoisyCounts:
    """Counts the records of a set that have the secret, with fresh noise for every answer.

    Each answer is the mean of `size` draws, at `size` times the cost. Attacks get it in place of
    the secret.
    """

    def __init__(self, secret: Ids, mechanism: Mechanism, rng: Generator, size: int = 1) -> None:
        self._secret, self._mechanism, self._rng, self._size = secret, mechanism, rng, size
        self._unused: dict[int, list[float]] = {}  # exact answer -> draws, each used once

    def __call__(self, mask: Mask) -> float:
        """Answer one question."""
        exact = int(self._secret[mask].sum())
        pool = self._unused.setdefault(exact, [])
        if not pool:
            checked = self._mechanism.check(exact)
            draws = self._mechanism.draw(checked, _AT_ONCE * self._size, self._rng)
            pool += draws.reshape(_AT_ONCE, self._size).mean(axis=1).tolist()
        return pool.pop()


def bits(secret: ArrayLike) -> Ids:
    """Return a secret of bits or booleans as integers (n,)."""
    values = np.asarray(secret)
    valid = values.ndim == 1 and values.size > 0 and values.dtype.kind in "biuf"
    if not valid or not np.isin(values, (0, 1)).all():
        raise InputError(
            "The secret must be 0 or 1 for each record, and there must be at least one record."
        )
    return values.astype(np.int64)


def workload(n: int, rng: Generator, queries: int = QUESTIONS) -> Mask:
    """Draw the sets (queries, n) that an analyst asks about: each record with probability 1/2."""
    return rng.integers(0, 2, (queries, n)).astype(np.bool_)


def usefulness(truth: Floats | Ids, answers: Floats, blind: Floats) -> float:
    r"""Return the utility of answers: how much better they are than blind answers.

    .. math:: \max(0, 1 - \text{MAE}/\text{MAE}_\text{blind})
    """
    error = float(np.abs(answers - truth).mean())
    unaided = float(np.abs(blind - truth).mean())
    if unaided == 0:  # nothing to learn
        return float(error == 0)
    return max(0.0, 1 - error / unaided)
