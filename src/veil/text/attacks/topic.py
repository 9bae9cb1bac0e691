"""Topic: find what a query is about, without finding the query."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.errors import InputError, ParameterError
from veil.core.outcome import LABEL, rank_with_ties
from veil.core.types import Floats, Ids
from veil.corpus.logs import ICD10CM, file_digest, icd10cm_labels, read_labels
from veil.data.fetch import Report, no_progress
from veil.text.attack import Attack, Outcome, Scene
from veil.text.attacks.bayes import Bayes, Prior, Selection
from veil.text.attacks.inference import require_log
from veil.text.attacks.likelihood import Surrogate
from veil.text.attacks.posterior import QueryPosterior, add_prior, query_posterior
from veil.text.log import LogGroups, QueryLog, folded

HEAD, TRACKS = "head", "tracks"
_ROUNDING = 1e-9  # of sums of probabilities


class Topic(Attack):
    r"""Rank the labels of the queries of a log by their probability given the variants.

    .. math:: P(l | v) = \sum q: [l(q) = l]\, P(q | v)

    An attacker who does not find a query may still learn what it is about. The posterior is that
    of `bayes`, for every mechanism with a known distribution. The baseline is the prior of the
    labels.

    Labels are the last word of a query (``head``), the tracks of a cover table (``tracks``), the
    chapters or categories of the embedded classification (``icd10cm-chapter``,
    ``icd10cm-category``), or those of a TSV file of lines ``query<TAB>label``.

    Notes
    -----
    Queries of the log without a label count for no label. Texts without a label are left out.
    """

    name: ClassVar[str] = "topic"
    needs: ClassVar[frozenset[str]] = frozenset({"log", "mechanism", "space"})

    labels: Annotated[
        str,
        Field(
            min_length=1,
            description=f"{HEAD}, {TRACKS}, {', '.join(ICD10CM)}, or a TSV file of queries and"
            " labels",
        ),
    ] = HEAD
    prior: Prior = "uniform"
    surrogate: Surrogate = "simulated"
    select: Selection = ""

    @property
    def reads(self) -> str:
        """Digest of the file of labels, if there is one."""
        return "" if self.labels in (HEAD, TRACKS, *ICD10CM) else file_digest(Path(self.labels))

    def run(self, scene: Scene, report: Report = no_progress) -> Outcome:
        """Rank the label of each original among all labels of the log."""
        log = require_log(scene, self.name)
        posterior = query_posterior(scene, log, self.name, self.surrogate, self.select, report)
        count, log_labels, truths = self._labels(scene, log, posterior)
        prior = Bayes(prior=self.prior).belief(log.counts)
        baseline = _label_probabilities(prior, log_labels, count)
        rows = []
        for i, row in enumerate(scene.variants):
            report("weighing labels", i, len(truths))
            if truths[i] >= 0:
                scores = add_prior(posterior.scores(row, report), prior)
                probabilities = _label_probabilities(scores, log_labels, count)
                truth = int(truths[i])
                rows.append(
                    (
                        *rank_with_ties(probabilities, truth, _ROUNDING),
                        *rank_with_ties(baseline, truth, _ROUNDING),
                        i,
                    )
                )
        report("weighing labels", len(truths), len(truths))
        ranks, ties, prior_ranks, prior_ties, texts = np.array(rows, dtype=np.int64).T
        candidates = np.full(len(ranks), count, dtype=np.int64)
        return Outcome(
            ranks, candidates, texts, LABEL, prior=prior_ranks, ties=ties, prior_ties=prior_ties
        )

    def _labels(
        self, scene: Scene, log: QueryLog, posterior: QueryPosterior
    ) -> tuple[int, Ids, Ids]:
        """Return the number of labels, and the labels (-1: none) of the log and the originals."""
        labels = self._read_labels(posterior, log)
        codes: dict[str, int] = {}
        log_labels = np.array(
            [_code(labels.get(folded(text)), codes) for text in log.texts], dtype=np.int64
        )
        count = len(codes)
        truths = [codes.get(labels.get(folded(text), ""), -1) for text in scene.originals]
        if count < 2 or max(truths) < 0:
            raise InputError(
                "The labels do not fit these queries: the log must have at least two labels, and"
                " at least one text must have one of them."
            )
        return count, log_labels, np.array(truths, dtype=np.int64)

    def _read_labels(self, posterior: QueryPosterior, log: QueryLog) -> Mapping[str, str]:
        """Return labels by folded query. A query that the log lacks may have none."""
        if self.labels == HEAD:
            return {key: key.split()[-1] for key in map(folded, log.texts)}
        if self.labels in ICD10CM:
            return icd10cm_labels(self.labels)
        if self.labels != TRACKS:
            return read_labels(Path(self.labels))
        tracks = posterior.tracks if isinstance(posterior, LogGroups) else None
        if tracks is None:
            raise ParameterError(
                "Only a cover table has tracks. Choose other labels, such as head."
            )
        return {folded(text): str(track) for text, track in zip(log.texts, tracks, strict=True)}


def _label_probabilities(logs: Floats, labels: Ids, count: int) -> Floats:
    """Return the probability (count,) of each label, from log-probabilities (N,) of queries."""
    mass = np.exp(logs - logs.max())
    present = labels >= 0
    total: Floats = np.bincount(labels[present], mass[present], minlength=count) / mass.sum()
    return total


def _code(label: str | None, codes: dict[str, int]) -> int:
    return -1 if not label else codes.setdefault(label, len(codes))
