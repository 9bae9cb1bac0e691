r"""CS-DCG: the gain of a list less a cost for every sensitive document in it."""

from veil.core.types import Floats
from veil.sensitive.measures.judged import Judged, Prices, discounts


def cs_dcg(judged: Judged, prices: Prices) -> Floats:
    r"""Return the discounted gain minus the cost of what is sensitive.

    .. math:: \sum_{i \le k} (2^{grade_i} - 1)/\log_2(i + 1) - \sum_{j < s} C\,decay^j

    with s sensitive documents shown. The cost does not depend on the rank; a sensitive document
    that is relevant earns its gain and costs C.

    References
    ----------
    Sayed, Oard. SIGIR 2019. doi:10.1145/3331184.3331256
    """
    gain: Floats = judged.gains @ discounts(judged.k)
    cost: Floats = prices.of(judged.sensitive.sum(axis=1))
    return gain - cost
