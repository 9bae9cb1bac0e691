"""Releases of a mixed stream, and queries asked again."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from tests.reference.attacking import inference
from tests.search.conftest import BagEncoder
from tests.text.attacks.test_bayes import word_mechanism

from veil.core.types import Ids
from veil.text.attack import Scene
from veil.text.attacks.inference import inference_ranks
from veil.text.attacks.session import Linkage
from veil.text.log import QueryLog
from veil.text.protect import protect_words
from veil.text.vectors.embeddings import Embeddings


@pytest.fixture
def scene(words: Embeddings, queries: list[str]) -> Scene:
    originals = tuple(text for text in queries if len(text.split()) == 3)[:25]
    made = word_mechanism("santext(epsilon=4)")
    released = protect_words(originals, made, words, 20, rng=6)
    return Scene(released.rows, originals, QueryLog.of(queries))


def test_halves_are_ranked_by_their_centres(scene: Scene, encoder: BagEncoder) -> None:
    outcome = Linkage().rank(scene, encoder)
    halves = [
        [encoder.encode(list(half)).astype(float) for half in (row[:10], row[10:])]
        for row in scene.variants
    ]
    seconds = np.array([second.mean(axis=0) for _, second in halves])
    assert outcome.ties is not None
    assert list(zip(outcome.ranks.tolist(), outcome.ties.tolist(), strict=True)) == [
        inference(list(first), seconds, i) for i, (first, _) in enumerate(halves)
    ]
    assert outcome.unit == "release"
    assert (outcome.candidates == 25).all()
    assert (1 / outcome.ranks).mean() > 0.3  # a blind guess: 0.15


def test_texts_that_read_the_same_are_one(encoder: BagEncoder) -> None:
    rows = (("a b", "c d"), ("c d", "a b"), ("x", "y"), ("z",), ())
    originals = ("Skin cancer", "skin  cancer", "other", "alone", "nothing")
    outcome = Linkage().rank(Scene(rows, originals), encoder)
    assert outcome.ranks[:2].tolist() == [1, 1]
    assert outcome.ranks[3:].tolist() == [4, 4]
    assert outcome.ties is not None
    assert outcome.ties[:2].tolist() == [1, 1]
    assert (outcome.candidates == 3).all()


def test_asking_again_tells_more_only_with_fresh_variants(
    scene: Scene, encoder: BagEncoder
) -> None:
    def risk(rows: Iterable[tuple[str, ...]]) -> Ids:
        return inference_ranks(replace(scene, variants=tuple(rows)), encoder).ranks

    once = risk(row[:4] for row in scene.variants)
    assert (risk(row[:4] * 5 for row in scene.variants) == once).all()
    assert (1 / risk(scene.variants)).mean() > (1 / once).mean()


def test_single_variants_leave_nothing_to_link(words: Embeddings, encoder: BagEncoder) -> None:
    scene = Scene((("a",), ()), ("a", "b"))
    outcome = Linkage().rank(scene, encoder)
    assert len(outcome.ranks) == len(outcome.candidates) == len(outcome.subjects) == 0
