"""What lets one query be attacked beside a log: the same numbers as with the query in it."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator
from tests.conftest import make_space
from tests.search.conftest import BagEncoder
from tests.text.attacks.test_bayes import word_mechanism
from tests.text.attacks.test_inference import unit
from tests.text.attacks.test_normalisers import kernel

from veil.core.types import Floats, Ids
from veil.text.attacks import inference, likelihood_boxes
from veil.text.attacks import likelihood as _likelihood
from veil.text.attacks import shapes as _shapes
from veil.text.attacks.inference import CentroidCache, centroids, ranks, ranks_beside
from veil.text.attacks.likelihood import is_fast, likelihood
from veil.text.attacks.likelihood_exponential import (
    Normalisers,
    compute_normalisers,
    prepare_normalisers,
)
from veil.text.attacks.posterior import LetterCase, ShapedLog
from veil.text.attacks.shapes import ShapeReader
from veil.text.log import QueryLog
from veil.text.vectors.embeddings import Embeddings, open_folder

SPACE = make_space(60, 4)


def test_a_row_beside_stands_as_it_would_at_the_end(rng: Generator) -> None:
    vectors = unit(rng.normal(size=(300, 16)))
    rows = unit(rng.normal(size=(12, 16)))
    rows[:4] = vectors[[0, 7, 150, 299]]  # equal ones are level
    centres = rows + rng.normal(size=rows.shape) * 0.2
    centres[5] = 0
    expected = [
        ranks(centres[[i]], np.concatenate([vectors, rows[[i]]]), np.array([300]))
        for i in range(12)
    ]
    result = np.stack(ranks_beside(centres, vectors, rows))
    assert result.tolist() == np.concatenate(expected, axis=1).tolist()
    assert result[:, 5].tolist() == [1, 301]
    assert np.ravel(ranks_beside(vectors[:1].astype(float), vectors, vectors[:1])).tolist() == [
        1,
        2,
    ]


@pytest.mark.parametrize("select", ["all", "content"])
@settings(max_examples=40, deadline=None)
@given(
    texts=st.lists(
        st.lists(
            st.sampled_from(
                [
                    *SPACE.words[:3],
                    "The",
                    "of",
                    "x-ray",
                    "a@b.org",
                    "www.x.y/z",
                    "3.5%",
                    "(%s)",
                    "…",
                ]
            )
            | st.text("aB-'.,:/%@3é\x1f\u2028", min_size=1, max_size=6),
            max_size=4,
        ).map(" ".join),
        max_size=5,
    )
)
def test_pieces_are_read_alike_one_by_one(select: str, texts: list[str]) -> None:
    reader = ShapeReader(SPACE, select)
    read = reader.many()
    assert [read(text) for text in texts * 2] == [reader.read(text) for text in texts * 2]


def test_long_templates_are_not_held() -> None:
    reader = ShapeReader(SPACE, "all")
    piece = SPACE.words[0] + "!" * 300
    _shapes._cached_compile.cache_clear()
    seen = reader.seen(reader.read(piece).shape, [[piece]])
    assert seen is not None
    assert seen.tolist() == [[0]]
    assert _shapes._cached_compile.cache_info().currsize == 0


def test_only_words_asked_for_are_kept_on_disk(tmp_path: Path) -> None:
    make_space(200, 4).save(tmp_path / "space")
    law = Normalisers.of(kernel("santext(epsilon=1)", open_folder(tmp_path / "space")))
    compute_normalisers([law], np.array([150, 151]))  # of a query that is checked: in memory
    prepare_normalisers([law], np.arange(10))
    again = Normalisers.of(kernel("santext(epsilon=1)", open_folder(tmp_path / "space")))
    assert np.flatnonzero(~np.isnan(again.logs)).tolist() == list(range(10))
    prepare_normalisers([law], np.array([150]))  # known by now, but asked for
    again = Normalisers.of(kernel("santext(epsilon=1)", open_folder(tmp_path / "space")))
    assert np.flatnonzero(~np.isnan(again.logs)).tolist() == [*range(10), 150]


def test_the_vocabulary_of_a_log_is_known_in_any_capitals() -> None:
    a, b, c = SPACE.words[:3]
    space = Embeddings((a, a.upper(), b, b.title(), c), SPACE.vectors[:5], "cased")
    log = QueryLog.of([f"{a} {b}-{a}", f"the {b.upper()}", "qqqx"])
    shaped = ShapedLog.of(log, ShapeReader(space, "content"))
    assert shaped.vocabulary().tolist() == [0, 1, 2, 3]


def test_a_log_is_read_once_for_many_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = SPACE.words[:2]
    shaped = ShapedLog.of(QueryLog.of([f"{a} {b}", b, f"{b} {a} {b}"]), ShapeReader(SPACE, "all"))
    shaped.read_usual()
    assert all((LetterCase.LOWER,) * n in shaped._cache for n in (1, 2, 3))
    assert (LetterCase.TITLE, LetterCase.LOWER, LetterCase.LOWER) in shaped._cache
    monkeypatch.setattr(ShapedLog, "_group", None)  # nothing is read again
    assert shaped.words([f"{a} {a}", f"{a.title()} {a} {a}", a]).tolist() == [0, 1]


class Uniform:
    """A law that somebody else wrote."""

    def sample(self, ids: Ids, size: int, rng: Generator) -> Ids:
        return rng.integers(60, size=(size, len(ids)))

    def probs(self, ids: Ids) -> Floats:
        return np.full((len(ids), 60), 1 / 60)

    def log_probs(self, ids: Ids) -> Floats:
        return np.log(self.probs(ids))


def test_laws_that_try_every_word_are_not_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {
        "product": "wbb(epsilon=4, k=2, n=12, metric=product)",
        "angle": "wbb(epsilon=4, k=2, n=12)",
        "partition": "custext(epsilon=4, k=8)",
    }
    laws = {name: likelihood(word_mechanism(spec), SPACE) for name, spec in made.items()}
    assert all(map(is_fast, laws.values()))
    assert is_fast(_likelihood._ClosedFormLikelihood(Uniform(), SPACE))
    monkeypatch.setattr(likelihood_boxes, "_SMALL", 10)
    monkeypatch.setattr(_likelihood, "_SMALL", 10)
    assert [name for name, law in laws.items() if not is_fast(law)] == ["product"]
    assert not is_fast(_likelihood._ClosedFormLikelihood(Uniform(), SPACE))
    monkeypatch.setattr(likelihood_boxes, "_MAX_ENTRIES", 60)  # no room for a table
    assert [name for name, law in laws.items() if not is_fast(law)] == ["product", "angle"]


def test_the_mean_of_texts_that_come_again_is_computed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(inference, "_MAX_CACHED", 2)
    encoder, centres = BagEncoder(), CentroidCache()
    rows = [("skin", "lung"), ("skin", "bone"), ("lung",)]
    for _ in range(3):
        assert np.array_equal(centres.of(rows[0], encoder), centroids([rows[0]], BagEncoder()))
    assert encoder.encoded == ["skin", "lung"]
    for row in rows[1:]:
        assert np.array_equal(centres.of(row, encoder), centroids([row], BagEncoder()))
    assert len(centres._kept) == 2
    assert rows[0] not in centres._kept
