"""Bayesian attacks: the likeliest query of a log, word of a slot, or word of the vocabulary."""

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from veil.core.errors import ParameterError
from veil.core.outcome import rank_with_ties
from veil.core.types import Floats, Ids
from veil.data.fetch import Report, no_progress
from veil.text.attack import Attack, Outcome, Scene
from veil.text.attacks.inference import log_positions, queries_ranked, require_log
from veil.text.attacks.likelihood import Surrogate, likelihood, slot_likelihoods
from veil.text.attacks.posterior import add_prior, query_posterior
from veil.text.attacks.shapes import Slot, slots, space_of, word_mechanism
from veil.text.mechanisms.mechanism import WordMechanism
from veil.text.mechanisms.words.kernels import CandidateKernel
from veil.text.vectors.embeddings import Embeddings

Prior = Annotated[
    Literal["uniform", "frequency"],
    Field(description="prior belief of the attacker"),
]
Selection = Annotated[
    str,
    Field(description="selection of protected words, as for protect; empty: the default"),
]


class Bayes(Attack):
    r"""Rank the queries of a log by their probability given the variants.

    .. math:: \log P(q | v) = \log P(q) + \sum_j \sum_i \log P(v_{ji} | q_i) + c

    The attacker knows the mechanism and its parameters (Kerckhoffs). Words keep their slots, so
    only queries of the same shape are possible: the same number of words, and the same kept words.
    The distribution is exact for santext, tem, custext, wbb and any other mechanism with a closed
    form. For cmp, mahalanobis and vickrey a surrogate is used: `simulated`, a Gaussian model
    learned by running the mechanism on 20,000 words, or `density`, the density of the noise at the
    difference of the vectors.

    For a mechanism that sends groups of texts (cover) the release is an address: queries with that
    address are equally likely, and all others impossible. This is exact, needs no word vectors,
    and takes no longer than looking up the log.

    Notes
    -----
    In the slot of a word that the vectors do not know is the output for a word drawn uniformly
    from the vocabulary. Its likelihood is therefore the mean over the vocabulary, for any such
    word (for a large vocabulary: over the words of the log, those seen, and a sample of the rest).
    An output that the vectors do not know carries no information, but a query of a shape under
    which more outputs can be read always ranks higher. If nothing was released, or no query of the
    log fits, only the prior decides. The variants must have been made with ``unknown='random'`` or
    ``'mask'``.

    For santext and tem, the normalisers dominate the run time: one pass over the vocabulary for
    each distinct word of the log, once per mechanism and embeddings.
    """

    name: ClassVar[str] = "bayes"
    needs: ClassVar[frozenset[str]] = frozenset({"log", "mechanism", "space"})

    prior: Prior = "uniform"
    surrogate: Surrogate = "simulated"
    select: Selection = ""

    def belief(self, counts: Ids) -> Floats:
        """Return the logarithm of the prior (N,), up to a constant."""
        return np.log(counts) if self.prior == "frequency" else np.zeros(len(counts))

    def run(self, scene: Scene, report: Report = no_progress) -> Outcome:
        """Rank each original in the log by its probability."""
        log = require_log(scene, self.name)
        posterior = query_posterior(scene, log, self.name, self.surrogate, self.select, report)
        prior = self.belief(log.counts)
        positions = log_positions(scene)
        ranks, ties = np.empty((2, len(positions)), dtype=np.int64)
        for i, row in enumerate(scene.variants):
            report("weighing the log", i, len(positions))
            scores = add_prior(posterior.scores(row, report), prior)
            ranks[i], ties[i] = rank_with_ties(scores, int(positions[i]), posterior.rounding)
        report("weighing the log", len(positions), len(positions))
        outcome = queries_ranked(ranks, ties, len(log))
        if self.prior == "uniform":
            return outcome
        prior_ranks, prior_ties = np.array([rank_with_ties(prior, int(i)) for i in positions]).T
        return replace(outcome, prior=prior_ranks, prior_ties=prior_ties)


class Intersect(Attack):
    r"""Keep the words whose candidates include all words seen, and rank them by likelihood.

    .. math:: F = \{ w : y_1, \dots, y_N \in C(w) \}

    For mechanisms whose kernel is a `CandidateKernel`, which draws from a few candidates per word
    (custext, wbb). Each word seen rules out all words that do not have it among their candidates.
    The remaining words are certain to include the true word. `Outcome.left` is their number.

    Notes
    -----
    A word that the vectors do not know, or that was ruled out because the variants were made in
    another way, gets rank V + 1 among all V words, and V words are left.
    """

    name: ClassVar[str] = "intersect"
    needs: ClassVar[frozenset[str]] = frozenset({"mechanism", "space"})

    select: Selection = ""

    def run(self, scene: Scene, report: Report = no_progress) -> Outcome:
        """Rank the true word of each slot among the possible words."""
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
        ranks, ties, possible, texts = np.array(rows, dtype=np.int64).reshape(-1, 4).T
        candidates = np.full(len(ranks), space.size, dtype=np.int64)
        return Outcome(ranks, candidates, texts, "word", left=possible, ties=ties)


def _rank(scores: Floats, slot: Slot, rounding: float) -> tuple[int, int, int]:
    """Return the rank of the truth, its ties, and the number of words not ruled out."""
    if slot.truth < 0 or np.isneginf(scores[slot.truth]):
        return len(scores) + 1, 1, len(scores)
    possible = int(np.count_nonzero(scores > -np.inf))
    return (*rank_with_ties(scores, slot.truth, rounding), possible)


def _require_candidates(mechanism: WordMechanism, space: Embeddings) -> None:
    if not isinstance(mechanism.bind(space), CandidateKernel):
        raise ParameterError(
            "The intersect attacker needs a mechanism with a CandidateKernel, which draws from a"
            f" few candidates per word (custext, wbb), but {mechanism.name} has another kernel."
            " Use the reconstruct attacker."
        )


class Reconstruct(Attack):
    r"""Rank all words by their probability given the words seen in a slot.

    .. math:: \log P(w | y_1, \dots, y_N) = \log P(w) + \sum_j \log P(y_j | w) + c

    No log is needed. Each protected word of a text is guessed separately. A word that the vectors
    do not know cannot be guessed, and gets rank V + 1.

    Notes
    -----
    Exact for custext and wbb. For cmp, mahalanobis and vickrey a surrogate is used, as in `bayes`:
    the model `simulated` uses all variants well, but the sum of densities fails at small epsilon.
    For santext and tem, the distribution is exact for the 64 likeliest words, and for all words of
    a vocabulary of at most 4,096. For other words the normalisers are estimated from a sample (see
    `veil.text.attacks.likelihood_exponential`). The prior `frequency` is Zipf's law, with words in
    order of frequency.
    """

    name: ClassVar[str] = "reconstruct"
    needs: ClassVar[frozenset[str]] = frozenset({"mechanism", "space"})

    prior: Prior = "uniform"
    surrogate: Surrogate = "simulated"
    select: Selection = ""

    def run(self, scene: Scene, report: Report = no_progress) -> Outcome:
        """Rank the true word of each slot among all words."""
        space = space_of(scene, self.name)
        law = likelihood(word_mechanism(scene, self.name), space, self.surrogate)
        prior = zipf(space.size) if self.prior == "frequency" else np.zeros(space.size)
        pairs, texts, prior_pairs = [], [], []
        law.prepare(np.empty(0, dtype=np.int64), report)
        all_slots = list(slots(scene, self.name, self.select))
        scores = slot_likelihoods(law, [slot.seen for slot in all_slots])
        for slot, score in zip(all_slots, scores, strict=True):
            report("reconstructing words", slot.text, len(scene.originals))
            pairs.append(rank_with_ties(score + prior, slot.truth, law.rounding))
            texts.append(slot.text)
            prior_pairs.append(rank_with_ties(prior, slot.truth))
        report("reconstructing words", len(scene.originals), len(scene.originals))
        ranks, ties = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        prior_ranks, prior_ties = np.array(prior_pairs, dtype=np.int64).reshape(-1, 2).T
        informed = self.prior == "frequency"
        return Outcome(
            ranks,
            np.full(len(pairs), space.size, dtype=np.int64),
            np.array(texts, dtype=np.int64),
            "word",
            prior=prior_ranks if informed else None,
            ties=ties,
            prior_ties=prior_ties if informed else None,
        )


def zipf(words: int) -> Floats:
    """Return the log-prior (V,) of Zipf's law for words in order of frequency."""
    prior: Floats = -np.log(np.arange(1, words + 1, dtype=np.float64))
    return prior
