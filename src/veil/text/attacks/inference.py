"""Inference: which query of a log is nearest to the centre of the variants."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from veil.core.errors import ParameterError
from veil.core.outcome import standing
from veil.core.types import Encoder, Ids
from veil.data.fetch import Report, silent
from veil.text.attacks._centroids import centroids
from veil.text.attacks._ranks import ranks
from veil.text.attacks.attack import EncoderAttack, Outcome, Scene
from veil.text.attacks.log import QueryLog

__all__ = ["Inference", "inference_ranks", "ranks"]


class Inference(EncoderAttack):
    r"""Rank the queries of a log by cosine to the mean vector of the variants.

    .. math:: s(q) = \cos\Big(\mathrm{enc}(q),\ \frac{1}{N} \sum_j \mathrm{enc}(v_j)\Big)

    The mean is that of the vectors as the model gives them, before any scaling to length 1.
    The rank of the original is 1 + the number of distinct queries with a higher score; how many
    have the same score is counted beside it.

    References
    ----------
    De Faveri, Faggioli, Ferro. Measuring Actual Privacy of Obfuscated Queries in Information
    Retrieval. ECIR 2025, section 3: the Query Inference Attack.

    Notes
    -----
    An original that the log does not hold has rank len(log) + 1, so that the risk is a lower
    bound. Where nothing was released (an empty row, or blanks alone) the
    attacker guesses the most frequent queries first.
    """

    name: ClassVar[str] = "inference"
    needs: ClassVar[frozenset[str]] = frozenset({"log"})

    def rank(self, scene: Scene, encoder: Encoder, report: Report = silent) -> Outcome:
        """Attack with an open encoder."""
        return inference_ranks(scene, encoder, report)


def inference_ranks(scene: Scene, encoder: Encoder, report: Report = silent) -> Outcome:
    """Rank each original in the log by the centroid of its variants."""
    log = log_of(scene, "inference")
    places = places_of(scene)
    rows = [told(row) for row in scene.variants]
    centres = centroids(rows, encoder, report)
    found, ties = ranks(centres, log.vectors(encoder, report).vectors, places)
    for i in [i for i, row in enumerate(rows) if not row]:
        found[i], ties[i] = standing(log.counts.astype(np.float64), int(places[i]))
    return queries_ranked(found, ties, len(log))


def told(variants: Sequence[str]) -> tuple[str, ...]:
    """Return the variants that say anything: one of blanks alone does not."""
    return tuple(variant for variant in variants if variant.strip())


def log_of(scene: Scene, name: str) -> QueryLog:
    """Return the log of a scene that cannot do without."""
    if scene.log is None:
        raise ParameterError(f"The {name} attacker needs a log of queries: give log=.")
    return scene.log


def places_of(scene: Scene) -> Ids:
    """Return the place (n,) of each original in the log, -1 where the log does not hold it."""
    log = log_of(scene, "inference")
    return np.array([log.place(text) for text in scene.originals], dtype=np.int64)


def queries_ranked(found: Ids, ties: Ids, candidates: int) -> Outcome:
    """Return the outcome of guessing whole queries, one for each text."""
    among = np.full(len(found), candidates, dtype=np.int64)
    return Outcome(found, among, np.arange(len(found)), "query", ties=ties)
