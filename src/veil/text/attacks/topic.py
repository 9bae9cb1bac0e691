"""Topic: what a query is about, whichever query it is."""

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
from veil.text.attacks.attack import AttackSpec, Outcome, Scene
from veil.text.attacks.bayes import Bayes, Prior, Selection
from veil.text.attacks.inference import require_log
from veil.text.attacks.likelihood import Surrogate
from veil.text.attacks.log import LogGroups, QueryLog, folded
from veil.text.attacks.posterior import QueryPosterior, add_prior, query_posterior

HEAD, TRACKS = "head", "tracks"
_ROUNDING = 1e-9  # of sums of probabilities


class Topic(AttackSpec):
    r"""Rank the labels of the queries of a log by their probability given the variants.

    .. math:: P(l | v) = \sum q: [l(q) = l]\, P(q | v)

    Who does not find a query may still learn what it is about. The posterior is that of `bayes`,
    for every mechanism with a law, and is compared with what the prior alone says of the labels.

    Labels are the last word of a query (``head``), the tracks of a cover table (``tracks``), the
    chapters or categories of the embedded classification (``icd10cm-chapter``,
    ``icd10cm-category``), or those of a TSV file of lines ``query<TAB>label``.

    Notes
    -----
    Queries of the log without a label count for none; texts without one are left out.
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
        """The digest of the file of labels, if there is one."""
        return "" if self.labels in (HEAD, TRACKS, *ICD10CM) else file_digest(Path(self.labels))

    def attack(self, scene: Scene, report: Report = no_progress) -> Outcome:
        """Rank the label of each original among all labels of the log."""
        log = require_log(scene, self.name)
        weighed = query_posterior(scene, log, self.name, self.surrogate, self.select, report)
        numbers, of_log, truths = self._labels(scene, log, weighed)
        prior = Bayes(prior=self.prior).belief(log.counts)
        before = _summed(prior, of_log, numbers)
        rows = []
        for i, row in enumerate(scene.variants):
            report("weighing labels", i, len(truths))
            if truths[i] >= 0:
                mass = _summed(add_prior(weighed.scores(row, report), prior), of_log, numbers)
                own = int(truths[i])
                rows.append(
                    (
                        *rank_with_ties(mass, own, _ROUNDING),
                        *rank_with_ties(before, own, _ROUNDING),
                        i,
                    )
                )
        report("weighing labels", len(truths), len(truths))
        ranks, ties, first, level, texts = np.array(rows, dtype=np.int64).T
        among = np.full(len(ranks), numbers, dtype=np.int64)
        return Outcome(ranks, among, texts, LABEL, prior=first, ties=ties, prior_ties=level)

    def _labels(
        self, scene: Scene, log: QueryLog, weighed: QueryPosterior
    ) -> tuple[int, Ids, Ids]:
        """Return how many labels there are, and the label (-1: none) of log and originals."""
        known = self._known(weighed, log)
        numbers: dict[str, int] = {}
        of_log = np.array(
            [_number(known.get(folded(text)), numbers) for text in log.texts], dtype=np.int64
        )
        there = len(numbers)
        truths = [numbers.get(known.get(folded(text), ""), -1) for text in scene.originals]
        if there < 2 or max(truths) < 0:
            raise InputError(
                "The labels tell nothing about these queries: at least two labels must be in the"
                " log, and one of them must be that of a text."
            )
        return there, of_log, np.array(truths, dtype=np.int64)

    def _known(self, weighed: QueryPosterior, log: QueryLog) -> Mapping[str, str]:
        """Return labels by queries, folded; of a query that the log lacks there may be none."""
        if self.labels == HEAD:
            return {key: key.split()[-1] for key in map(folded, log.texts)}
        if self.labels in ICD10CM:
            return icd10cm_labels(self.labels)
        if self.labels != TRACKS:
            return read_labels(Path(self.labels))
        tracks = weighed.tracks if isinstance(weighed, LogGroups) else None
        if tracks is None:
            raise ParameterError(
                "There are no tracks but those of a cover table; name other labels, such as head."
            )
        return {folded(text): str(at) for text, at in zip(log.texts, tracks, strict=True)}


def _summed(logs: Floats, labels: Ids, numbers: int) -> Floats:
    """Return the probability (numbers,) of each label, from logarithms (N,) for the queries."""
    mass = np.exp(logs - logs.max())
    there = labels >= 0
    summed: Floats = np.bincount(labels[there], mass[there], minlength=numbers) / mass.sum()
    return summed


def _number(label: str | None, numbers: dict[str, int]) -> int:
    return -1 if not label else numbers.setdefault(label, len(numbers))
