"""How good lists and predictions are, user by user: each measure by its name.

A row of the table takes a `Block` of users with relevant test items and gives a value (b,) each.
`rmse` and `mae` are over pairs, `coverage` over all lists together: see `veil.ratings.evaluate`.
"""

from collections.abc import Callable

from veil.core.types import Floats
from veil.ratings.measures.auc import auc
from veil.ratings.measures.block import Block
from veil.ratings.measures.diversity import diversity
from veil.ratings.measures.hits import ap, f1, ndcg, precision, recall
from veil.ratings.measures.novelty import novelty
from veil.ratings.measures.serendipity import serendipity

ERRORS = ("rmse", "mae")
COVERAGE = "coverage"
LISTS: dict[str, Callable[[Block], Floats]] = {
    "precision": precision,
    "recall": recall,
    "f1": f1,
    "ndcg": ndcg,
    "ap": ap,
    "auc": auc,
    "novelty": novelty,
    "diversity": diversity,
    "serendipity": serendipity,
}
NAMES = (*ERRORS, "precision", "recall", "f1", "ndcg", "ap", "auc", COVERAGE, "novelty",
         "diversity", "serendipity")  # fmt: skip
