"""Bayes: which query of a log is likeliest to have given the variants."""

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from veil.core.outcome import standing
from veil.core.types import Floats, Ids
from veil.data.fetch import Report, silent
from veil.text.attacks._likelihood import Surrogate
from veil.text.attacks._weighing import believed, weighing
from veil.text.attacks.attack import AttackSpec, Outcome, Scene
from veil.text.attacks.inference import log_of, places_of, queries_ranked

Prior = Annotated[
    Literal["uniform", "frequency"],
    Field(description="what is believed before anything is seen"),
]
Selection = Annotated[
    str,
    Field(description="words that were protected, as for protect; empty: the mechanism's choice"),
]


class Bayes(AttackSpec):
    r"""Rank the queries of a log by their probability given the variants.

    .. math:: \log P(q | v) = \log P(q) + \sum_j \sum_i \log P(v_{ji} | q_i) + c

    The attacker knows the mechanism and its parameters (Kerckhoffs). Words keep their slots, so
    that only queries of the same shape come into question: as many words, and the same words
    where words are kept. The law is exact for santext, tem, custext, wbb and any other mechanism
    with a closed form. For cmp, mahalanobis and vickrey a surrogate stands in for it: `simulated`,
    a Gaussian model learned by trying the mechanism on 20,000 words, or `density`, that of the
    noise at the difference of the vectors.

    Of a mechanism that sends groups of texts (cover) the release is an address: queries with
    that address are equally likely, and all others impossible. That is exact, needs no word
    vectors, and takes no longer than to look the log up.

    Notes
    -----
    In the slot of a word that the vectors do not know stands the output for one word drawn
    uniformly from the vocabulary: its likelihood is the mean over the vocabulary, whatever the
    word (of a large one: over the words of the log, those seen, and a sample of the rest). An
    output that the vectors do not know says nothing, but a query of a shape under which more of
    them can be read is always ahead. Where nothing was released, or no query of the log fits at
    all, the prior alone decides. Variants must have been made with ``unknown='random'`` or
    ``'mask'``.

    The cost is that of the normalisers for santext and tem: one pass over the vocabulary for each
    distinct word of the log, once for a mechanism and a space.
    """

    name: ClassVar[str] = "bayes"
    needs: ClassVar[frozenset[str]] = frozenset({"log", "mechanism", "space"})

    prior: Prior = "uniform"
    surrogate: Surrogate = "simulated"
    select: Selection = ""

    def belief(self, counts: Ids) -> Floats:
        """Return the logarithm of the prior (N,), up to a constant."""
        return np.log(counts) if self.prior == "frequency" else np.zeros(len(counts))

    def attack(self, scene: Scene, report: Report = silent) -> Outcome:
        """Rank each original in the log by its probability."""
        log = log_of(scene, self.name)
        weighed = weighing(scene, log, self.name, self.surrogate, self.select, report)
        prior = self.belief(log.counts)
        places = places_of(scene)
        found, ties = np.empty((2, len(places)), dtype=np.int64)
        for i, row in enumerate(scene.variants):
            report("weighing the log", i, len(places))
            scores = believed(weighed.scores(row, report), prior)
            found[i], ties[i] = standing(scores, int(places[i]), weighed.rounding)
        report("weighing the log", len(places), len(places))
        outcome = queries_ranked(found, ties, len(log))
        if self.prior == "uniform":
            return outcome
        before, level = np.array([standing(prior, int(place)) for place in places]).T
        return replace(outcome, prior=before, prior_ties=level)
