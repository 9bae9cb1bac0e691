"""The list of the highest expected CS-DCG, exactly."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from veil.core.errors import InputError, MissingExtraError
from veil.core.types import Floats
from veil.sensitive.measures.judged import discounts
from veil.sensitive.probabilities import probabilities_of
from veil.sensitive.reading import check_k, prices_of


def optimum(
    gains: ArrayLike,
    probabilities: ArrayLike,
    k: int = 10,
    cost: float = 12.0,
    *,
    fill: bool = False,
) -> list[int]:
    r"""Return the positions of at most k documents, best first, that maximise expected CS-DCG.

    .. math:: \max \sum_i e_{d(i)}/\log_2(i + 1) - C\,p_{d(i)}

    an assignment of documents to ranks, solved exactly. A rank may stay empty, unless `fill`
    asks for as many as there are. Of documents alike in gain and probability the earlier one is
    taken. A document with an unknown (nan) probability, or with probability 1, is never taken.

    Notes
    -----
    Exact for its inputs only: it seeks the lowest probabilities, where an error of calibration
    costs most.

    >>> optimum([3.0, 1.0, 3.0], [0.5, 0.0, 0.0], k=2)
    [2, 1]
    """
    k = check_k(k)
    prices = prices_of(cost, 0.0, "collection", 1.0)
    try:
        gain = np.asarray(gains, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("Expected gains must be finite numbers >= 0 in one row.") from None
    if gain.ndim != 1 or not np.isfinite(gain).all() or (gain < 0).any():
        raise InputError("Expected gains must be finite numbers >= 0 in one row.")
    p = probabilities_of(probabilities, len(gain))
    places = np.flatnonzero(p < 1)  # neither certain nor unknown
    if not len(places):
        return []
    values = gain[places, None] * discounts(k) - prices.cost * p[places, None]
    chosen = _assigned(values, k, fill=fill)
    return _earliest(places[chosen], gain, p)


def _assigned(values: Floats, k: int, *, fill: bool) -> np.ndarray:
    """Return the rows (documents) that an optimal assignment takes."""
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError:
        raise MissingExtraError("optimum needs scipy: pip install 'veil[ml]'.") from None
    rows = len(values)
    # Filled, the first ranks are taken; else there are k empty documents of value 0, too.
    first = values[:, : min(k, rows)]
    values = first if fill else np.concatenate([values, np.zeros((k, k))])
    taken, slots = linear_sum_assignment(values, maximize=True)
    useful = (taken < rows) & (fill | (values[taken, slots] > 0))
    return np.asarray(taken[useful], dtype=np.int64)


def _earliest(taken: np.ndarray, gain: Floats, p: Floats) -> list[int]:
    """Order by gain, and exchange documents for earlier ones that are alike."""
    alike: dict[tuple[float, float], list[int]] = {}
    for place in np.flatnonzero(np.isin(gain, gain[taken])).tolist():
        alike.setdefault((gain[place], p[place]), []).append(place)
    used = {key: iter(own) for key, own in alike.items()}
    earlier: Sequence[int] = [next(used[gain[place], p[place]]) for place in sorted(taken)]
    return sorted(earlier, key=lambda place: (-gain[place], place))
