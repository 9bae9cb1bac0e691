"""nCS-DCG: where a list stands between the worst and the best of all lists."""

import numpy as np

from veil.core.types import Floats
from veil.sensitive.measures.cs_dcg import cs_dcg
from veil.sensitive.measures.extremes import extremes
from veil.sensitive.measures.judged import Judged, Prices


def ncs_dcg(judged: Judged, prices: Prices) -> Floats:
    r"""Return (CS-DCG - worst)/(best - worst), in [0, 1]; 0 where best = worst.

    best and worst are over all lists of 0 to k documents of the pool. With the pool "judged" a
    list with other documents can leave [0, 1] and is clipped.

    Notes
    -----
    At a high cost the measure says little more than how many sensitive documents are shown: read
    it beside the empty list.

    References
    ----------
    Sayed, Oard. SIGIR 2019. doi:10.1145/3331184.3331256
    """
    return np.clip(np.nan_to_num(unclipped(judged, prices)), 0, 1)


def unclipped(judged: Judged, prices: Prices) -> Floats:
    """Return the same without clipping, and nan where best = worst."""
    best, worst = extremes(judged, prices)
    width = best - worst
    values = (cs_dcg(judged, prices) - worst) / np.where(width > 0, width, np.nan)
    return np.where(np.abs(values - np.round(values)) < 1e-12, np.round(values), values)
