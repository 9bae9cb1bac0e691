r"""Risk: the success of an attacker, from the rank of the truth among its guesses.

.. math:: \text{lazy } [r = 1], \quad \text{active } [r \le k], \quad \text{motivated } 1/r, \quad
   \text{persistent } (1-p)\,p^{r-1}

The first three are precision at 1, recall at k and the reciprocal rank for an attacker who looks
for one query. The last is rank-biased precision, at most 1-p. Each is averaged over the queries.

If r - 1 guesses score higher than the truth, and m guesses (the truth included) tie with it,
success is the mean over all orders of those m:

.. math:: [r = 1]/m, \quad \frac{\min(m, \max(0, k - r + 1))}{m}, \quad
   \frac{1}{m}\sum_{i=r}^{r+m-1} \frac{1}{i}, \quad p^{r-1}\frac{1 - p^m}{m}

References
----------
De Faveri, Faggioli, Ferro. Measuring Actual Privacy of Obfuscated Queries in Information
Retrieval. ECIR 2025, Section 3.
Moffat, Zobel. Rank-Biased Precision for Measurement of Retrieval Effectiveness. ACM TOIS 27(1),
2008. doi:10.1145/1416950.1416952
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from veil.core.errors import InputError, ParameterError
from veil.core.estimate import Estimate, bootstrap
from veil.core.outcome import Outcome, Ranks, first_guess
from veil.core.registry import unknown_name
from veil.core.types import Floats, Ids

Attacker = Literal["lazy", "active", "motivated", "persistent"]
ATTACKERS: tuple[Attacker, ...] = get_args(Attacker)
_EULER = 0.5772156649015329
_MAX_SUMMED = 1000  # up to this many terms the harmonic sum is computed term by term


def risk(
    ranks: ArrayLike | Outcome,
    attacker: Attacker,
    *,
    k: int = 10,
    p: float = 0.8,
    candidates: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    ties: ArrayLike | None = None,
) -> Estimate:
    """Return the mean success of an attacker, with its interval over the queries.

    Parameters
    ----------
    ranks
        (n,) rank of the truth among the guesses: 1 + the number of guesses with a higher score. Or
        the outcome of an attack, with its candidates, ties and groups; if it ranks nothing, the
        attacker makes one guess about each record.
    attacker
        Patience of the attacker: see the module.
    k, p
        Number of guesses of the active attacker; patience of the persistent one.
    candidates
        Number of candidates, one number or (n,). A rank above it means that the truth is not a
        candidate, and counts 0.
    groups
        (n,) text of each rank, if texts have several ranks (one per word, for example).
    ties
        (n,) number of guesses with the same score as the truth, itself included; 1 for no tie. By
        default the ties that the ranks of `veil.attack` carry are used.

    Examples
    --------
    >>> risk([1, 2, 50, 1], "lazy")
    0.5000 [0.0000, 1.0000] (n=4)
    """
    if isinstance(ranks, Outcome) and groups is None and len(ranks.subjects):
        groups = ranks.subjects
    gains = successes(ranks, attacker, k=k, p=p, candidates=candidates, ties=ties)
    return bootstrap(gains, groups)


def successes(
    ranks: ArrayLike | Outcome,
    attacker: Attacker,
    *,
    k: int = 10,
    p: float = 0.8,
    candidates: ArrayLike | None = None,
    ties: ArrayLike | None = None,
) -> Floats:
    """Return the success (n,) of an attacker on each query.

    >>> successes([1, 2, 10, 11], "active").tolist()
    [1.0, 1.0, 1.0, 0.0]
    >>> successes([1, 2], "active", ties=[40, 3]).tolist()
    [0.25, 1.0]
    >>> successes(Outcome(np.array([1, 3]), np.array([8, 8])), "motivated").tolist()
    [1.0, 0.3333333333333333]
    """
    _check(attacker, k, p)
    if isinstance(ranks, Outcome):
        if not len(ranks.ranks):
            return ranks.per_record * (1 - p if attacker == "persistent" else 1.0)
        candidates = ranks.candidates if candidates is None else candidates
        ties = ranks.ties if ties is None else ties
        ranks = ranks.ranks
    positions = _positive_integers(ranks, "A rank")
    if ties is None and isinstance(ranks, Ranks):
        ties = ranks.ties
    gains = _gains(positions, _check_ties(ties, positions), attacker, k, p)
    if candidates is not None:
        gains[positions > _check_sizes(candidates, positions)] = 0
    return gains


def chance(
    candidates: ArrayLike,
    attacker: Attacker,
    *,
    k: int = 10,
    p: float = 0.8,
    ranks: ArrayLike | None = None,
    prior: ArrayLike | None = None,
    prior_ties: ArrayLike | None = None,
) -> float:
    r"""Return the exact mean success of an attacker who orders the candidates at random.

    .. math:: \frac{1}{N}, \quad \frac{\min(k, N)}{N}, \quad \frac{1}{N}\sum_{i=1}^N \frac{1}{i},
       \quad \frac{1 - p^N}{N}

    `candidates` is N, one number or one per query. With `ranks`, a query whose truth is not a
    candidate (rank > N) cannot be guessed at random either. With `prior`, the ranks of the truth
    under the prior belief (and `prior_ties`), this is the mean success of guessing in that order.

    >>> chance(4, "motivated") == (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4
    True
    """
    _check(attacker, k, p)
    if prior is not None:
        gains = successes(prior, attacker, k=k, p=p, candidates=candidates, ties=prior_ties)
        return float(gains.mean())
    if ranks is not None:
        positions = _positive_integers(ranks, "A rank")
        counts = np.broadcast_to(_check_sizes(candidates, positions), positions.shape)
        present = positions <= counts
        share = float(present.mean())
        return share * chance(counts[present], attacker, k=k, p=p) if share else 0.0
    numbers = _positive_integers(candidates, "A number of candidates")
    sizes, times = np.unique(numbers, return_counts=True)
    gained = {
        "lazy": np.ones(len(sizes)),
        "active": np.minimum(k, sizes),
        "motivated": np.array([_harmonic(int(size)) for size in sizes]),
        "persistent": 1 - p ** sizes.astype(np.float64),
    }[attacker]
    return float(np.average(gained / sizes, weights=times))


def _gains(ranks: Ids, ties: Ids, attacker: Attacker, k: int, p: float) -> Floats:
    """Return the mean success over all orders of the tied guesses."""
    gains: Floats
    if attacker == "lazy":
        gains = first_guess(ranks, ties)
    elif attacker == "active":
        gains = np.clip(k - ranks + 1, 0, ties) / ties
    elif attacker == "motivated":
        gains = 1.0 / ranks
        for i in np.flatnonzero(ties > 1):
            first = int(ranks[i])
            last = first + int(ties[i]) - 1
            gains[i] = (_harmonic(last) - _harmonic(first - 1)) / ties[i]
    else:
        untied = (1 - p) * p ** (ranks - 1).astype(np.float64)
        gains = untied * (1 - p ** ties.astype(np.float64)) / ((1 - p) * ties)
    return gains


def _check_ties(ties: ArrayLike | None, ranks: Ids) -> Ids:
    if ties is None:
        return np.ones(len(ranks), dtype=np.int64)
    numbers = _positive_integers(ties, "A number of ties")
    if len(numbers) != len(ranks):
        raise InputError(
            f"Each rank needs one number of ties. Got {len(ranks)} ranks and {len(numbers)}"
            " numbers of ties."
        )
    return numbers


def _harmonic(n: int) -> float:
    """Return 1 + 1/2 + ... + 1/n; beyond `_MAX_SUMMED` as asymptotic series (error < 1e-14)."""
    if n <= _MAX_SUMMED:
        return float((1.0 / np.arange(n, 0, -1)).sum())
    return float(np.log(n)) + _EULER + 1 / (2 * n) - 1 / (12 * n * n)


def _check(attacker: str, k: int, p: float) -> None:
    if attacker not in ATTACKERS:
        raise unknown_name("measure of risk", str(attacker), ATTACKERS)
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ParameterError("The 'k' of a risk must be a whole number >= 1.")
    if not isinstance(p, int | float) or not 0 < p < 1:
        raise ParameterError("The 'p' of a risk must be a number between 0 and 1, both excluded.")


def _positive_integers(values: ArrayLike, what: str) -> Ids:
    """Return integers >= 1 as (n,). The error for other values begins with `what`."""
    try:
        numbers = np.atleast_1d(np.asarray(values))
        valid = numbers.dtype.kind in "iuf" and numbers.ndim == 1 and len(numbers) > 0
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise InputError(f"{what} must be a whole number. Pass a list of at least one.")
    wrong = ~((numbers >= 1) & (numbers < 2**63) & (np.floor(numbers) == numbers))
    if wrong.any():
        index = int(np.flatnonzero(wrong)[0])
        raise InputError(f"{what} must be a whole number >= 1; number {index + 1} is not.")
    return numbers.astype(np.int64)


def _check_sizes(candidates: ArrayLike, ranks: Ids) -> Ids:
    sizes = _positive_integers(candidates, "A number of candidates")
    if len(sizes) not in (1, len(ranks)):
        raise InputError(
            f"Each rank needs one number of candidates. Got {len(ranks)} ranks and {len(sizes)}"
            " numbers of candidates."
        )
    return sizes
