"""Attackers by Bayes: the likeliest query of a log, word of a slot, word of the vocabulary."""

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from veil.core.errors import ParameterError
from veil.core.outcome import rank_with_ties
from veil.core.types import Floats, Ids
from veil.data.fetch import Report, no_progress
from veil.text.attacks.attack import AttackSpec, Outcome, Scene
from veil.text.attacks.inference import log_positions, queries_ranked, require_log
from veil.text.attacks.likelihood import Surrogate, likelihood, slot_likelihoods
from veil.text.attacks.posterior import add_prior, query_posterior
from veil.text.attacks.shapes import Slot, slots, space_of, word_mechanism
from veil.text.mechanisms.mechanism import WordMechanism
from veil.text.mechanisms.words.kernels import CandidateKernel
from veil.text.vectors.embeddings import Embeddings

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

    def attack(self, scene: Scene, report: Report = no_progress) -> Outcome:
        """Rank each original in the log by its probability."""
        log = require_log(scene, self.name)
        weighed = query_posterior(scene, log, self.name, self.surrogate, self.select, report)
        prior = self.belief(log.counts)
        places = log_positions(scene)
        found, ties = np.empty((2, len(places)), dtype=np.int64)
        for i, row in enumerate(scene.variants):
            report("weighing the log", i, len(places))
            scores = add_prior(weighed.scores(row, report), prior)
            found[i], ties[i] = rank_with_ties(scores, int(places[i]), weighed.rounding)
        report("weighing the log", len(places), len(places))
        outcome = queries_ranked(found, ties, len(log))
        if self.prior == "uniform":
            return outcome
        before, level = np.array([rank_with_ties(prior, int(place)) for place in places]).T
        return replace(outcome, prior=before, prior_ties=level)


class Intersect(AttackSpec):
    r"""Keep the words whose candidates hold everything seen, and rank them by likelihood.

    .. math:: F = \{ w : y_1, \dots, y_N \in C(w) \}

    For mechanisms whose kernel is a `Shortlist`, which draws from a few candidates per word
    (custext, wbb): each word seen rules out all words that do not have it among their candidates,
    and what is left is certain to hold the true word. `Outcome.left` is the number of words left.

    Notes
    -----
    A word that the vectors do not know, or that was ruled out because the variants were made in
    another way, has rank V + 1 among all V words, and V words are left.
    """

    name: ClassVar[str] = "intersect"
    needs: ClassVar[frozenset[str]] = frozenset({"mechanism", "space"})

    select: Selection = ""

    def attack(self, scene: Scene, report: Report = no_progress) -> Outcome:
        """Rank the true word of each slot among those that are possible."""
        space = space_of(scene, self.name)
        mechanism = word_mechanism(scene, self.name)
        _require_candidates(mechanism, space)
        law = likelihood(mechanism, space)
        rows = []
        law.prepare(np.empty(0, dtype=np.int64), report)
        for slot in slots(scene, self.name, self.select):
            report("ruling out words", slot.text, len(scene.originals))
            rows.append((*_rank(law.of(slot.seen), slot, law.rounding), slot.text))
        report("ruling out words", len(scene.originals), len(scene.originals))
        found, ties, left, texts = np.array(rows, dtype=np.int64).reshape(-1, 4).T
        among = np.full(len(found), space.size, dtype=np.int64)
        return Outcome(found, among, texts, "word", left=left, ties=ties)


def _rank(scores: Floats, slot: Slot, rounding: float) -> tuple[int, int, int]:
    """Return the rank of the truth, its ties, and how many words were not ruled out."""
    if slot.truth < 0 or np.isneginf(scores[slot.truth]):
        return len(scores) + 1, 1, len(scores)
    left = int(np.count_nonzero(scores > -np.inf))
    return (*rank_with_ties(scores, slot.truth, rounding), left)


def _require_candidates(mechanism: WordMechanism, space: Embeddings) -> None:
    if not isinstance(mechanism.bind(space), CandidateKernel):
        raise ParameterError(
            "The intersect attacker needs a mechanism whose kernel is a Shortlist, which draws"
            f" from a few candidates per word (custext, wbb); that of {mechanism.name} is none:"
            " use reconstruct."
        )


class Reconstruct(AttackSpec):
    r"""Rank all words by their probability given the words seen in a slot.

    .. math:: \log P(w | y_1, \dots, y_N) = \log P(w) + \sum_j \log P(y_j | w) + c

    No log is needed. Each protected word of a text is guessed on its own; a word that the vectors
    do not know cannot be guessed, and has rank V + 1.

    Notes
    -----
    Exact for custext and wbb. For cmp, mahalanobis and vickrey a surrogate stands in for the law,
    as for `bayes`: the model `simulated` draws on all variants, where the sum of densities loses
    its way at small epsilon. For santext and tem the 64 likeliest words, and all words of a
    vocabulary of at most 4,096, have their exact law; farther down the normalisers are estimated
    from a sample (see `veil.text.attacks.likelihood_exponential`). The prior `frequency` is
    Zipf's law: words are in order of frequency.
    """

    name: ClassVar[str] = "reconstruct"
    needs: ClassVar[frozenset[str]] = frozenset({"mechanism", "space"})

    prior: Prior = "uniform"
    surrogate: Surrogate = "simulated"
    select: Selection = ""

    def attack(self, scene: Scene, report: Report = no_progress) -> Outcome:
        """Rank the true word of each slot among all words."""
        space = space_of(scene, self.name)
        law = likelihood(word_mechanism(scene, self.name), space, self.surrogate)
        prior = zipf(space.size) if self.prior == "frequency" else np.zeros(space.size)
        found, texts, before = [], [], []
        law.prepare(np.empty(0, dtype=np.int64), report)
        wanted = list(slots(scene, self.name, self.select))
        scores = slot_likelihoods(law, [slot.seen for slot in wanted])
        for slot, score in zip(wanted, scores, strict=True):
            report("reconstructing words", slot.text, len(scene.originals))
            found.append(rank_with_ties(score + prior, slot.truth, law.rounding))
            texts.append(slot.text)
            before.append(rank_with_ties(prior, slot.truth))
        report("reconstructing words", len(scene.originals), len(scene.originals))
        ranks, ties = np.array(found, dtype=np.int64).reshape(-1, 2).T
        believed, level = np.array(before, dtype=np.int64).reshape(-1, 2).T
        informed = self.prior == "frequency"
        return Outcome(
            ranks,
            np.full(len(found), space.size, dtype=np.int64),
            np.array(texts, dtype=np.int64),
            "word",
            prior=believed if informed else None,
            ties=ties,
            prior_ties=level if informed else None,
        )


def zipf(words: int) -> Floats:
    """Return the log-prior (V,) of Zipf's law for words in order of frequency."""
    prior: Floats = -np.log(np.arange(1, words + 1, dtype=np.float64))
    return prior
