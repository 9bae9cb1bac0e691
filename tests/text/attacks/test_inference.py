"""The Query Inference Attack against whole rankings, sorted."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.random import Generator
from tests.reference.attacking import inference, sorted_rank
from tests.search.conftest import BagEncoder

from veil.core.outcome import rank_with_ties
from veil.core.types import Role, Singles
from veil.data.records import Columns, read_records
from veil.text.attack import Scene
from veil.text.attacks.inference import centroids, inference_ranks, ranks
from veil.text.log import QueryLog
from veil.text.variants import read_variants


def unit(rows: np.ndarray) -> Singles:
    made: Singles = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return made


@pytest.mark.parametrize("block", [None, 1, 7, 64])
def test_ranks_are_those_of_the_sorted_list(rng: Generator, block: int | None) -> None:
    vectors = unit(rng.normal(size=(300, 16)))
    vectors[200:220] = vectors[100:120]  # the same vector under another text
    places = np.concatenate([[-1], rng.choice(300, 20), np.arange(195, 225), [105, 110]])
    centres = vectors[places] + rng.normal(size=(len(places), 16)) * 0.3
    centres[5] = 0
    result, ties = ranks(centres, vectors, places, block=block)
    scores = (vectors[None].astype(float) * centres[:, None]).sum(axis=2)
    assert ties[6:].max() == 2
    assert list(zip(result.tolist(), ties.tolist(), strict=True)) == [
        sorted_rank(row.tolist(), int(place)) for row, place in zip(scores, places, strict=True)
    ]


def test_equal_vectors_are_level_whatever_the_blocks() -> None:
    row = unit(np.random.default_rng(3).normal(size=(1, 48)))
    vectors = np.repeat(row, 1000, axis=0)
    places = np.array([0, 1, 500, 997, 999])
    centres = np.repeat(row.astype(float), 5, axis=0)
    for block in (None, 1, 3, 333, 1000):
        result, ties = ranks(centres, vectors, places, block=block)
        assert result.tolist() == [1] * 5
        assert ties.tolist() == [1000] * 5


def test_many_centroids_at_once(rng: Generator) -> None:
    vectors = unit(rng.normal(size=(500, 8)))
    places = np.arange(500)
    result, ties = ranks(vectors.astype(float), vectors, places)
    assert (result == 1).all()
    assert (ties == 1).all()


def test_centroid_is_the_mean_of_all_variants(encoder: BagEncoder) -> None:
    rows = [("skin cancer", "skin cancer", "new york"), (), ("a",), ("new york",)]
    made = centroids(rows, encoder)
    expected = [encoder.encode(list(row)).astype(float).mean(0) for row in rows if row]
    np.testing.assert_allclose(made[[0, 2, 3]], expected, atol=1e-12)
    assert not made[1].any()


def test_attack_is_the_plain_loop(encoder: BagEncoder, queries: list[str], rng: Generator) -> None:
    log = QueryLog.of([*queries, *queries[:7]])
    originals = [queries[i] for i in rng.choice(len(queries), 12, replace=False)]
    variants = tuple(
        tuple(" ".join(rng.permutation([*text.split(), *queries[j].split()])) for j in range(5))
        for text in originals
    )
    outcome = inference_ranks(Scene(variants, tuple(originals), log), encoder)
    vectors = encoder.encode(list(log.texts)).astype(float)
    assert outcome.ties is not None
    assert list(zip(outcome.ranks.tolist(), outcome.ties.tolist(), strict=True)) == [
        inference([encoder.encode([v])[0].astype(float) for v in row], vectors, log.place(text))
        for row, text in zip(variants, originals, strict=True)
    ]
    assert outcome.unit == "query"
    assert set(outcome.candidates.tolist()) == {len(log)} == {400}
    assert outcome.subjects.tolist() == list(range(12))


def test_missing_originals_come_last(encoder: BagEncoder) -> None:
    log = QueryLog.of(["skin cancer", "New  York", "weather"])
    scene = Scene((("x",), ("york new",)), ("not there", "new york "), log)
    outcome = inference_ranks(scene, encoder)
    assert outcome.ranks[0] == 4
    assert outcome.candidates.tolist() == [3, 3]


def test_nothing_released_is_ranked_by_how_often_queries_come(encoder: BagEncoder) -> None:
    log = QueryLog.of(["a", "b", "c", "c", "d", "d"])
    result = inference_ranks(Scene(((),) * 4, ("c", "d", "a", "b"), log), encoder)
    assert result.ranks.tolist() == [1, 1, 3, 3]
    assert result.ties is not None
    assert result.ties.tolist() == [2] * 4


def test_blank_variants_say_nothing(encoder: BagEncoder) -> None:
    log = QueryLog.of(["a", "b", "c", "c"])
    blank = inference_ranks(Scene((("", " "), ()), ("a", "a"), log), encoder)
    assert blank.ranks.tolist() == [2, 2]
    assert blank.ties is not None
    assert blank.ties.tolist() == [2, 2]
    rows = (("c", ""), ("c",))
    beside = inference_ranks(Scene(rows, ("a", "a"), log), encoder)
    assert beside.ranks[0] == beside.ranks[1]


def test_scores_are_ranked_like_the_sorted_list(rng: Generator) -> None:
    scores = rng.integers(4, size=40).astype(float)
    scores[:6] = -np.inf
    for place in range(-1, 40):
        assert rank_with_ties(scores, place) == sorted_rank(scores.tolist(), place)


def test_others_originals_change_nothing(encoder: BagEncoder, queries: list[str]) -> None:
    log = QueryLog.of(queries)
    rows = tuple((text, text[::-1]) for text in queries[:6])
    truth = inference_ranks(Scene(rows, tuple(queries[:6]), log), encoder).ranks
    mixed = (queries[0], *queries[9:14])
    assert inference_ranks(Scene(rows, mixed, log), encoder).ranks[0] == truth[0]


def test_published_variants_can_be_attacked(shared: Path, encoder: BagEncoder) -> None:
    path = shared / "logs" / "web-queries.txt.gz"
    some = [record.text for record in read_records(path, Columns())][:2000]
    share = {}
    for name in ("dl19_SanText_1", "dl19_SanText_10"):
        (table,) = read_variants(shared / "reference" / "variants" / f"{name}.csv.gz")
        log, _ = QueryLog.of(some).with_queries(table.originals)
        outcome = inference_ranks(Scene(table.rows, table.originals, log), encoder)
        share[name] = float((outcome.ranks == 1).mean())
    assert share["dl19_SanText_1"] < 0.2
    assert share["dl19_SanText_10"] > 0.9


class _Long(BagEncoder):
    """Gives the first text a hundred times the length of the others, before scaling."""

    def raw(self, texts: Sequence[str], role: Role = "document") -> Singles:
        lengths = [100.0 if text == "long" else 1.0 for text in texts]
        scaled: Singles = self.encode(texts, role) * np.array(lengths, dtype=np.float32)[:, None]
        return scaled


def test_the_mean_is_that_of_the_models_own_vectors() -> None:
    encoder = _Long()
    result = centroids([["long", "short"]], encoder)[0]
    long, short = encoder.encode(["long", "short"]).astype(float)
    np.testing.assert_allclose(result, (100 * long + short) / 2, rtol=1e-6)
