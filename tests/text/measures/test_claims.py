"""A correct mechanism is never accused, and the broken ones are."""

import math

import numpy as np
import pytest
from numpy.random import Generator
from tests.conftest import make_space
from tests.reference import broken

from veil.core.errors import InputError, ParameterError
from veil.measures.bounds import log_ratio
from veil.text.measures.claims import audit_claim, claim, group_members
from veil.text.mechanisms.words import MECHANISMS
from veil.text.vectors.embeddings import Embeddings

CORRECT = (
    "cmp(epsilon=3)",
    "mahalanobis(epsilon=3)",
    "mahalanobis(epsilon=2, lam=0.5)",
    "vickrey(epsilon=3)",
    "vickrey(epsilon=2, noise=mahalanobis)",
    "santext(epsilon=2)",
    "santext(epsilon=1, sensitive_share=0.5)",
    "tem(epsilon=2)",
    "tem(epsilon=2, beta=0.6, metric=angular)",
    "custext(epsilon=2, k=6)",
)


@pytest.mark.parametrize("spec", CORRECT)
@pytest.mark.parametrize("seed", range(4))
def test_a_correct_mechanism_is_never_accused(spec: str, seed: int) -> None:
    space = make_space(12 + 8 * seed, 2 + seed % 2, seed)
    audit = audit_claim(MECHANISMS.parse(spec), space, samples=4000, pairs=4, rng=seed)
    assert all(pair.source == "proved" for pair in audit.pairs)
    assert not audit.exceeded, str(audit)


@pytest.mark.parametrize("name", broken.violations())
@pytest.mark.parametrize("seed", range(2))
def test_a_broken_mechanism_is_exposed(name: str, seed: int) -> None:
    mechanism, space, words = broken.violations()[name]
    audit = audit_claim(mechanism, space, words, rng=seed)
    assert audit.exceeded, str(audit)
    assert "REFUTED" in str(audit)


@pytest.mark.parametrize("name", broken.harmless())
def test_a_mechanism_that_harms_utility_only_is_not_accused(name: str) -> None:
    mechanism, space, _ = broken.harmless()[name]
    audit = audit_claim(mechanism, space, samples=20_000, rng=1)
    assert audit.worst.claimed == 1
    assert not audit.exceeded


def test_the_sound_forms_of_the_broken_ones_are_not_accused() -> None:
    for spec, space, words in (
        ("cmp(epsilon=1)", broken.line(), ("w20", "w40")),
        ("mahalanobis(epsilon=1)", broken.line(), ("w25", "w35")),
        ("santext(epsilon=1)", broken.cluster(), ("w0", "w1")),
        ("tem(epsilon=1, beta=0.8)", broken.ring(), ("w0", "w1")),
    ):
        audit = audit_claim(MECHANISMS.parse(spec), space, words, rng=3)
        assert not audit.exceeded, str(audit)


@pytest.mark.parametrize("seed", range(5))
def test_a_claim_that_is_reached_exactly_is_nearly_shown_and_not_refuted(seed: int) -> None:
    # On a line the loss of CMP is epsilon * d for every word beyond the two.
    x = np.arange(-8, 9, dtype=np.float32)[:, None]
    space = Embeddings(tuple(f"w{i}" for i in range(17)), x, "one dimension")
    mechanism = MECHANISMS.parse("cmp(epsilon=1)")
    audit = audit_claim(mechanism, space, ("w8", "w9"), samples=40_000, rng=seed)
    assert audit.worst.claimed == 1
    assert 0.8 < audit.worst.lower < 1


def test_noise_shared_by_places_shows_in_the_view_of_two_places_only() -> None:
    mechanism, space, words = broken.violations()["cmp, noise shared by places"]
    assert audit_claim(mechanism, space, words, rng=1).worst.places == 2


def test_the_bound_comes_near_the_true_loss(rng: Generator) -> None:
    law = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    one, other = (rng.choice(3, size=200_000, p=row) for row in law)
    lower, hits = log_ratio(one, other, 1e-8)
    assert math.log(7) - 0.12 < lower < math.log(7)
    assert hits[0] == pytest.approx(70_000, rel=0.05)


def test_outputs_without_a_claim_are_not_looked_at(rng: Generator) -> None:
    nothing = np.full(2000, -1)
    assert log_ratio(nothing, nothing, 1e-6) == (0.0, (0, 0))
    shown = rng.integers(3, size=2000)
    assert log_ratio(nothing, shown, 1e-6)[0] == 0
    assert log_ratio(shown, nothing, 1e-6)[0] > 3


def test_a_kept_word_of_santext_plus_is_not_held_against_it(space: Embeddings) -> None:
    mechanism = MECHANISMS.parse("santext(epsilon=0.5, sensitive_share=0.5, p=0.2)")
    near = np.linalg.norm(space.vectors[:30] - space.vectors[0], axis=1).argsort()[1]
    words = (space.words[0], space.words[int(near)])  # both are kept with probability 0.8
    audit = audit_claim(mechanism, space, words, samples=10_000, rng=1)
    assert not audit.exceeded, str(audit)


def test_the_event_is_not_tested_on_the_samples_that_chose_it(rng: Generator) -> None:
    for _ in range(20):  # all outputs differ: the best event of one half says nothing of the other
        one, other = rng.permutation(200_000).reshape(2, -1)[:, :4000]
        assert log_ratio(one, other, 0.05)[0] == 0


def test_wrong_accusations_keep_to_the_chance_that_is_stated(rng: Generator) -> None:
    wrong = 0
    for _ in range(400):  # the same law twice: any positive bound is wrong
        one, other = rng.integers(4, size=(2, 1000))
        wrong += log_ratio(one, other, 0.05)[0] > 0
    assert wrong <= 400 * 0.1  # two bounds of 0.05 each, and far fewer in truth


def test_claims_are_those_of_the_papers(space: Embeddings) -> None:
    a, b = 3, 17
    gap = float(np.linalg.norm(space.points(np.array([a]))[0] - space.points(np.array([b]))[0]))
    said = claim(MECHANISMS.parse("cmp(epsilon=2)"), space, a, b)
    assert said.source == "proved"
    assert said.bound == pytest.approx(2 * gap)
    plus = MECHANISMS.parse("santext(epsilon=2, sensitive_share=0.5, p=0.25)")
    assert claim(plus, space, a, b).bound == pytest.approx(2 * gap + math.log(4))
    plain = claim(MECHANISMS.parse("mahalanobis(epsilon=2, lam=0)"), space, a, b)
    assert plain.bound == pytest.approx(2 * gap)
    centred = space.vectors.astype(np.float64) - space.vectors.mean(axis=0, dtype=np.float64)
    shape = centred.T @ centred
    shape *= space.dim / np.trace(shape)
    delta = space.points(np.array([a]))[0] - space.points(np.array([b]))[0]
    skewed = math.sqrt(delta @ np.linalg.inv(shape) @ delta)
    assert claim(MECHANISMS.parse("mahalanobis(epsilon=2)"), space, a, b).bound == pytest.approx(
        2 * skewed
    )
    scaled = MECHANISMS.parse("vickrey(epsilon=2, noise=mahalanobis, unit_direction=true)")
    unit = claim(scaled, space, a, b)
    assert unit.source == "published"
    assert unit.bound == pytest.approx(2 * skewed)
    angle = claim(MECHANISMS.parse("tem(epsilon=2, metric=angular)"), space, a, b)
    one, other = space.points(np.array([a, b]))
    cosine = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    assert angle.bound == pytest.approx(2 * math.acos(cosine))
    wbb = claim(MECHANISMS.parse("wbb(epsilon=2)"), space, a, b)
    assert (wbb.source, wbb.bound) == ("published", 2)


def test_nothing_is_claimed_across_groups(space: Embeddings) -> None:
    mechanism = MECHANISMS.parse("custext(epsilon=2, k=8)")
    inside = group_members(mechanism, space, 0)
    outside = next(i for i in range(1, space.size) if i not in inside)
    assert len(inside) == 7
    assert claim(mechanism, space, 0, int(inside[0])).bound == 2
    assert claim(mechanism, space, 0, outside).bound is None
    words = (space.words[0], space.words[outside])
    audit = audit_claim(mechanism, space, words, samples=2000, rng=1)
    assert audit.worst.claimed is None
    assert audit.worst.lower > 3
    assert not audit.exceeded
    assert "nothing is claimed" in str(audit)


def test_the_same_seed_gives_the_same_audit(space: Embeddings) -> None:
    mechanism = MECHANISMS.parse("santext(epsilon=2)")
    one, other = (audit_claim(mechanism, space, samples=1000, rng=9) for _ in range(2))
    assert one == other
    assert one != audit_claim(mechanism, space, samples=1000, rng=10)


def test_bad_input_is_told_in_one_sentence(space: Embeddings) -> None:
    mechanism = MECHANISMS.parse("cmp(epsilon=2)")
    word = space.words[0]
    with pytest.raises(InputError, match="not in the vocabulary") as caught:
        audit_claim(mechanism, space, (word, "secretword"))
    assert "secretword" not in str(caught.value)
    with pytest.raises(InputError, match="are the same"):
        audit_claim(mechanism, space, (word, word))
    with pytest.raises(InputError, match="two different words"):
        audit_claim(mechanism, space, "ab")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'samples' .* >= 1000"):
        audit_claim(mechanism, space, samples=10)
    with pytest.raises(ParameterError, match="'pairs'"):
        audit_claim(mechanism, space, pairs=0)
    with pytest.raises(ParameterError, match="'error'"):
        audit_claim(mechanism, space, error=0.0)
    single = Embeddings(("one",), np.ones((1, 2), dtype=np.float32), trusted=True)
    with pytest.raises(InputError, match="at least 2 words"):
        audit_claim(mechanism, single)
