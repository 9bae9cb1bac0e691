"""Shortlist: which of a few suspects is behind a release."""

import hashlib
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.outcome import rank_with_ties
from veil.core.types import Encoder, Floats, Ids
from veil.data.fetch import Report, no_progress
from veil.encoders.encoder import unit
from veil.text.attacks.attack import EncoderAttack, Outcome, Scene
from veil.text.attacks.bayes import Selection
from veil.text.attacks.inference import centroids, without_blanks
from veil.text.attacks.likelihood import Surrogate
from veil.text.attacks.log import QueryLog, folded
from veil.text.attacks.posterior import add_prior, query_posterior
from veil.text.mechanisms.mechanism import QueryMechanism

_ROUNDING = 1e-6  # of a cosine


class Shortlist(EncoderAttack):
    """Rank a few queries, of which the attacker knows that the true one is among them.

    The suspects are the texts of the study themselves: who can list what may have been asked
    needs far less than who has a whole log. They are weighed by the law of the mechanism, as
    `bayes` weighs a log, all equally likely beforehand; where the mechanism has no law (aea,
    fea), by the cosine of their vectors to the mean of the variants', as `inference` does.

    Notes
    -----
    With `n`, each text is one of n suspects: itself and the n - 1 others whose digests come
    first, so that nobody chose them. The vectors are needed for mechanisms without a law alone.
    """

    name: ClassVar[str] = "shortlist"
    needs: ClassVar[frozenset[str]] = frozenset({"mechanism", "space"})

    n: Annotated[int, Field(ge=0, description="suspects of each text; 0: all texts")] = 0
    surrogate: Surrogate = "simulated"
    select: Selection = ""

    def attack(self, scene: Scene, report: Report = no_progress) -> Outcome:
        """Open the encoder only where it is needed, and attack."""
        if _has_no_law(scene):
            return super().attack(scene, report)
        return self._ranked(scene, *self._weighed(scene, report))

    def rank(self, scene: Scene, encoder: Encoder, report: Report = no_progress) -> Outcome:
        """Attack with an open encoder."""
        if not _has_no_law(scene):
            return self.attack(scene, report)
        rows = [without_blanks(row) for row in scene.variants]
        centres = unit(centroids(rows, encoder, report).astype(np.float32)).astype(np.float64)
        suspects = QueryLog.of(scene.originals)
        return self._ranked(scene, centres @ encoder.encode(list(suspects.texts)).T, _ROUNDING)

    def _weighed(self, scene: Scene, report: Report) -> tuple[Floats, float]:
        """Return the score (n, m) of each suspect for each text, and how exact the scores are."""
        suspects = QueryLog.of(scene.originals)
        weighed = query_posterior(scene, suspects, self.name, self.surrogate, self.select, report)
        level = np.zeros(len(suspects))
        found = np.empty((len(scene.variants), len(suspects)))
        for i, row in enumerate(scene.variants):
            report("weighing the suspects", i, len(found))
            found[i] = add_prior(weighed.scores(row, report), level)
        return found, weighed.rounding

    def _ranked(self, scene: Scene, scores: Floats, rounding: float) -> Outcome:
        suspects = QueryLog.of(scene.originals)
        order = _by_digest(suspects)
        rows = []
        for text, row in zip(scene.originals, scores, strict=True):
            own = suspects.place(text)
            among = _with(own, order, self.n)
            at = int(np.flatnonzero(among == own)[0]) if own >= 0 else -1
            rows.append((*rank_with_ties(row[among], at, rounding), len(among)))
        ranks, ties, candidates = np.array(rows, dtype=np.int64).T
        return Outcome(ranks, candidates, np.arange(len(ranks)), "query", ties=ties)


def _has_no_law(scene: Scene) -> bool:
    return isinstance(scene.mechanism, QueryMechanism) and not scene.mechanism.whole


def _by_digest(suspects: QueryLog) -> Ids:
    digests = [hashlib.sha256(folded(text).encode()).digest() for text in suspects.texts]
    return np.array(sorted(range(len(digests)), key=digests.__getitem__), dtype=np.int64)


def _with(own: int, order: Ids, n: int) -> Ids:
    """Return a suspect and those beside it, n in all where there are as many."""
    if not n or own < 0:
        return order
    return np.append(order[order != own][: n - 1], own)
