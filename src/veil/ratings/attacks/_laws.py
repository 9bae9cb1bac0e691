"""How a release was drawn, as everybody may know who knows its spec."""

from typing import NamedTuple

import numpy as np

from veil.core.errors import InputError, LawError
from veil.core.types import Floats, Ids
from veil.ratings.levels import Levels
from veil.ratings.protection import Protection
from veil.ratings.protections import PROTECTIONS
from veil.ratings.protections.bits import Bits
from veil.ratings.protections.pseudonyms import Pseudonyms
from veil.ratings.ratings import Ratings

_ROUNDS = 200  # of expectation and maximisation


class Law(NamedTuple):
    """P(released | true) as (L, L), a row for each true level; of bits the levels are two."""

    levels: Levels
    chances: Floats
    bits: bool = False


def law_of(mechanism: str, scale: Ratings) -> Law:
    """Return the law of a mechanism on the scale of some ratings; without one, of pseudonyms."""
    made = PROTECTIONS.parse(mechanism or Pseudonyms.name)
    if not isinstance(made, Protection):
        raise LawError(f"bayes looks for profiles, and {made.name} releases none.")
    step = getattr(made, "step", None)
    levels = Levels.of(scale, step, "bayes")
    if isinstance(made, Pseudonyms):
        return Law(levels, np.eye(levels.count))
    return Law(levels, np.exp(made.log_likelihood(scale)), isinstance(made, Bits))


def released_levels(data: Ratings, levels: Levels) -> Ids:
    """Return which level (N,) each released value is; one that is none raises."""
    values = np.asarray(data.value, dtype=np.float64)
    at = levels.positions(values)
    if np.abs(levels.values[at] - values).max(initial=0.0) > 1e-6 * levels.step:
        raise InputError(
            "bayes needs released values that are levels of the scale; use scoreboard."
        )
    return at


def believed(chances: Floats, released: Ids) -> Floats:
    """Return how frequent (L,) true levels are, by maximum likelihood from released ones (EM)."""
    seen = np.bincount(released, minlength=chances.shape[1]).astype(np.float64)
    prior = np.full(len(chances), 1 / len(chances))
    for _ in range(_ROUNDS):
        joint = prior[:, None] * chances
        total = joint.sum(axis=0)
        share = np.divide(seen, total, out=np.zeros_like(seen), where=total > 0)
        prior = (joint * share).sum(axis=1) / seen.sum()
    return prior
