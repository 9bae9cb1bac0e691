"""The table of nearest words against a plain sort, with ties, twins and words without a vector."""

import numpy as np
import pytest
from tests.conftest import make_space
from tests.text.attacks.test_bayes import word_mechanism

from veil.core.errors import ParameterError
from veil.core.types import ClosedForm
from veil.text.attacks.likelihood import likelihood
from veil.text.attacks.likelihood_boxes import CandidateLikelihood, NeighbourTable
from veil.text.vectors.distances import distances
from veil.text.vectors.embeddings import Embeddings


def awkward() -> Embeddings:
    """A grid with many ties, some words twice and thrice, and two words without a direction."""
    rng = np.random.default_rng(4)
    vectors = rng.integers(-2, 3, size=(300, 3)).astype(np.float32)
    vectors[50:60] = vectors[40]
    vectors[[7, 200]] = 0
    return Embeddings(make_space(300, 3).words, vectors, "grid")


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("space", [make_space(400, 5), awkward()], ids=["plain", "awkward"])
def test_what_is_sure_is_right(space: Embeddings, metric: str) -> None:
    result = NeighbourTable.of(space, metric, 9)
    ids = np.setdiff1d(np.arange(space.size), result.unsure)
    near, far = result.nearest(ids)
    truth = distances(space, ids, metric)
    truth[np.arange(len(ids)), ids] = -1
    order = np.argsort(truth, axis=1, kind="stable")[:, :9]
    assert (near == order).all()
    expected = np.take_along_axis(truth, order, axis=1)
    np.testing.assert_allclose(far, expected, rtol=1e-6, atol=1e-7)
    assert len(ids) > (0 if space.name == "grid" else 390)


def test_holders_are_the_words_with_all_of_them() -> None:
    space = make_space(400, 5)
    result = NeighbourTable.of(space, "euclidean", 9)
    for words in ([5], [5, int(result.table[5, 3])], [5, 399]):
        rows = [set(row) for row in result.table[:, :-1].tolist()]
        expected = [w for w in range(400) if set(words) <= rows[w]]
        assert result.holding(np.array(words)).tolist() == expected


@pytest.mark.parametrize(
    "spec",
    [
        "wbb(epsilon=4, k=2, n=6)",
        "wbb(epsilon=4, k=2, n=6, metric=distance)",
        "wbb(epsilon=4, k=2, n=6, metric=product)",
        "custext(epsilon=4, k=8, mapping=neighbours)",
        "custext(epsilon=4, k=8, mapping=neighbours, metric=cosine)",
        "custext(epsilon=4, k=8)",
    ],
)
def test_ties_are_settled_by_the_mechanism_itself(spec: str) -> None:
    space = awkward()
    made = word_mechanism(spec)
    kernel = made.bind(space)
    assert isinstance(kernel, ClosedForm)
    law = kernel.log_probs(np.arange(space.size))
    rng = np.random.default_rng(1)
    for word in (0, 7, 40, 55, 123):
        seen = kernel.sample(np.array([word]), 3, rng)[:, 0]
        result = likelihood(made, space).of(seen)
        np.testing.assert_allclose(result, law[:, seen].sum(axis=1), rtol=1e-6, atol=1e-7)


def test_a_large_vocabulary_without_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words asked for have their own law; what nobody could wait for is refused."""
    monkeypatch.setattr("veil.text.attacks.likelihood_boxes._SMALL", 10)
    space = make_space(400, 5)
    made = word_mechanism("wbb(epsilon=4, k=2, n=30, metric=product)")
    law = likelihood(made, space)
    assert isinstance(law, CandidateLikelihood)
    asked = np.array([3, 17, 250])
    kernel = made.bind(space)
    assert isinstance(kernel, ClosedForm)
    seen = kernel.sample(np.array([17]), 1, np.random.default_rng(2))[:, 0]
    exact = kernel.log_probs(asked)[:, seen].sum(axis=1)
    result = law.of(seen, asked)
    np.testing.assert_allclose(result[asked], exact)
    assert result[0] == pytest.approx(np.log(np.exp(exact).mean()))
    with pytest.raises(ParameterError, match="use the bayes attacker"):
        law.of(seen)


def test_a_torn_table_is_made_anew() -> None:
    space = make_space(50, 4)
    space.memo.put(("derived", "nearest-euclidean-5"), np.full((50, 6), 99, dtype=np.int32))
    assert NeighbourTable.of(space, "euclidean", 5).table.max() < 50
