"""SENS: the gain of a list, void if anything sensitive is in it."""

import numpy as np

from veil.core.types import Floats
from veil.sensitive.measures.judged import Judged, Prices, discounts


def sens(judged: Judged, prices: Prices) -> Floats:
    """Return -M if any sensitive document is shown, else DCG over the best there is without one.

    The ideal is over documents that are not sensitive; where it is 0 the value is 0.

    References
    ----------
    Sayed, Oard. SIGIR 2019. doi:10.1145/3331184.3331256
    """
    weights = discounts(judged.k).tolist()
    ideal = np.array(
        [
            sum((2.0**grade - 1) * weight for grade, weight in zip(best, weights, strict=False))
            for best in judged.cold
        ]
    )
    share = (judged.gains @ np.array(weights)) / np.where(ideal > 0, ideal, 1)
    return np.where(judged.any_sensitive, -prices.penalty, np.where(ideal > 0, share, 0.0))
