r"""Move released points to the place of a prior that is the best guess.

For a released z and a public prior w over places y the point is

.. math:: \arg\min_c \sum_y P(y|z) \, d(c, y), \qquad P(y|z) \propto w_y f(z|y)

over the places c of the prior: a function of z and the prior alone, so that it costs nothing as
long as the prior is public.

References
----------
Chatzikokolakis, ElSalamouny, Palamidessi. Efficient utility improvement for location privacy.
PETS 2017. doi:10.1515/popets-2017-0051 (cited from memory)
"""

import numpy as np

from veil.core.types import Floats, Ids
from veil.places.method import Method
from veil.places.points import Points
from veil.places.projection import BLOCK, Surface, blocks, pairs


def remap(released: Floats, method: Method, prior: Points, on: Surface) -> Floats:
    """Return the best guesses (n, 2) for released points (n, 2)."""
    there = on.embed(prior.xy)
    people = np.ones(len(prior)) if prior.weights is None else prior.weights
    with np.errstate(divide="ignore"):
        beliefs = np.log(people)
    moved = np.empty_like(released)
    for block in blocks(len(released), len(prior), BLOCK // 4):
        logs = method.log_density(released[block], prior.xy, on) + beliefs
        logs -= logs.max(axis=1, keepdims=True)
        shares = np.exp(logs, out=logs)
        moved[block] = prior.xy[_best(shares, there, on)]
    return moved


def _best(shares: Floats, there: Floats, on: Surface) -> Ids:
    """Return, for each row of shares (n, m), the place with the least expected distance."""
    least = np.full(len(shares), np.inf)
    best = np.zeros(len(shares), dtype=np.int64)
    for block in blocks(len(there), len(there), BLOCK // 4):
        expected = shares @ pairs(on, there, there[block])
        place = expected.argmin(axis=1)
        value = expected[np.arange(len(shares)), place]
        better = value < least
        least[better], best[better] = value[better], place[better] + block.start
    return best
