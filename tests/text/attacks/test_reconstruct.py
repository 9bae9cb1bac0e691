"""Words guessed one by one, against the posterior by enumeration."""

from dataclasses import replace

import numpy as np
import pytest
from tests.conftest import make_space
from tests.reference.attacking import posterior
from tests.text.attacks.test_bayes import EXACT, NOISE, word_mechanism

from veil.core.errors import ParameterError
from veil.core.outcome import first_guess, rank_with_ties
from veil.core.types import ClosedForm
from veil.text.attack import Scene
from veil.text.attacks import likelihood_exponential
from veil.text.attacks.bayes import Intersect, Reconstruct
from veil.text.attacks.likelihood import likelihood
from veil.text.protect import protect_words
from veil.text.vectors.embeddings import Embeddings


def scene_of(spec: str, space: Embeddings, size: int, n: int = 12) -> Scene:
    rng = np.random.default_rng(17)
    originals = tuple(" ".join(rng.choice(space.words, size=3)) for _ in range(n))
    made = word_mechanism(spec)
    released = protect_words(originals, made, space, size, rng=4, select="all")
    return Scene(released.rows, originals, None, made, space)


@pytest.mark.parametrize("spec", EXACT)
def test_posterior_is_that_of_bayes_rule(spec: str, words: Embeddings) -> None:
    made = word_mechanism(spec)
    kernel = made.bind(words)
    assert isinstance(kernel, ClosedForm)
    law = kernel.probs(np.arange(words.size))
    rng = np.random.default_rng(8)
    for word in rng.choice(60, 6):
        seen = kernel.sample(np.array([word]), 4, rng)[:, 0]
        logs = likelihood(made, words).of(seen)
        result = np.exp(logs - logs.max())
        np.testing.assert_allclose(
            result / result.sum(), posterior(law, seen.tolist()), rtol=1e-4, atol=1e-7
        )


def test_head_of_the_ranking_is_exact_in_a_large_vocabulary(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(likelihood_exponential, "_SMALL", 10)
    monkeypatch.setattr(likelihood_exponential, "_SAMPLE", 256)
    monkeypatch.setattr(likelihood_exponential, "_TOP", 20)
    space = make_space(900, 6)
    made = word_mechanism("santext(epsilon=4)")
    kernel = made.bind(space)
    assert isinstance(kernel, ClosedForm)
    law = kernel.log_probs(np.arange(space.size))
    seen = kernel.sample(np.array([5]), 8, np.random.default_rng(1))[:, 0]
    asked = np.array([700, 3, 899])
    result = likelihood(made, space).of(seen, asked)
    exact = law[:, seen].sum(axis=1)
    head = np.argsort(-result)[:20]
    np.testing.assert_allclose(result[head], exact[head], rtol=1e-5)
    np.testing.assert_allclose(result[asked], exact[asked], rtol=1e-5)
    assert set(np.argsort(-exact)[:5]) <= set(head.tolist())
    assert np.corrcoef(result, exact)[0, 1] > 0.99


@pytest.mark.parametrize("small", [10, 4096])
def test_words_that_truncation_makes_equal_are_level(
    monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    """Far from all others, words have one normaliser in tem: no rounding may tell them apart."""
    monkeypatch.setattr(likelihood_exponential, "_SMALL", small)
    monkeypatch.setattr(likelihood_exponential, "_SAMPLE", 256)
    monkeypatch.setattr(likelihood_exponential, "_TOP", 20)
    near = make_space(300, 6)
    vectors = near.vectors * np.where(np.arange(300) < 60, 1, 40)[:, None].astype(np.float32)
    space = Embeddings(near.words, vectors, "far apart")
    made = word_mechanism("tem(epsilon=6, beta=0.9)")
    kernel = made.bind(space)
    assert isinstance(kernel, ClosedForm)
    law = likelihood(made, space)
    exact = kernel.log_probs(np.arange(300))
    seen = np.array([5, 7, 40])  # each is as likely under all words that are far
    score = exact[:, seen].sum(axis=1)
    for word in (100, 200, 299):
        expected, level = rank_with_ties(score, word, 1e-9)
        assert level > 200
        rank, ties = rank_with_ties(law.of(seen), word, law.rounding)
        assert rank == expected
        assert ties == level or (small == 10 and abs(ties - level) < 0.05 * level)


@pytest.mark.parametrize("spec", [EXACT[0], EXACT[3], EXACT[4], EXACT[6], *NOISE])
def test_recovery_grows_with_the_variants(spec: str, words: Embeddings) -> None:
    scene, right = scene_of(spec, words, size=50), []
    for size in (1, 2, 5, 10, 20, 50):
        seen = replace(scene, variants=tuple(row[:size] for row in scene.variants))
        outcome = Reconstruct(select="all").run(seen)
        assert outcome.unit == "word"
        assert outcome.subjects.tolist() == np.repeat(np.arange(12), 3).tolist()
        assert (outcome.candidates == 60).all()
        right.append(float(first_guess(outcome.ranks, outcome.ties).mean()))
    assert right[-1] > right[0]
    assert right[-1] > 0.6


def test_an_unknown_word_cannot_be_guessed(words: Embeddings) -> None:
    made = word_mechanism("santext(epsilon=1e4)")
    originals = (f"{words.words[3]} {words.words[4]}", f"qqqx {words.words[5]}", "?!")
    scene = Scene((originals[:1], (originals[1],), ("?!",)), originals, None, made, words)
    outcome = Reconstruct().run(scene)
    assert outcome.ranks.tolist() == [1, 1, 61, 1]
    assert outcome.subjects.tolist() == [0, 0, 1, 1]


def test_words_are_guessed_without_the_truth(words: Embeddings) -> None:
    """The places of a word are ranked alike whatever word the judge has in mind."""
    scene = scene_of("santext(epsilon=3)", words, size=3, n=1)
    ranks = []
    for word in words.words:
        truth = (" ".join([word, *scene.originals[0].split()[1:]]),)
        guess = Scene(scene.variants, truth, None, scene.mechanism, words)
        ranks.append(Reconstruct().run(guess).ranks.tolist())
    assert sorted(row[0] for row in ranks) == list(range(1, 61))
    assert len({tuple(row[1:]) for row in ranks}) == 1


def test_nothing_seen_leaves_the_order_of_the_vocabulary(words: Embeddings) -> None:
    scene = Scene(((),), (words.words[9],), None, word_mechanism("cmp(epsilon=1)"), words)
    assert Reconstruct(prior="frequency").run(scene).ranks.tolist() == [10]


def test_other_places_are_refused_without_a_quote(words: Embeddings) -> None:
    scene = Scene((("a b",),), ("xanthippe",), None, word_mechanism("cmp(epsilon=1)"), words)
    with pytest.raises(ParameterError, match="variants of text 1") as caught:
        Reconstruct().run(scene)
    assert "xanthippe" not in str(caught.value)


@pytest.mark.parametrize("spec", EXACT[4:])
def test_the_true_word_is_never_ruled_out(spec: str, words: Embeddings) -> None:
    made = word_mechanism(spec)
    kernel = made.bind(words)
    assert isinstance(kernel, ClosedForm)
    law = kernel.probs(np.arange(words.size))
    left = []
    for size in (1, 4, 16):
        scene = scene_of(spec, words, size)
        outcome = Intersect(select="all").run(scene)
        assert outcome.left is not None
        assert (outcome.ranks <= outcome.left).all()
        assert (outcome.candidates == words.size).all()  # a blind guess rules nothing out
        at = 0
        for row, text in zip(scene.variants, scene.originals, strict=True):
            for place in range(len(text.split())):
                seen = [words.id(variant.split()[place]) for variant in row]
                assert outcome.left[at] == (law[:, seen] > 0).all(axis=1).sum()
                at += 1
        left.append(float(outcome.left.mean()))
    if "neighbours" in spec or "wbb" in spec:
        assert left[0] > left[1] > left[2]
    else:
        assert left[0] == left[2]  # words of one group can never be told apart for certain


def test_nearest_words_are_kept_with_the_vectors(words: Embeddings) -> None:
    space = Embeddings(words.words, words.vectors, "fresh")
    law = likelihood(word_mechanism("wbb(epsilon=4, k=2, n=12)"), space)
    law.of(np.array([3]))
    assert ("derived", "nearest-cosine-14") in space.memo


def test_intersect_needs_candidates(words: Embeddings) -> None:
    scene = Scene((("a",),), (words.words[0],), None, word_mechanism("tem(epsilon=1)"), words)
    with pytest.raises(
        ParameterError, match="needs a mechanism with a CandidateKernel.*but tem has another"
    ):
        Intersect().run(scene)


def test_what_cannot_have_been_is_not_a_success(words: Embeddings) -> None:
    made = word_mechanism("custext(epsilon=4, k=8)")
    row = (" ".join(words.words), " ".join(reversed(words.words)))
    scene = Scene((row, ("x",)), (" ".join(words.words), "qqqx"), None, made, words)
    outcome = Intersect().run(scene)
    assert (outcome.ranks > 1).any()
    assert outcome.ranks[-1] == 61
    assert (outcome.ranks[outcome.ranks > 60] == outcome.candidates[outcome.ranks > 60] + 1).all()
