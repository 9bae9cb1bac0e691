"""Shortlist: find which of a few suspected queries was released."""

import hashlib
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.outcome import rank_with_ties
from veil.core.types import Encoder, Floats, Ids
from veil.data.fetch import Report, no_progress
from veil.encoders.encoder import unit
from veil.text.attack import EncoderAttack, Outcome, Scene
from veil.text.attacks.bayes import Selection
from veil.text.attacks.inference import centroids, without_blanks
from veil.text.attacks.likelihood import Surrogate
from veil.text.attacks.posterior import add_prior, query_posterior
from veil.text.log import QueryLog, folded
from veil.text.mechanisms.mechanism import QueryMechanism

_ROUNDING = 1e-6  # of a cosine


class Shortlist(EncoderAttack):
    """Rank a few suspected queries, where the attacker knows that the true one is among them.

    The suspects are the texts of the study. An attacker who can list the possible queries is much
    stronger than one who only has a log. Suspects are ranked by the distribution of the mechanism,
    as in `bayes`, with a uniform prior. If the mechanism has no known distribution (aea, fea),
    they are ranked by the cosine of their vectors to the mean of the variants, as in `inference`.

    Notes
    -----
    With `n`, each text has n suspects: itself and the n - 1 others whose digests come first, so
    that the choice is arbitrary. The encoder is used only for mechanisms without a known
    distribution.
    """

    name: ClassVar[str] = "shortlist"
    needs: ClassVar[frozenset[str]] = frozenset({"mechanism", "space"})

    n: Annotated[int, Field(ge=0, description="suspects of each text; 0: all texts")] = 0
    surrogate: Surrogate = "simulated"
    select: Selection = ""

    def run(self, scene: Scene, report: Report = no_progress) -> Outcome:
        """Attack, and open the encoder only if it is needed."""
        if _has_no_law(scene):
            return super().run(scene, report)
        return self._outcome(scene, *self._scores(scene, report))

    def rank(self, scene: Scene, encoder: Encoder, report: Report = no_progress) -> Outcome:
        """Attack with an open encoder."""
        if not _has_no_law(scene):
            return self.run(scene, report)
        rows = [without_blanks(row) for row in scene.variants]
        centres = unit(centroids(rows, encoder, report).astype(np.float32)).astype(np.float64)
        suspects = QueryLog.of(scene.originals)
        return self._outcome(scene, centres @ encoder.encode(list(suspects.texts)).T, _ROUNDING)

    def _scores(self, scene: Scene, report: Report) -> tuple[Floats, float]:
        """Return the score (n, m) of each suspect for each text, and the rounding of scores."""
        suspects = QueryLog.of(scene.originals)
        posterior = query_posterior(
            scene, suspects, self.name, self.surrogate, self.select, report
        )
        uniform = np.zeros(len(suspects))
        scores = np.empty((len(scene.variants), len(suspects)))
        for i, row in enumerate(scene.variants):
            report("weighing the suspects", i, len(scores))
            scores[i] = add_prior(posterior.scores(row, report), uniform)
        return scores, posterior.rounding

    def _outcome(self, scene: Scene, scores: Floats, rounding: float) -> Outcome:
        suspects = QueryLog.of(scene.originals)
        order = _by_digest(suspects)
        rows = []
        for text, row in zip(scene.originals, scores, strict=True):
            own = suspects.place(text)
            choice = _suspects_of(own, order, self.n)
            position = int(np.flatnonzero(choice == own)[0]) if own >= 0 else -1
            rows.append((*rank_with_ties(row[choice], position, rounding), len(choice)))
        ranks, ties, candidates = np.array(rows, dtype=np.int64).T
        return Outcome(ranks, candidates, np.arange(len(ranks)), "query", ties=ties)


def _has_no_law(scene: Scene) -> bool:
    return isinstance(scene.mechanism, QueryMechanism) and not scene.mechanism.whole


def _by_digest(suspects: QueryLog) -> Ids:
    digests = [hashlib.sha256(folded(text).encode()).digest() for text in suspects.texts]
    return np.array(sorted(range(len(digests)), key=digests.__getitem__), dtype=np.int64)


def _suspects_of(own: int, order: Ids, n: int) -> Ids:
    """Return the suspects for a text: itself and others, n in total if there are as many."""
    if not n or own < 0:
        return order
    return np.append(order[order != own][: n - 1], own)
