"""The queries of a log that come first by inference, for attackers that look closer at a few."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from veil.core.types import Encoder, Ids
from veil.data.fetch import Report, silent
from veil.encoders.encoder import unit
from veil.text.attacks._centroids import centroids
from veil.text.attacks.attack import Outcome, Scene
from veil.text.attacks.inference import inference_ranks, log_of, places_of, told


@dataclass(frozen=True, eq=False)
class Candidates:
    """What inference gives: where the truth stands, and the first queries for each text.

    Attributes
    ----------
    rows
        The variants of each text that say anything.
    places
        (n, k) positions in the log of the first k queries of each text, the likeliest first.
    first
        What comes of inference alone.
    """

    scene: Scene
    rows: tuple[tuple[str, ...], ...]
    places: Ids
    first: Outcome

    def texts(self, number: int) -> list[str]:
        """Return the candidates of a text."""
        log = log_of(self.scene, "inference")
        return [log.texts[place] for place in self.places[number].tolist()]

    def outcome(
        self, orders: Mapping[int, Sequence[int]], unanswered: Sequence[int] = ()
    ) -> Outcome:
        """Return what comes of putting the candidates of texts into another order.

        ``orders[i]`` are positions in ``places[i]``, all of them, the likeliest first. A truth
        that is not among the candidates stands behind them, where inference has it. Texts without
        an order stay as inference has them; those `unanswered` count as not found.
        """
        ranks, ties = self.first.ranks.copy(), _ones(self.first.ties, len(self.rows))
        truths, among = places_of(self.scene), self.first.candidates
        for number, order in orders.items():
            shown = self.places[number][list(order)]
            at = np.flatnonzero(shown == truths[number])
            if len(at):
                ranks[number], ties[number] = 1 + at[0], 1
            else:  # some of those that are level with it were shown, and it was not
                last = ranks[number] + ties[number]
                ranks[number] = max(ranks[number], len(shown) + 1)
                ties[number] = max(1, last - ranks[number])
        missing = np.zeros(len(ranks), dtype=np.int64)
        missing[list(unanswered)] = 1
        ranks[missing == 1] = among[missing == 1] + 1
        ties[missing == 1] = 1
        subjects = np.arange(len(ranks))
        return Outcome(ranks, among, subjects, "query", ties=ties, unanswered=missing)


def candidates(scene: Scene, encoder: Encoder, k: int, report: Report = silent) -> Candidates:
    """Find the first k queries of the log for each text; equal ones in the order of the log."""
    log = log_of(scene, "inference")
    first = inference_ranks(scene, encoder, report)
    rows = tuple(told(row) for row in scene.variants)
    vectors = log.vectors(encoder, report).vectors
    centres = unit(centroids(rows, encoder, report).astype(np.float32))
    shown = min(k, len(log))
    places = np.empty((len(rows), shown), dtype=np.int64)
    for number, centre in enumerate(centres):
        scores = vectors @ centre
        least = np.partition(scores, -shown)[-shown]
        level = np.flatnonzero(scores >= least)
        places[number] = level[np.argsort(-scores[level], kind="stable")][:shown]
    return Candidates(scene, rows, places, first)


def _ones(ties: Ids | None, count: int) -> Ids:
    return np.ones(count, dtype=np.int64) if ties is None else ties.copy()
