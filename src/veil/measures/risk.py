r"""What an attacker gains: a share of success from the rank of the truth among its guesses.

.. math:: \text{lazy } [r = 1], \quad \text{active } [r \le k], \quad \text{motivated } 1/r, \quad
   \text{persistent } (1-p)\,p^{r-1}

The first three are precision at 1, recall at k and the reciprocal rank of an attacker that looks
for one query; the last is rank-biased precision, at most 1-p. Over the queries each is a mean.

Where m guesses stand as high as the truth, and r - 1 higher, an attacker tries those m in any
order, and its success is the mean over all orders:

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
from veil.core.outcome import Ranks, first_guess
from veil.core.registry import unknown_name
from veil.core.types import Floats, Ids
from veil.measures.estimate import Estimate, bootstrap

Attacker = Literal["lazy", "active", "motivated", "persistent"]
ATTACKERS: tuple[Attacker, ...] = get_args(Attacker)
_EULER = 0.5772156649015329
_SUMMED = 1000  # terms of the harmonic sum that are added one by one


def risk(
    ranks: ArrayLike,
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
        (n,) where the truth stands among the guesses: 1 + the number of those that stand higher.
    attacker
        How patient it is: see the module.
    k, p
        Guesses that the active one makes; patience of the persistent one.
    candidates
        Among how many it chose, one number or (n,): a rank beyond them, which is how a truth that
        is not among them is written, counts 0.
    groups
        (n,) which text each rank belongs to, where a text has several (its words, for example).
    ties
        (n,) how many guesses stand as high as the truth, itself included; 1 where it stands alone.
        `veil.attack` gives ranks that know their ties, which are then used.

    Examples
    --------
    >>> risk([1, 2, 50, 1], "lazy")
    0.5000 [0.0000, 1.0000] (n=4)
    """
    gains = successes(ranks, attacker, k=k, p=p, candidates=candidates, ties=ties)
    return bootstrap(gains, groups)


def successes(
    ranks: ArrayLike,
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
    """
    _check(attacker, k, p)
    where = _whole(ranks, "A rank")
    if ties is None and isinstance(ranks, Ranks):
        ties = ranks.ties
    gains = _gains(where, _level(ties, where), attacker, k, p)
    if candidates is not None:
        gains[where > _matched(candidates, where)] = 0
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
    r"""Return the exact mean success of an attacker that orders its candidates at random.

    .. math:: \frac{1}{N}, \quad \frac{\min(k, N)}{N}, \quad \frac{1}{N}\sum_{i=1}^N \frac{1}{i},
       \quad \frac{1 - p^N}{N}

    `candidates` is N, one number or one per query. With `ranks`, a query whose truth is not among
    the candidates (rank > N) cannot be guessed blindly either. With `prior`, the ranks of the
    truth by what was believed beforehand (and `prior_ties`), it is the mean success of guessing
    in that order.

    >>> chance(4, "motivated") == (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4
    True
    """
    _check(attacker, k, p)
    if prior is not None:
        gains = successes(prior, attacker, k=k, p=p, candidates=candidates, ties=prior_ties)
        return float(gains.mean())
    if ranks is not None:
        where = _whole(ranks, "A rank")
        among = np.broadcast_to(_matched(candidates, where), where.shape)
        there = where <= among
        share = float(there.mean())
        return share * chance(among[there], attacker, k=k, p=p) if share else 0.0
    sizes, times = np.unique(_whole(candidates, "A number of candidates"), return_counts=True)
    gained = {
        "lazy": np.ones(len(sizes)),
        "active": np.minimum(k, sizes),
        "motivated": np.array([_harmonic(int(size)) for size in sizes]),
        "persistent": 1 - p ** sizes.astype(np.float64),
    }[attacker]
    return float(np.average(gained / sizes, weights=times))


def _gains(ranks: Ids, ties: Ids, attacker: Attacker, k: int, p: float) -> Floats:
    """Return the mean success over all orders of what is level."""
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
        alone = (1 - p) * p ** (ranks - 1).astype(np.float64)
        gains = alone * (1 - p ** ties.astype(np.float64)) / ((1 - p) * ties)
    return gains


def _level(ties: ArrayLike | None, ranks: Ids) -> Ids:
    """Return how many guesses stand as high as each truth."""
    if ties is None:
        return np.ones(len(ranks), dtype=np.int64)
    level = _whole(ties, "A number of ties")
    if len(level) != len(ranks):
        raise InputError(
            f"There are {len(ranks)} ranks, but {len(level)} numbers of ties; give one each."
        )
    return level


def _harmonic(n: int) -> float:
    """Return 1 + 1/2 + ... + 1/n, beyond `_SUMMED` by its asymptotic series (error < 1e-14)."""
    if n <= _SUMMED:
        return float((1.0 / np.arange(n, 0, -1)).sum())
    return float(np.log(n)) + _EULER + 1 / (2 * n) - 1 / (12 * n * n)


def _check(attacker: str, k: int, p: float) -> None:
    if attacker not in ATTACKERS:
        raise unknown_name("measure of risk", str(attacker), ATTACKERS)
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ParameterError("The 'k' of a risk must be a whole number >= 1.")
    if not isinstance(p, int | float) or not 0 < p < 1:
        raise ParameterError("The 'p' of a risk must be a number between 0 and 1, both excluded.")


def _whole(values: ArrayLike, what: str) -> Ids:
    """Return whole numbers >= 1 as (n,)."""
    try:
        given = np.atleast_1d(np.asarray(values))
        fine = given.dtype.kind in "iuf" and given.ndim == 1 and len(given) > 0
    except (TypeError, ValueError):
        fine = False
    if not fine:
        raise InputError(f"{what} must be a whole number; give at least one, in one row.")
    wrong = ~((given >= 1) & (given < 2**63) & (np.floor(given) == given))
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        raise InputError(f"{what} must be a whole number >= 1; number {place + 1} is not.")
    return given.astype(np.int64)


def _matched(candidates: ArrayLike, ranks: Ids) -> Ids:
    sizes = _whole(candidates, "A number of candidates")
    if len(sizes) not in (1, len(ranks)):
        raise InputError(
            f"There are {len(ranks)} ranks, but {len(sizes)} numbers of candidates; give one each."
        )
    return sizes
