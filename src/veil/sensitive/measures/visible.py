"""nDCG over what may be shown: the utility."""

import numpy as np

from veil.core.types import Floats
from veil.measures.effectiveness import ndcg
from veil.sensitive.measures.judged import Judged, Prices


def visible(judged: Judged, prices: Prices) -> Floats:
    """Return nDCG@k by ir_measures on judgements in which sensitive documents have grade 0.

    nan where no relevant document may be shown: such a query is left out of every mean.
    """
    del prices
    lists = [tuple(one[: judged.k]) for one in judged.lists]
    return np.asarray(ndcg(judged.visible, judged.queries, lists, judged.k))
